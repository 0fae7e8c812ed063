// Final values, ranks, tests, times, coverage.

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
      const best = finals.values.filter((value) => isNumber(value[isMean ? "mean" : "median"]))
        .reduce((a, b) => (a === null || b[isMean ? "mean" : "median"] < a[isMean ? "mean" : "median"] ? b : a), null);
      const isBest = best !== null && best.method === method;
      const marks = [found.carried ? "‡" : "", found.empty ? "∅" : ""].join("");
      const text = isMean ? withError(found.mean, found.error) : number(shown);
      const small = isMean ? null : `${number(found.low, 3)} … ${number(found.high, 3)}`;
      const title = [`${data.methods[method]} on ${problem.label}: ${plural(found.runs, "run")}`,
        found.carried ? `${found.carried} ended before ${problem.at} evaluations` : "", found.empty ? `${found.empty} found nothing feasible` : "",
        finals.equal.includes(method) ? "not significantly different from the best" : ""].filter(Boolean).join("; ");
      const isEqual = finals.equal.includes(method) || (finals.equal.length > 0 && finals.best === method);
      return element("td", { class: isBest ? "best" : isEqual ? "equal" : null, title },
        text, marks ? element("small", {}, " " + marks) : null, small ? element("small", { class: "under" }, small) : null);
    };
    byId("finals-table").replaceChildren(table(
      [heading("Method"), ...problems.map((problem) => element("th", { scope: "col" }, problem.label,
        element("small", { class: "under" }, `after ${problem.at}`)))],
      data.methods.map((_, method) => row(methodCell(method), ...problems.map((problem) => cell(problem, method)))),
      { class: "stays" }));
    byId("finals-text").textContent = `${isMean ? "Mean ± standard error" : "Median and quartiles"} of the best value found. The best of each problem is bold on green.`;
  };
  listeners.push(() => { if (!state.onlyFocus) draw(); });
  draw();
  const tooFew = problems.filter((problem) => problem.finals.pairs_needed);
  const values = problems.flatMap((problem) => problem.finals.values);
  byId("finals-note").textContent = [
    problems.some((problem) => problem.finals.equal.length) ? "Green without bold: not significantly different from the best median (paired Wilcoxon test with Holm's correction, 0.05)." : "",
    tooFew.length ? `${tooFew.length === problems.length ? "With so few repetitions" : `On ${tooFew.map((problem) => problem.label).join(", ")}`} no difference on a single problem could be significant `
      + `after Holm's correction: that takes ${Math.max(...tooFew.map((problem) => problem.finals.pairs_needed))} pairs.` : "",
    values.some((value) => value.carried) ? "‡ some runs ended before and count with the best value they had." : "",
    values.some((value) => value.empty) ? "∅ some runs found nothing feasible." : "",
  ].filter(Boolean).join(" ");
}

function ranksSection() {
  const ranks = data.ranks, count = ranks.methods.length;
  const left = ranks.left_out.map((method) => data.methods[method]);
  const leftText = left.length ? ` ${left.join(", ")} ${left.length === 1 ? "takes" : "take"} no part, for want of runs.` : "";
  if (!ranks.blocks || count < 2) {
    byId("ranks-text").textContent = "There are no problems and repetitions on which several methods can be compared." + leftText;
    byId("ranks-figure").remove();
    return;
  }
  const differ = isNumber(ranks.p) && ranks.p < data.tests.level;
  byId("ranks-text").textContent = `Methods ranked on each problem and repetition (1 is best), averaged over the ${ranks.blocks} of ${ranks.all_blocks} on which all have a value. `
    + (isNumber(ranks.p) ? `Friedman's test ${differ ? "says that they differ" : "does not tell them apart"} (χ² = ${number(ranks.statistic, 3)}, p ${ranks.p < 1e-4 ? probability(ranks.p) : "= " + probability(ranks.p)}).` : "") + leftText;
  byId("ranks-note").textContent = "A bar joins methods whose average ranks differ by less than the critical difference (CD) of Nemenyi's test at 0.05. "
    + "Repetitions on one problem are blocks of their own, so that the tests speak of these problems, not of problems in general."
    + (differ ? "" : " Since Friedman's test finds no difference, the bars should not be read as evidence.");
  const holder = byId("ranks-figure");
  const draw = () => {
    const width = Math.min(1024, holder.clientWidth - 18);
    holder.replaceChildren(width < 560 ? column(Math.max(280, width)) : diagram(width));
  };
  new ResizeObserver(draw).observe(holder);

  // On narrow screens: a row for each method, and the bars upright.
  function column(width) {
    const order = ranks.methods.map((method, i) => ({ method, rank: ranks.average[i] })).sort((a, b) => a.rank - b.rank);
    const bars = ranks.groups, left = Math.min(118, 0.34 * width), right = 44 + 8 * bars.length, top = 46, step = 21;
    const height = top + step * count + 8, x = (rank) => left + ((width - left - right) * (rank - 1)) / (count - 1);
    const picture = shape("svg", { viewBox: `0 0 ${width} ${height}`, role: "img",
      "aria-label": "Average ranks: " + order.map((each) => `${data.methods[each.method]} ${each.rank.toFixed(2)}`).join(", ") });
    for (let rank = 1; rank <= count; rank += Math.ceil(count / 6)) picture.append(shape("line", { class: "grid", x1: x(rank), x2: x(rank), y1: top - 6, y2: height - 6 }),
      shape("text", { x: x(rank), y: top - 10, "text-anchor": "middle" }, String(rank)));
    const length = Math.min(ranks.difference, count - 1);
    picture.append(shape("line", { class: "tick", x1: x(1), x2: x(1 + length), y1: 12, y2: 12 }), shape("text", { x: x(1 + length) + 7, y: 16 }, `CD = ${ranks.difference.toFixed(2)}`));
    order.forEach((each, place) => {
      const y = top + step * place + 8, label = data.methods[each.method], longest = Math.floor(left / 6.7);
      picture.append(shape("text", { class: "label", x: left - 10, y: y + 4, "text-anchor": "end" }, label.length > longest ? label.slice(0, longest - 1) + "…" : label),
        mark(each.method, x(each.rank), y), shape("text", { x: x(each.rank) + 8, y: y + 4 }, each.rank.toFixed(2)));
    });
    bars.forEach((group, i) => {
      const places = group.map((method) => order.findIndex((each) => each.method === method));
      const place = width - 8 * (bars.length - i) + 2;
      picture.append(shape("line", { class: "clique", x1: place, x2: place, y1: top + step * Math.min(...places) + 4, y2: top + step * Math.max(...places) + 12 }));
    });
    return picture;
  }

  function diagram(width) {
    const order = ranks.methods.map((method, i) => ({ method, rank: ranks.average[i] })).sort((a, b) => a.rank - b.rank);
    const name = (method) => { const text = data.methods[method]; return text.length > 18 ? text.slice(0, 17) + "…" : text; };
    const longest = Math.max(...order.map((each) => name(each.method).length + 7));
    const side = Math.min(0.36 * width, 6.4 * longest + 8);
    const bars = ranks.groups;
    const top = 52, rowHeight = 20, barTop = top + 14, below = barTop + 9 * bars.length + 8;
    const half = Math.ceil(count / 2), height = below + rowHeight * half + 6;
    const picture = shape("svg", { viewBox: `0 0 ${width} ${height}`, role: "img",
      "aria-label": "Average ranks: " + order.map((each) => `${data.methods[each.method]} ${each.rank.toFixed(2)}`).join(", ") });
    picture.style.maxWidth = `${width}px`;
    const x = (rank) => side + ((width - 2 * side) * (rank - 1)) / (count - 1);
    picture.append(shape("line", { class: "tick", x1: x(1), x2: x(count), y1: top, y2: top }));
    const every = (width - 2 * side) / count < 16 ? 2 : 1;
    for (let rank = 1; rank <= count; rank += every) picture.append(shape("line", { class: "tick", x1: x(rank), x2: x(rank), y1: top - 5, y2: top }),
      shape("text", { x: x(rank), y: top - 9, "text-anchor": "middle" }, String(rank)));
    const length = Math.min(ranks.difference, count - 1);
    picture.append(shape("line", { class: "tick", x1: x(1), x2: x(1 + length), y1: 16, y2: 16 }), shape("line", { class: "tick", x1: x(1), x2: x(1), y1: 12, y2: 20 }),
      shape("line", { class: "tick", x1: x(1 + length), x2: x(1 + length), y1: 12, y2: 20 }),
      shape("text", { x: x(1 + length) + 8, y: 20 }, `CD = ${ranks.difference.toFixed(2)}`));
    order.forEach((each, place) => {
      const isLeft = place < half;
      const y = below + rowHeight * (isLeft ? place : count - 1 - place) + 8;
      const edge = isLeft ? side - 6 : width - side + 6;
      const path = styled(shape("path", { class: "curve", d: `M${x(each.rank)} ${top}V${y}H${edge}` }), each.method);
      picture.append(path, mark(each.method, x(each.rank), top));
      const text = isLeft ? `${name(each.method)}  ${each.rank.toFixed(2)}` : `${each.rank.toFixed(2)}  ${name(each.method)}`;
      picture.append(shape("text", { class: "label", x: isLeft ? edge - 5 : edge + 5, y: y + 4, "text-anchor": isLeft ? "end" : "start" }, text));
    });
    const rankOf = new Map(order.map((each) => [each.method, each.rank]));
    bars.forEach((group, i) => {
      const values = group.map((method) => rankOf.get(method));
      const y = barTop + 9 * i;
      picture.append(shape("line", { class: "clique", x1: x(Math.min(...values)) - 3, x2: x(Math.max(...values)) + 3, y1: y, y2: y }));
    });
    return picture;
  }
}

function testsSection() {
  const tests = data.tests, reference = data.methods[tests.reference];
  const rows = tests.rows.filter((each) => each.pairs > 0);
  const none = tests.rows.filter((each) => !each.pairs).map((each) => data.methods[each.method]);
  if (!rows.length) {
    byId("tests-text").textContent = `There is nothing to compare ${reference} with.`;
    byId("tests-table").remove();
    return;
  }
  byId("tests-text").textContent = `Every method against ${reference}, paired by problem and repetition: Wilcoxon's signed-rank test, two-sided, with Holm's correction for ${plural(rows.length, "comparison")}.`;
  const verdict = (each) => {
    if (each.pairs < tests.pairs_needed) return element("td", { class: "text unsure" }, `too few pairs: needs ${tests.pairs_needed}`);
    if (each.holm >= tests.level) return element("td", { class: "text unsure" }, "no significant difference");
    const isBetter = each.effect < 0;
    return element("td", { class: `text ${isBetter ? "good" : "bad"}` }, isBetter ? `better than ${reference}` : `worse than ${reference}`);
  };
  byId("tests-table").append(table(
    [heading("Method"), heading("Pairs"), heading("Better"), heading("Tied"), heading("Worse"), heading("Median difference"), heading("Effect"), heading("p"), heading("p (Holm)"), heading("At 0.05", { class: "text" })],
    rows.map((each) => row(methodCell(each.method), ...[each.pairs, each.better, each.pairs - each.better - each.worse, each.worse].map((value) => element("td", {}, String(value))),
      element("td", {}, number(each.median, 3)), element("td", {}, isNumber(each.effect) ? minus(each.effect.toFixed(2)) : "–"), element("td", {}, probability(each.p)), element("td", {}, probability(each.holm)), verdict(each))), { class: "stays" }));
  byId("tests-note").textContent = "Differences are in units of the problem's spread (between the quartiles of all final values on it), so that problems can be pooled. The effect is the rank-biserial correlation, from −1 (always better) to 1 (always worse). Zeros are treated as Pratt proposes; p-values are exact up to 200 pairs."
    + (none.length ? ` No pairs with ${none.join(", ")}.` : "");
}

function timesSection() {
  const times = data.times, hasPaper = times.cells.some((cell) => isNumber(cell.paper));
  byId("times-text").textContent = "Mean seconds per evaluation that a method takes for itself: fitting, choosing, everything but the evaluation."
    + (hasPaper ? ` “Paper” is ${times.source}; it seems to include evaluations, and its machine was another one.` : "");
  const cellOf = (method, problem) => times.cells.find((cell) => cell.method === method && cell.problem === problem);
  byId("times-table").append(table([heading("Method"), ...times.problems.map((label) => heading(label))],
    data.methods.map((_, method) => row(methodCell(method), ...times.problems.map((_, problem) => {
      const cell = cellOf(method, problem);
      if (!cell) return element("td", { class: "none" }, "–");
      return element("td", { title: `evaluation: ${duration(cell.evaluate)}` }, duration(cell.own),
        hasPaper ? element("small", { class: "under" }, isNumber(cell.paper) ? `paper ${cell.paper >= 0.01 ? `${cell.paper} s` : duration(cell.paper)}` : " ") : null);
    }))), { class: "stays" }));
  const evaluations = times.problems.map((label, problem) => {
    const all = times.cells.filter((cell) => cell.problem === problem).map((cell) => cell.evaluate).filter(isNumber);
    return all.length ? `${label} ${duration(all.reduce((a, b) => a + b, 0) / all.length)}` : null;
  }).filter(Boolean);
  byId("times-note").textContent = evaluations.length ? `An evaluation took on average: ${evaluations.join(", ")}.` : "";
  byId("times-figure").append(timeBars(times, hasPaper));
}

function timeBars(times, hasPaper) {
  const average = (list) => (list.length ? list.reduce((a, b) => a + b, 0) / list.length : null);
  const rows = data.methods.map((_, method) => {
    const mine = times.cells.filter((cell) => cell.method === method && isNumber(cell.own));
    return { method, own: average(mine.map((cell) => cell.own)), paper: average(mine.map((cell) => cell.paper).filter(isNumber)) };
  }).filter((each) => isNumber(each.own) && each.own > 0).sort((a, b) => b.own - a.own);
  const holder = element("div", { class: "figure" }, element("h3", {}, "Average over the problems"),
    element("div", { class: "about" }, "seconds per evaluation, log scale" + (hasPaper ? "; ◇ the paper, on the problems that it has" : "")));
  if (!rows.length) return element("div");
  const drawing = element("div");
  holder.append(drawing);
  holder.style.marginBottom = "1rem";
  const draw = () => {
    const width = Math.max(280, drawing.clientWidth), left = Math.min(130, 0.36 * width), right = 66, step = 22, height = step * rows.length + 30;
    const values = rows.flatMap((each) => [each.own, each.paper]).filter((value) => isNumber(value) && value > 0);
    const low = 10 ** Math.floor(Math.log10(Math.min(...values)) - 0.05), high = 10 ** Math.ceil(Math.log10(Math.max(...values)) + 0.05);
    const share = scaleOf(low, high, true), x = (value) => left + (width - left - right) * share(value);
    const picture = shape("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "Time per evaluation of each method" });
    const powers = Math.round(Math.log10(high / low)), every = Math.ceil(powers / (width < 480 ? 3 : 8));
    const places = Array.from({ length: Math.floor(powers / every) + 1 }, (_, k) => low * 10 ** (k * every));
    if (powers === 1) places.push(2 * low, 5 * low);
    for (const value of places.map((each) => Number(each.toPrecision(3)))) {
      picture.append(shape("line", { class: "grid", x1: x(value), x2: x(value), y1: 0, y2: height - 22 }),
        shape("text", { x: x(value), y: height - 6, "text-anchor": "middle" }, value >= 1 ? `${value} s` : duration(value).replace(/\.0+(?= )/, "")));
    }
    rows.forEach((each, place) => {
      const y = step * place + 3, label = data.methods[each.method], longest = Math.floor(left / 6.6);
      const bar = shape("rect", { x: left, y, width: Math.max(1, x(each.own) - left), height: step - 7, rx: 2 });
      bar.style.fill = colour(each.method); bar.style.opacity = 0.85;
      picture.append(shape("text", { class: "label", x: left - 7, y: y + 12, "text-anchor": "end" }, label.length > longest ? label.slice(0, longest - 1) + "…" : label), bar);
      let end = x(each.own);
      if (isNumber(each.paper)) {
        const diamond = shape("path", { d: `M${x(each.paper)} ${y}l6.5 7.5l-6.5 7.5l-6.5 -7.5z`, "stroke-width": 1.6 });
        diamond.style.fill = "var(--raised)"; diamond.style.stroke = "var(--ink)";
        picture.append(diamond);
        if (Math.abs(x(each.paper) - end) < 66 && x(each.paper) > end - 7) end = x(each.paper) + 7;
      }
      picture.append(shape("text", { x: end + 6, y: y + 12 }, duration(each.own)));
    });
    drawing.replaceChildren(picture);
  };
  new ResizeObserver(draw).observe(holder);
  return holder;
}

function coverageSection() {
  const names = { done: "finished", short: "ended early", unfinished: "unfinished", broken: "broke", missing: "not begun" };
  const used = new Set(data.coverage.cells.flatMap((cell) => cell.states));
  byId("coverage-key").append(...Object.entries(names).filter(([key]) => used.has(key)).map(([key, text]) =>
    element("span", { class: "item" }, element("span", { class: `dot ${key}` }), text)));
  byId("coverage-table").append(table([heading("Method"), ...data.coverage.problems.map((label) => heading(label, { style: null }))],
    data.methods.map((_, method) => row(methodCell(method), ...data.coverage.problems.map((label, problem) => {
      const cell = data.coverage.cells.find((each) => each.method === method && each.problem === problem);
      if (!cell) return element("td", { class: "none" }, "–");
      const counts = Object.keys(names).map((key) => [key, cell.states.filter((each) => each === key).length]).filter(([, count]) => count);
      const text = `${data.methods[method]} on ${label}: ` + counts.map(([key, count]) => `${count} ${names[key]}`).join(", ");
      return element("td", { title: text }, element("span", { class: "dots", role: "img", "aria-label": text }, ...cell.states.map((each) => element("span", { class: `dot ${each}` }))));
    }))), { class: "stays" }));
  byId("remarks").append(...data.remarks.map((text) => element("li", {}, text)));
}
