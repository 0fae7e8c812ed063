// Legend, best-so-far curves and profiles.

function legend() {
  const buttons = data.methods.map((label, method) => {
    const focus = (on) => () => {
      state.focus = on ? method : null;
      state.onlyFocus = true;
      changed();
      state.onlyFocus = false;
    };
    return element(
      "button",
      {
        type: "button",
        "aria-pressed": "true",
        title: label,
        onclick: () => {
          state.hidden.has(method) ? state.hidden.delete(method) : state.hidden.add(method);
          press();
        },
        onmouseenter: focus(true),
        onmouseleave: focus(false),
        onfocus: focus(true),
        onblur: focus(false),
      },
      swatch(method),
      element("span", {}, label),
    );
  });
  const set = (hidden) => () => {
    state.hidden = new Set(hidden);
    press();
  };
  const everyone = element("button", { type: "button", class: "all", onclick: set([]) }, "All");
  const nobody = element("button", { type: "button", class: "all", onclick: () => set(data.methods.keys())() }, "None");
  function press() {
    buttons.forEach((button, method) => button.setAttribute("aria-pressed", String(!state.hidden.has(method))));
    changed();
  }
  byId("legend").append(...buttons, everyone, nobody);
}

function problemCard(problem) {
  const facts = [
    problem.dim ? `${problem.dim} parameters` : null,
    problem.noisy ? "noisy: values as measured" : null,
    problem.constraints ? plural(problem.constraints, "constraint") : null,
  ]
    .filter(Boolean)
    .join(", ");
  return card(problem.label, facts, () => {
    const isMean = state.statistic === "mean";
    const optimum = problem.optimum;
    const values = problem.curves.flatMap((line) => (isMean ? line.mean : line.median)).filter(isNumber);
    const hasOptimum =
      isNumber(optimum) && values.every((value) => value >= optimum - 1e-9 * Math.max(1, Math.abs(optimum)));
    const regrets = hasOptimum ? values.map((value) => value - optimum).filter((value) => value > 0) : [];
    const spansDecades = regrets.length > 0 && Math.max(...regrets) > 30 * Math.min(...regrets);
    const allPositive = values.length > 0 && Math.min(...values) > 0;
    const asRegret =
      hasOptimum && regrets.length > 0 && (state.axis === "log" || (state.axis === "auto" && spansDecades));
    const isLog = asRegret || (state.axis === "log" && !hasOptimum && allPositive);
    const shift = (list) => (asRegret ? list.map((value) => (isNumber(value) ? value - optimum : null)) : list);
    const lines = problem.curves.map((line) => ({
      method: line.method,
      n: line.n,
      ended: line.ended,
      source: line,
      y: shift(isMean ? line.mean : line.median),
      low: shift(isMean ? line.mean.map((m, i) => (isNumber(line.error[i]) ? m - line.error[i] : null)) : line.low),
      high: shift(isMean ? line.mean.map((m, i) => (isNumber(line.error[i]) ? m + line.error[i] : null)) : line.high),
    }));
    const what = `${isMean ? "mean ± standard error" : "median and quartiles"} of ${asRegret ? "best value − optimum" : "the best value"}${isLog ? ", log scale" : ""}`;
    return {
      lines,
      isLog,
      xLabel: "evaluations",
      about: [facts, what].filter(Boolean).join(" · "),
      domain: (shown) => domainOf(shown, isLog, state.axis === "auto"),
      format: (row) => {
        const i = row.i,
          line = row.line.source;
        if (isMean) return withError(row.value, line.error[i]);
        return `${number(row.value)} [${number(row.line.low[i], 3)}, ${number(row.line.high[i], 3)}]`;
      },
    };
  });
}

// The range of the vertical axis; a linear one may leave out the steep beginning, which would flatten all the rest.
function domainOf(lines, isLog, mayCut) {
  const all = (names) =>
    lines
      .flatMap((line) => names.flatMap((name) => line[name] ?? []))
      .filter((value) => isNumber(value) && (!isLog || value > 0));
  const centre = all(["y"]);
  if (!centre.length) return isLog ? [0.1, 1] : [0, 1];
  const edges = all(state.bands === "on" ? ["y", "low", "high"] : ["y"]);
  let [low, high] = [Math.min(...centre), Math.max(...centre)];
  if (isLog) {
    low = Math.max(Math.min(low, ...edges), low / 3);
    high = Math.min(Math.max(high, ...edges), high * 2);
    return [low / 1.15, Math.max(high, low * 2) * 1.1];
  }
  if (mayCut) {
    const settled = lines.flatMap((line) =>
      line.y.filter(
        (value, i) => isNumber(value) && line.n[i] >= 0.08 * Math.max(...lines.map((each) => each.n.at(-1))),
      ),
    );
    if (settled.length) high = Math.max(...settled);
  }
  const size = high - low || Math.abs(high) || 1;
  low = Math.max(Math.min(low, ...edges), low - 0.3 * size);
  if (!mayCut) high = Math.min(Math.max(high, ...edges), high + 0.3 * size);
  return [low - 0.04 * (high - low || size), high + 0.04 * (high - low || size)];
}

function curvesSection() {
  choice("choose-statistic", "statistic", [
    ["mean", "Mean ± s.e."],
    ["median", "Median, quartiles"],
  ]);
  choice("choose-axis", "axis", [
    ["auto", "Automatic axis"],
    ["log", "Log"],
    ["linear", "Linear"],
  ]);
  choice("choose-bands", "bands", [
    ["on", "Bands"],
    ["off", "Lines only"],
  ]);
  legend();
  byId("curve-figures").append(...data.problems.map(problemCard));
  const lines = data.problems.flatMap((problem) => problem.curves);
  const left = lines.reduce((sum, line) => sum + line.left_out, 0);
  const single = lines.length > 0 && lines.every((line) => line.runs === 1);
  byId("curves-note").textContent = [
    "Runs that ended early are carried forward to the end of the method's longest run.",
    left
      ? `${plural(left, "unfinished or broken run")} ${left === 1 ? "is" : "are"} left out where there are finished ones.`
      : "",
    single ? "Each curve is a single run, so that there are no bands." : "",
    "The automatic axis shows the logarithm of the regret where the optimum is known and regrets span decades; otherwise it is linear, and the first steep descent is cut off.",
  ]
    .filter(Boolean)
    .join(" ");
}

function profilesSection() {
  byId("profiles-text").textContent =
    "The share of problems and repetitions on which a method has come close to the best value that any method found there: " +
    "within the chosen share of the way down from the worst first value. Higher is better; a curve that never rises has come close nowhere. The performance profile counts evaluations in multiples of those that the fastest method needed.";
  choice(
    "choose-tolerance",
    "tolerance",
    data.tolerances.map((tolerance) => [tolerance, `τ = ${tolerance}`]),
  );
  const profiles = data.profiles;
  const percent = (row) => `${(100 * row.value).toFixed(0)} %`;
  const linesOf = (n, shares) =>
    data.methods
      .map((_, method) => ({ method, n, y: shares[state.tolerance][method], ended: true }))
      .filter((line) => line.y.some(isNumber));
  const solved = () =>
    `share of ${data.ranks.all_blocks} problems × repetitions solved to ${Number(state.tolerance) * 100} %`;
  const common = { isLog: false, upIsGood: true, domain: () => [-0.02, 1.02], format: percent };
  byId("profile-figures").append(
    card("Data profile", "", () => ({
      ...common,
      about: `${solved()} (Moré & Wild)`,
      lines: linesOf(profiles.n, profiles.shares),
      xLabel: "evaluations",
    })),
    card("Performance profile", "", () => ({
      ...common,
      about: `${solved()} (Dolan & Moré)`,
      lines: linesOf(profiles.ratios, profiles.performance),
      xLog: true,
      xLabel: "evaluations, as a multiple of the fastest method's",
      xText: (ratio) => `within ${number(ratio, 3)} × the fastest`,
    })),
  );
}
