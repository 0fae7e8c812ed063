// Average ranks: the critical-difference diagram, and its upright version for narrow screens.

function ranksSection() {
  const ranks = data.ranks,
    count = ranks.methods.length;
  const left = ranks.left_out.map((method) => data.methods[method]);
  const leftText = left.length
    ? ` ${left.join(", ")} ${left.length === 1 ? "takes" : "take"} no part, for want of runs.`
    : "";
  if (!ranks.blocks || count < 2) {
    byId("ranks-text").textContent =
      "There are no problems and repetitions on which several methods can be compared." + leftText;
    byId("ranks-figure").remove();
    return;
  }
  const differ = isNumber(ranks.p) && ranks.p < data.tests.level;
  byId("ranks-text").textContent =
    `Methods ranked on each problem and repetition (1 is best), averaged over the ${ranks.blocks} of ${ranks.all_blocks} on which all have a value` +
    (ranks.problems < data.problems.length ? ` (${ranks.problems} of ${data.problems.length} problems). ` : ". ") +
    (isNumber(ranks.p)
      ? `Friedman's test ${differ ? "says that they differ" : "does not tell them apart"} (χ² = ${number(ranks.statistic, 3)}, p ${ranks.p < 1e-4 ? probability(ranks.p) : "= " + probability(ranks.p)}).`
      : "") +
    leftText;
  byId("ranks-note").textContent =
    "A bar joins methods whose average ranks differ by less than the critical difference (CD) of Nemenyi's test at 0.05. " +
    "Repetitions on one problem are blocks of their own, so that the tests speak of these problems, not of problems in general" +
    (isNumber(ranks.problems_difference) && ranks.problems < ranks.blocks
      ? `; counting problems instead, the critical difference is ${ranks.problems_difference.toFixed(2)}.`
      : ".") +
    (differ ? "" : " Since Friedman's test finds no difference, the bars should not be read as evidence.");
  const holder = byId("ranks-figure");
  const draw = () => {
    const width = Math.min(1024, holder.clientWidth - 18);
    holder.replaceChildren(width < 560 ? column(Math.max(280, width)) : diagram(width));
  };
  new ResizeObserver(draw).observe(holder);

  // On narrow screens: a row for each method, and the bars upright.
  function column(width) {
    const order = ranks.methods
      .map((method, i) => ({ method, rank: ranks.average[i] }))
      .sort((a, b) => a.rank - b.rank);
    const bars = ranks.groups,
      left = Math.min(118, 0.34 * width),
      right = 44 + 8 * bars.length,
      top = 46,
      step = 21;
    const height = top + step * count + 8,
      x = (rank) => left + ((width - left - right) * (rank - 1)) / (count - 1);
    const picture = shape("svg", {
      viewBox: `0 0 ${width} ${height}`,
      role: "img",
      "aria-label":
        "Average ranks: " + order.map((each) => `${data.methods[each.method]} ${each.rank.toFixed(2)}`).join(", "),
    });
    for (let rank = 1; rank <= count; rank += Math.ceil(count / 6))
      picture.append(
        shape("line", { class: "grid", x1: x(rank), x2: x(rank), y1: top - 6, y2: height - 6 }),
        shape("text", { x: x(rank), y: top - 10, "text-anchor": "middle" }, String(rank)),
      );
    const length = Math.min(ranks.difference, count - 1);
    picture.append(
      shape("line", { class: "tick", x1: x(1), x2: x(1 + length), y1: 12, y2: 12 }),
      shape("text", { x: x(1) - 8, y: 16, "text-anchor": "end" }, `CD = ${ranks.difference.toFixed(2)}`),
    );
    order.forEach((each, place) => {
      const y = top + step * place + 8,
        label = data.methods[each.method],
        longest = Math.floor(left / 6.7);
      picture.append(
        shape(
          "text",
          { class: "label", x: left - 10, y: y + 4, "text-anchor": "end" },
          label.length > longest ? label.slice(0, longest - 1) + "…" : label,
        ),
        mark(each.method, x(each.rank), y),
        shape("text", { x: x(each.rank) + 8, y: y + 4 }, each.rank.toFixed(2)),
      );
    });
    bars.forEach((group, i) => {
      const places = group.map((method) => order.findIndex((each) => each.method === method));
      const place = width - 8 * (bars.length - i) + 2;
      picture.append(
        shape("line", {
          class: "clique",
          x1: place,
          x2: place,
          y1: top + step * Math.min(...places) + 4,
          y2: top + step * Math.max(...places) + 12,
        }),
      );
    });
    return picture;
  }

  function diagram(width) {
    const order = ranks.methods
      .map((method, i) => ({ method, rank: ranks.average[i] }))
      .sort((a, b) => a.rank - b.rank);
    const name = (method) => {
      const text = data.methods[method];
      return text.length > 18 ? text.slice(0, 17) + "…" : text;
    };
    const longest = Math.max(...order.map((each) => name(each.method).length + 7));
    const side = Math.min(0.36 * width, 6.4 * longest + 8);
    const bars = ranks.groups;
    const top = 52,
      rowHeight = 20,
      barTop = top + 14,
      below = barTop + 9 * bars.length + 8;
    const half = Math.ceil(count / 2),
      height = below + rowHeight * half + 6;
    const picture = shape("svg", {
      viewBox: `0 0 ${width} ${height}`,
      role: "img",
      "aria-label":
        "Average ranks: " + order.map((each) => `${data.methods[each.method]} ${each.rank.toFixed(2)}`).join(", "),
    });
    picture.style.maxWidth = `${width}px`;
    const x = (rank) => side + ((width - 2 * side) * (rank - 1)) / (count - 1);
    picture.append(shape("line", { class: "tick", x1: x(1), x2: x(count), y1: top, y2: top }));
    const every = (width - 2 * side) / count < 16 ? 2 : 1;
    for (let rank = 1; rank <= count; rank += every)
      picture.append(
        shape("line", { class: "tick", x1: x(rank), x2: x(rank), y1: top - 5, y2: top }),
        shape("text", { x: x(rank), y: top - 9, "text-anchor": "middle" }, String(rank)),
      );
    const length = Math.min(ranks.difference, count - 1);
    picture.append(
      shape("line", { class: "tick", x1: x(1), x2: x(1 + length), y1: 16, y2: 16 }),
      shape("line", { class: "tick", x1: x(1), x2: x(1), y1: 12, y2: 20 }),
      shape("line", { class: "tick", x1: x(1 + length), x2: x(1 + length), y1: 12, y2: 20 }),
      shape("text", { x: x(1 + length) + 8, y: 20 }, `CD = ${ranks.difference.toFixed(2)}`),
    );
    order.forEach((each, place) => {
      const isLeft = place < half;
      const y = below + rowHeight * (isLeft ? place : count - 1 - place) + 8;
      const edge = isLeft ? side - 6 : width - side + 6;
      const path = styled(shape("path", { class: "curve", d: `M${x(each.rank)} ${top}V${y}H${edge}` }), each.method);
      picture.append(path, mark(each.method, x(each.rank), top));
      const text = isLeft
        ? `${name(each.method)}  ${each.rank.toFixed(2)}`
        : `${each.rank.toFixed(2)}  ${name(each.method)}`;
      picture.append(
        shape(
          "text",
          { class: "label", x: isLeft ? edge - 5 : edge + 5, y: y + 4, "text-anchor": isLeft ? "end" : "start" },
          text,
        ),
      );
    });
    const rankOf = new Map(order.map((each) => [each.method, each.rank]));
    bars.forEach((group, i) => {
      const values = group.map((method) => rankOf.get(method));
      const y = barTop + 9 * i;
      picture.append(
        shape("line", {
          class: "clique",
          x1: x(Math.min(...values)) - 3,
          x2: x(Math.max(...values)) + 3,
          y1: y,
          y2: y,
        }),
      );
    });
    return picture;
  }
}
