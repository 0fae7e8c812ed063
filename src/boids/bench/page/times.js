// Time per iteration: bars, and a table with the processor's times and the paper's.

function timesSection() {
  const times = data.times,
    hasPaper = times.cells.some((cell) => isNumber(cell.paper)),
    hasProcessor = times.cells.some((cell) => isNumber(cell.cpu));
  byId("times-text").textContent =
    "Mean seconds per evaluation that a method takes for itself: fitting, choosing, everything but the evaluation." +
    (hasProcessor
      ? " “CPU” is the processor's time for both, method and evaluation, of all threads: on a busy machine it is the one to trust."
      : "") +
    (hasPaper ? ` “Paper” is ${times.source}; it seems to include evaluations, and its machine was another one.` : "");
  const under = (text) => element("small", { class: "under" }, text);
  const cellOf = (method, problem) => times.cells.find((cell) => cell.method === method && cell.problem === problem);
  byId("times-table").append(
    table(
      [heading("Method"), ...times.problems.map((label) => heading(label))],
      data.methods.map((_, method) =>
        row(
          methodCell(method),
          ...times.problems.map((_, problem) => {
            const cell = cellOf(method, problem);
            if (!cell) return element("td", { class: "none" }, "–");
            return element(
              "td",
              { title: `evaluation: ${duration(cell.evaluate)}` },
              duration(cell.own),
              hasProcessor ? under(isNumber(cell.cpu) ? `CPU ${duration(cell.cpu)}` : " ") : null,
              hasPaper
                ? under(
                    isNumber(cell.paper)
                      ? `paper ${cell.paper >= 0.01 ? `${cell.paper} s` : duration(cell.paper)}`
                      : " ",
                  )
                : null,
            );
          }),
        ),
      ),
      { class: "stays" },
    ),
  );
  const evaluations = times.problems
    .map((label, problem) => {
      const all = times.cells
        .filter((cell) => cell.problem === problem)
        .map((cell) => cell.evaluate)
        .filter(isNumber);
      return all.length ? `${label} ${duration(all.reduce((a, b) => a + b, 0) / all.length)}` : null;
    })
    .filter(Boolean);
  byId("times-note").textContent = evaluations.length
    ? `An evaluation took on average: ${evaluations.join(", ")}.`
    : "";
  byId("times-figure").append(timeBars(times, hasPaper, hasProcessor));
}

function timeBars(times, hasPaper, hasProcessor) {
  const average = (list) => (list.length ? list.reduce((a, b) => a + b, 0) / list.length : null);
  const rows = data.methods
    .map((_, method) => {
      const mine = times.cells.filter((cell) => cell.method === method && isNumber(cell.own));
      return {
        method,
        own: average(mine.map((cell) => cell.own)),
        processor: average(mine.map((cell) => cell.cpu).filter(isNumber)),
        paper: average(mine.map((cell) => cell.paper).filter(isNumber)),
      };
    })
    .filter((each) => isNumber(each.own) && each.own > 0)
    .sort((a, b) => b.own - a.own);
  const holder = element(
    "div",
    { class: "figure" },
    element("h3", {}, "Average over the problems"),
    element(
      "div",
      { class: "about" },
      [
        "seconds per evaluation, log scale",
        hasProcessor ? "❘ CPU, evaluation included" : null,
        hasPaper ? "◇ the paper, on the problems that it has" : null,
      ]
        .filter(Boolean)
        .join("; "),
    ),
  );
  if (!rows.length) return element("div");
  const drawing = element("div");
  holder.append(drawing);
  holder.style.marginBottom = "1rem";
  const draw = () => {
    const width = Math.max(280, drawing.clientWidth),
      left = Math.min(130, 0.36 * width),
      right = 66,
      step = 22,
      height = step * rows.length + 30;
    const values = rows
      .flatMap((each) => [each.own, each.processor, each.paper])
      .filter((value) => isNumber(value) && value > 0);
    const low = 10 ** Math.floor(Math.log10(Math.min(...values)) - 0.05),
      high = 10 ** Math.ceil(Math.log10(Math.max(...values)) + 0.05);
    const share = scaleOf(low, high, true),
      x = (value) => left + (width - left - right) * share(value);
    const picture = shape("svg", {
      viewBox: `0 0 ${width} ${height}`,
      role: "img",
      "aria-label": "Time per evaluation of each method",
    });
    const powers = Math.round(Math.log10(high / low)),
      every = Math.ceil(powers / (width < 480 ? 3 : 8));
    const places = Array.from({ length: Math.floor(powers / every) + 1 }, (_, k) => low * 10 ** (k * every));
    if (powers === 1) places.push(2 * low, 5 * low);
    for (const value of places.map((each) => Number(each.toPrecision(3)))) {
      picture.append(
        shape("line", { class: "grid", x1: x(value), x2: x(value), y1: 0, y2: height - 22 }),
        shape(
          "text",
          { x: x(value), y: height - 6, "text-anchor": "middle" },
          value >= 1 ? `${value} s` : duration(value).replace(/\.0+(?= )/, ""),
        ),
      );
    }
    // Values stand behind their bars, or all at the right edge if a mark would come between a bar and its value.
    const isInTheWay = (end) => (value) => isNumber(value) && x(value) > end - 8 && x(value) < end + 70;
    const atEdge = rows.some((each) => [each.processor, each.paper].some(isInTheWay(x(each.own))));
    rows.forEach((each, place) => {
      const y = step * place + 3,
        label = data.methods[each.method],
        longest = Math.floor(left / 6.6);
      const bar = shape("rect", { x: left, y, width: Math.max(1, x(each.own) - left), height: step - 7, rx: 2 });
      bar.style.fill = colour(each.method);
      bar.style.opacity = 0.85;
      picture.append(
        shape(
          "text",
          { class: "label", x: left - 7, y: y + 12, "text-anchor": "end" },
          label.length > longest ? label.slice(0, longest - 1) + "…" : label,
        ),
        bar,
      );
      if (isNumber(each.processor)) {
        const at = x(each.processor);
        picture.append(
          shape("line", { class: "processor", x1: at, x2: at, y1: y - 2, y2: y + step - 5, "stroke-width": 2.4 }),
        );
      }
      if (isNumber(each.paper)) {
        const diamond = shape("path", { d: `M${x(each.paper)} ${y}l6.5 7.5l-6.5 7.5l-6.5 -7.5z`, "stroke-width": 1.6 });
        diamond.style.fill = "var(--raised)";
        diamond.style.stroke = "var(--ink)";
        picture.append(diamond);
      }
      picture.append(
        atEdge
          ? shape("text", { x: width - 2, y: y + 12, "text-anchor": "end" }, duration(each.own))
          : shape("text", { x: x(each.own) + 6, y: y + 12 }, duration(each.own)),
      );
    });
    drawing.replaceChildren(picture);
  };
  new ResizeObserver(draw).observe(holder);
  return holder;
}
