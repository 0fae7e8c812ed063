// A line chart as SVG: axes, curves with bands, direct labels where there is room, and a readout under the pointer.

function ticks(low, high, wanted) {
  const rough = (high - low) / Math.max(1, wanted);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999);
  const made = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) made.push(k * step);
  return made;
}

function tickText(value, step) {
  if (Math.abs(value) < 1e-12 * Math.abs(step)) return "0";
  if (Math.abs(value) >= 1e6 || step < 1e-5) return number(value, 3);
  return minus(value.toFixed(Math.max(0, -Math.floor(Math.log10(step) + 1e-9))));
}

function scaleOf(low, high, isLog) {
  const map = isLog ? Math.log10 : (value) => value;
  const [from, to] = [map(low), map(high)];
  return (value) => (map(value) - from) / (to - from || 1);
}

function powerText(exponent) {
  const digits = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };
  if (exponent >= -2 && exponent <= 3) return String(10 ** exponent);
  return "10" + [...String(exponent)].map((digit) => digits[digit]).join("");
}

// Moves labels apart that would overlap, and keeps them inside.
function spread(labels, gap, low, high) {
  labels.sort((a, b) => a.at - b.at);
  for (let pass = 0; pass < 200; pass++) {
    let moved = false;
    for (let i = 1; i < labels.length; i++) {
      const lack = gap - (labels[i].at - labels[i - 1].at);
      if (lack > 0.01) {
        labels[i].at += lack / 2;
        labels[i - 1].at -= lack / 2;
        moved = true;
      }
    }
    if (labels.length && labels[0].at < low) {
      labels[0].at = low;
    }
    if (labels.length && labels.at(-1).at > high) {
      labels.at(-1).at = high;
    }
    if (!moved) break;
  }
}

let clips = 0;
const shortened = (method) =>
  data.methods[method].length > 16 ? data.methods[method].slice(0, 15) + "…" : data.methods[method];

// spec: width, height, lines [{method, n, y, low, high}], isLog, yLabel, xLabel, domain, format
function chart(spec) {
  const isWide = spec.width >= 480;
  const shown = spec.lines.filter((line) => !state.hidden.has(line.method));
  const margin = { left: 52, right: isWide ? 112 : 12, top: 8, bottom: 36 };
  const [width, height] = [spec.width, spec.height];
  const inner = { width: width - margin.left - margin.right, height: height - margin.top - margin.bottom };
  const picture = shape("svg", {
    viewBox: `0 0 ${width} ${height}`,
    role: "img",
    "aria-label": spec.title,
    tabindex: 0,
  });
  const last = Math.max(1, ...spec.lines.map((line) => line.n.at(-1)));
  const shareOf = (n) => (spec.xLog ? Math.log(n) / Math.log(last) : (n - 1) / (last - 1)) || 0;
  const atShare = (s) => (spec.xLog ? last ** s : Math.round(1 + s * (last - 1)));
  const x = (n) => margin.left + inner.width * shareOf(n);
  const [low, high] = spec.domain(shown);
  const share = scaleOf(low, high, spec.isLog);
  const y = (value) =>
    margin.top + inner.height * (1 - Math.min(9, Math.max(-9, share(spec.isLog ? Math.max(value, low / 1e3) : value))));

  // axes
  const bottom = margin.top + inner.height;
  if (spec.isLog) {
    const [from, to] = [Math.ceil(Math.log10(low) - 1e-9), Math.floor(Math.log10(high) + 1e-9)];
    const every = Math.max(1, Math.ceil((to - from + 1) / 7));
    const marks = [];
    for (let power = from; power <= to; power += every) marks.push([10 ** power, powerText(power)]);
    if (to - from < 2) {
      for (let power = from - 1; power <= to; power++)
        for (const k of to === from - 1 || to - from < 1 ? [2, 3, 5] : [2, 5])
          if (k * 10 ** power >= low && k * 10 ** power <= high)
            marks.push([k * 10 ** power, number(k * 10 ** power, 1)]);
    }
    for (const [value, text] of marks) drawTick(value, text);
  } else {
    const values = ticks(low, high, 6);
    for (const value of values) drawTick(value, tickText(value, values.length > 1 ? values[1] - values[0] : 1));
  }
  function drawTick(value, text) {
    picture.append(
      shape("line", { class: "grid", x1: margin.left, x2: width - margin.right, y1: y(value), y2: y(value) }),
      shape("text", { x: margin.left - 7, y: y(value) + 4, "text-anchor": "end" }, text),
    );
  }
  picture.append(shape("line", { class: "axis", x1: margin.left, x2: width - margin.right, y1: bottom, y2: bottom }));
  const whole = spec.xLog
    ? [2, 5, 10, 20, 50, 100].filter((n) => n <= last)
    : ticks(1, last, isWide ? 6 : 4).filter((n) => n > last * 0.06 && Number.isInteger(n));
  for (const n of [1, ...whole])
    picture.append(shape("text", { x: x(n), y: bottom + 16, "text-anchor": "middle" }, String(n)));
  picture.append(
    shape("text", { x: margin.left + inner.width / 2, y: height - 4, "text-anchor": "middle" }, spec.xLabel),
  );

  // What a cut axis leaves out is not drawn; marks at the edges are whole.
  const clip = `clip-${++clips}`,
    frame = shape("clipPath", { id: clip });
  frame.append(
    shape("rect", { x: margin.left - 5, y: margin.top - 4, width: inner.width + 10, height: inner.height + 9 }),
  );
  picture.append(frame);

  // bands below, curves above; the reference last, on top
  const order = [...shown].sort(
    (a, b) => (b.method === data.tests.reference ? -1 : 0) - (a.method === data.tests.reference ? -1 : 0),
  );
  const curves = new Map();
  for (const line of order) {
    if (line.low && state.bands === "on") {
      const there = [],
        back = [];
      line.n.forEach((n, i) => {
        if (isNumber(line.low[i]) && isNumber(line.high[i])) {
          there.push([x(n), y(line.high[i])]);
          back.unshift([x(n), y(line.low[i])]);
        }
      });
      if (there.length > 1) {
        const band = shape("path", {
          class: "band",
          d: "M" + [...there, ...back].map((p) => p.map((v) => v.toFixed(1)).join(" ")).join("L") + "Z",
        });
        band.style.fill = colour(line.method);
        picture.append(band);
      }
    }
  }
  for (const band of picture.querySelectorAll(".band")) band.setAttribute("clip-path", `url(#${clip})`);
  const labels = [];
  for (const line of order) {
    const points = [];
    line.n.forEach((n, i) => {
      if (isNumber(line.y[i])) points.push([x(n), y(line.y[i])]);
    });
    if (!points.length) continue;
    const group = shape("g", { "data-method": line.method }),
      inside = shape("g", { "clip-path": `url(#${clip})` });
    group.append(inside);
    inside.append(
      styled(
        shape("path", { class: "curve", d: "M" + points.map((p) => p.map((v) => v.toFixed(1)).join(" ")).join("L") }),
        line.method,
      ),
    );
    const [endX, endY] = points.at(-1);
    inside.append(mark(line.method, endX, endY));
    // A few more marks, not at the same places for all methods, so that lines can be followed without colours.
    const phase = (line.method % 5) / 5;
    for (let k = 0; k < 3; k++) {
      const [markX, markY] =
        points[Math.min(points.length - 1, Math.floor(((k + 0.35 + 0.6 * phase) / 3.2) * points.length))];
      inside.append(mark(line.method, markX, markY));
    }
    picture.append(group);
    curves.set(line.method, group);
    // A method that ended before is compared with the value it had.
    const right = width - margin.right;
    if (right - endX > 3 && line.ended) {
      const rest = shape("path", { class: "carried", d: `M${endX} ${endY}H${right}` });
      rest.style.stroke = colour(line.method);
      inside.append(rest);
    }
    // The name of an unfinished curve stands where it ends, if that is not at the edge.
    if (isWide && !line.ended && right - endX > 60)
      group.append(shape("text", { class: "label", x: endX + 8, y: endY + 4 }, shortened(line.method)));
    else labels.push({ method: line.method, at: endY, endX: right, endY, group });
  }
  if (isWide) {
    spread(labels, 13.5, margin.top + 2, bottom - 5);
    for (const label of labels) {
      const left = width - margin.right + 14;
      const path = shape("path", { class: "leader", d: `M${label.endX + 5} ${label.endY}L${left - 4} ${label.at}` });
      path.style.stroke = colour(label.method);
      label.group.append(path, shape("text", { class: "label", x: left, y: label.at + 4 }, shortened(label.method)));
    }
  }
  addReadout();
  emphasise();
  return { picture, emphasise, methods: labels.sort((a, b) => a.endY - b.endY).map((label) => label.method) };

  function emphasise() {
    for (const [method, group] of curves)
      group.classList.toggle("faint", state.focus !== null && state.focus !== method);
  }

  function addReadout() {
    const cursor = shape("line", { class: "cursor", y1: margin.top, y2: bottom, visibility: "hidden" });
    picture.append(cursor);
    let at = null;
    const show = (n) => {
      at = n;
      cursor.setAttribute("x1", x(at));
      cursor.setAttribute("x2", x(at));
      cursor.setAttribute("visibility", "visible");
      const rows = shown
        .map((line) => {
          let i = line.n.findIndex((n) => n > at);
          i = i === -1 ? line.n.length - 1 : i - 1;
          return { line, i, value: i >= 0 ? line.y[i] : null, isPast: at > line.n.at(-1) };
        })
        .filter((row) => isNumber(row.value))
        .sort((a, b) => (spec.upIsGood ? b.value - a.value : a.value - b.value));
      spec.readout(at, rows, x(at) / width);
    };
    const hide = () => {
      at = null;
      cursor.setAttribute("visibility", "hidden");
      spec.readout(null, [], 0);
    };
    const follow = (event) => {
      const box = picture.getBoundingClientRect();
      const place = ((event.clientX - box.left) / box.width) * width;
      show(atShare(Math.max(0, Math.min(1, (place - margin.left) / inner.width))));
    };
    picture.addEventListener("pointermove", follow);
    picture.addEventListener("pointerdown", follow);
    // A finger that is lifted leaves the values to be read; the next tap elsewhere takes them away.
    picture.addEventListener("pointerleave", (event) => {
      if (event.pointerType === "mouse") hide();
    });
    picture.addEventListener("blur", hide);
    picture.addEventListener("keydown", (event) => {
      const step = spec.xLog ? 0.02 : Math.max(1, Math.round(last / 50)) / Math.max(1, last - 1);
      const moves = { ArrowLeft: -step, ArrowRight: step, Home: -9, End: 9 };
      if (event.key === "Escape") hide();
      else if (event.key in moves) {
        const from = at === null ? (event.key === "ArrowLeft" ? 1 + step : -step) : shareOf(at);
        show(atShare(Math.max(0, Math.min(1, from + moves[event.key]))));
        event.preventDefault();
      }
    });
  }
}

// A card with a chart in it, drawn anew when it changes its width or what is shown.
function card(title, about, specOf) {
  const holder = element("div");
  const readout = element("div", { class: "readout", role: "status", hidden: true });
  const subtitle = element("div", { class: "about" }, about);
  const names = element("div", { class: "names" });
  const made = element("div", { class: "figure" }, element("h3", {}, title), subtitle, holder, names, readout);
  let drawn = null;
  const draw = () => {
    const width = Math.round(holder.clientWidth);
    if (!width) return;
    const hadFocus = holder.contains(document.activeElement);
    const spec = { ...specOf(), width, height: width >= 900 ? 360 : width >= 480 ? 300 : 250, title, readout: tell };
    drawn = chart(spec);
    if (spec.about) subtitle.textContent = spec.about;
    // Where there is no room for names beside the lines, they stand below, in the order of the lines' ends.
    names.replaceChildren(
      ...(width >= 480 ? [] : drawn.methods).map((method) =>
        element("span", {}, swatch(method), shortened(method)),
      ),
    );
    holder.replaceChildren(drawn.picture);
    if (hadFocus) drawn.picture.focus();
    function tell(n, rows, share) {
      readout.hidden = n === null || !rows.length;
      if (readout.hidden) return;
      readout.replaceChildren(
        element("b", {}, spec.xText ? spec.xText(n) : `after ${n} evaluations`),
        element(
          "table",
          {},
          element(
            "tbody",
            {},
            ...rows.map((row) =>
              element(
                "tr",
                {},
                element("td", {}, swatch(row.line.method), data.methods[row.line.method]),
                element("td", {}, spec.format(row) + (row.isPast ? (row.line.ended ? " (ended)" : " (so far)") : "")),
              ),
            ),
          ),
        ),
      );
      const room = made.clientWidth - readout.offsetWidth;
      const place = holder.offsetLeft + share * holder.clientWidth;
      const left = share < 0.5 ? place + 14 : place - readout.offsetWidth - 14;
      readout.style.left = `${Math.max(4, Math.min(room - 4, left))}px`;
      readout.style.top =
        width >= 480 ? `${holder.offsetTop + 6}px` : `${holder.offsetTop + holder.clientHeight + 2}px`;
    }
  };
  listeners.push(() => (drawn && state.onlyFocus ? drawn.emphasise() : draw()));
  new ResizeObserver(() => draw()).observe(made);
  return made;
}
