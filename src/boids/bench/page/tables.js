// Tables: final values, paired tests, coverage.

const row = (...cells) => element("tr", {}, ...cells);
const heading = (text, attributes = {}) => element("th", { scope: "col", ...attributes }, text);
function table(headings, rows, attributes = {}) {
  return element("table", attributes, element("thead", {}, row(...headings)), element("tbody", {}, ...rows));
}

function finalsSection() {
  const problems = data.problems;
  const draw = () => {
    const isMean = state.statistic === "mean";
    const cell = (problem, method) => {
      const finals = problem.finals;
      const found = finals.values.find((value) => value.method === method);
      if (!found) return element("td", { class: "none" }, "–");
      const shown = found[isMean ? "mean" : "median"];
      const best = finals.values
        .filter((value) => isNumber(value[isMean ? "mean" : "median"]))
        .reduce((a, b) => (a === null || b[isMean ? "mean" : "median"] < a[isMean ? "mean" : "median"] ? b : a), null);
      const isBest = best !== null && best.method === method;
      const marks = [found.carried ? "‡" : "", found.empty ? "∅" : ""].join("");
      const text = isMean ? withError(found.mean, found.error) : number(shown);
      const small = isMean ? null : `${number(found.low, 3)} … ${number(found.high, 3)}`;
      const title = [
        `${data.methods[method]} on ${problem.label}: ${plural(found.runs, "run")}`,
        found.carried ? `${found.carried} ended before ${problem.at} evaluations` : "",
        found.empty ? `${found.empty} found nothing feasible` : "",
        finals.equal.includes(method) ? "not significantly different from the best" : "",
      ]
        .filter(Boolean)
        .join("; ");
      const isEqual = finals.equal.includes(method) || (finals.equal.length > 0 && finals.best === method);
      return element(
        "td",
        { class: isBest ? "best" : isEqual ? "equal" : null, title },
        text,
        marks ? element("small", {}, " " + marks) : null,
        small ? element("small", { class: "under" }, small) : null,
      );
    };
    byId("finals-table").replaceChildren(
      table(
        [
          heading("Method"),
          ...problems.map((problem) =>
            element("th", { scope: "col" }, problem.label, element("small", { class: "under" }, `after ${problem.at}`)),
          ),
        ],
        data.methods.map((_, method) => row(methodCell(method), ...problems.map((problem) => cell(problem, method)))),
        { class: "stays" },
      ),
    );
    byId("finals-text").textContent =
      `${isMean ? "Mean ± standard error" : "Median and quartiles"} of the best value found. The best of each problem is bold on green.`;
  };
  listeners.push(() => {
    if (!state.onlyFocus) draw();
  });
  draw();
  const tooFew = problems.filter((problem) => problem.finals.pairs_needed);
  const values = problems.flatMap((problem) => problem.finals.values);
  byId("finals-note").textContent = [
    problems.some((problem) => problem.finals.equal.length)
      ? "Green without bold: not significantly different from the best median (paired Wilcoxon test with Holm's correction, 0.05)."
      : "",
    tooFew.length
      ? `${tooFew.length === problems.length ? "With so few repetitions" : `On ${tooFew.map((problem) => problem.label).join(", ")}`} no difference on a single problem could be significant ` +
        `after Holm's correction: that takes ${Math.max(...tooFew.map((problem) => problem.finals.pairs_needed))} pairs.`
      : "",
    values.some((value) => value.carried) ? "‡ some runs ended before and count with the best value they had." : "",
    values.some((value) => value.empty) ? "∅ some runs found nothing feasible." : "",
  ]
    .filter(Boolean)
    .join(" ");
}

function testsSection() {
  const tests = data.tests,
    reference = data.methods[tests.reference];
  const rows = tests.rows.filter((each) => each.pairs > 0);
  const none = tests.rows.filter((each) => !each.pairs).map((each) => data.methods[each.method]);
  if (!rows.length) {
    byId("tests-text").textContent = `There is nothing to compare ${reference} with.`;
    byId("tests-table").remove();
    return;
  }
  byId("tests-text").textContent =
    `Every method against ${reference}, paired by problem and repetition: Wilcoxon's signed-rank test, two-sided, with Holm's correction for ${plural(rows.length, "comparison")}.`;
  const verdict = (each) => {
    if (each.pairs < tests.pairs_needed)
      return element("td", { class: "text unsure" }, `too few pairs: needs ${tests.pairs_needed}`);
    if (each.holm >= tests.level) return element("td", { class: "text unsure" }, "no significant difference");
    const isBetter = each.effect < 0;
    return element(
      "td",
      { class: `text ${isBetter ? "good" : "bad"}` },
      isBetter ? `better than ${reference}` : `worse than ${reference}`,
    );
  };
  byId("tests-table").append(
    table(
      [
        heading("Method"),
        heading("Pairs"),
        heading("Better"),
        heading("Tied"),
        heading("Worse"),
        heading("Median difference"),
        heading("Effect"),
        heading("p"),
        heading("p (Holm)"),
        heading("by problem (Holm)"),
        heading("At 0.05", { class: "text" }),
      ],
      rows.map((each) =>
        row(
          methodCell(each.method),
          ...[each.pairs, each.better, each.pairs - each.better - each.worse, each.worse].map((value) =>
            element("td", {}, String(value)),
          ),
          element("td", {}, number(each.median, 3)),
          element("td", {}, isNumber(each.effect) ? minus(each.effect.toFixed(2)) : "–"),
          element("td", {}, probability(each.p)),
          element("td", {}, probability(each.holm)),
          element(
            "td",
            { title: plural(each.problems, "problem") },
            each.problems < tests.pairs_needed ? "too few" : probability(each.problems_holm),
          ),
          verdict(each),
        ),
      ),
      { class: "stays" },
    ),
  );
  byId("tests-note").textContent =
    "Differences are in units of the problem's spread (between the quartiles of all final values on it), so that problems can be pooled. The effect is the rank-biserial correlation, from −1 (always better) to 1 (always worse). Zeros are treated as Pratt proposes; p-values are exact up to 200 pairs. By problem: the same test with one pair per problem, its median difference, which does not take repetitions for new problems, and needs more of these." +
    (none.length ? ` No pairs with ${none.join(", ")}.` : "");
}

function coverageSection() {
  const names = {
    done: "finished",
    short: "ended early",
    unfinished: "unfinished",
    broken: "broke",
    missing: "not begun",
  };
  const used = new Set(data.coverage.cells.flatMap((cell) => cell.states));
  byId("coverage-key").append(
    ...Object.entries(names)
      .filter(([key]) => used.has(key))
      .map(([key, text]) => element("span", { class: "item" }, element("span", { class: `dot ${key}` }), text)),
  );
  byId("coverage-table").append(
    table(
      [heading("Method"), ...data.coverage.problems.map((label) => heading(label, { style: null }))],
      data.methods.map((_, method) =>
        row(
          methodCell(method),
          ...data.coverage.problems.map((label, problem) => {
            const cell = data.coverage.cells.find((each) => each.method === method && each.problem === problem);
            if (!cell) return element("td", { class: "none" }, "–");
            const counts = Object.keys(names)
              .map((key) => [key, cell.states.filter((each) => each === key).length])
              .filter(([, count]) => count);
            const text =
              `${data.methods[method]} on ${label}: ` +
              counts.map(([key, count]) => `${count} ${names[key]}`).join(", ");
            return element(
              "td",
              { title: text },
              element(
                "span",
                { class: "dots", role: "img", "aria-label": text },
                ...cell.states.map((each) => element("span", { class: `dot ${each}` })),
              ),
            );
          }),
        ),
      ),
      { class: "stays" },
    ),
  );
  byId("remarks").append(...data.remarks.map((text) => element("li", {}, text)));
}
