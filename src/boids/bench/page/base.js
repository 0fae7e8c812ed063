"use strict";
// What the sections share. All texts come from files that anybody may have written: they become text nodes, never HTML.

const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false)
      made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

function shape(tag, attributes = {}, text = null) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== null) made.textContent = text;
  return made;
}

// ---- numbers

const isNumber = (value) => typeof value === "number" && Number.isFinite(value);
const minus = (text) => String(text).replaceAll("-", "−");

function number(value, figures = 4) {
  if (!isNumber(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size < 1e-3 || size >= 1e6) {
    const [digits, power] = value.toExponential(Math.max(0, figures - 2)).split("e");
    return minus(`${Number(digits)}e${Number(power)}`);
  }
  const decimals = Math.max(0, figures - 1 - Math.floor(Math.log10(size)));
  return minus(value.toFixed(Math.min(decimals, 8)));
}

// A value and its uncertainty with the same number of decimals, which the uncertainty decides.
function withError(value, error) {
  if (!isNumber(value)) return "–";
  if (!isNumber(error) || error === 0) return number(value);
  const decimals = 1 - Math.floor(Math.log10(error));
  if (decimals > 5 && Math.abs(value) < 1e-2 && value !== 0) {
    const power = Math.floor(Math.log10(Math.abs(value))),
      digits = Math.max(0, decimals + power);
    return minus(`(${(value / 10 ** power).toFixed(digits)} ± ${(error / 10 ** power).toFixed(digits)})e${power}`);
  }
  if (decimals < 0 || decimals > 7) return `${number(value)} ± ${number(error, 2)}`;
  return minus(`${value.toFixed(decimals)} ± ${error.toFixed(decimals)}`);
}

function probability(p) {
  if (!isNumber(p)) return "–";
  if (p < 1e-4) return "< 0.0001";
  return p.toFixed(p < 0.01 ? 4 : 3);
}

function duration(seconds) {
  if (!isNumber(seconds)) return "–";
  const figures = (x) => (x < 9.995 ? x.toFixed(2) : x < 99.95 ? x.toFixed(1) : x.toFixed(0));
  if (seconds === 0) return "0 s";
  if (seconds < 0.9995e-3) return `${figures(seconds * 1e6)} µs`;
  if (seconds < 0.9995) return `${figures(seconds * 1e3)} ms`;
  if (seconds < 99.95) return `${figures(seconds)} s`;
  if (seconds < 5997) return `${figures(seconds / 60)} min`;
  return `${figures(seconds / 3600)} h`;
}

const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

// ---- methods: one look each

const colour = (method) => `var(--m${method})`;
const MARKS = {
  o: "M-3.2 0a3.2 3.2 0 1 0 6.4 0a3.2 3.2 0 1 0-6.4 0",
  s: "M-2.9-2.9h5.8v5.8h-5.8z",
  "^": "M0-3.7L3.5 2.8h-7z",
  D: "M0-4L4 0L0 4L-4 0z",
  v: "M0 3.7L3.5-2.8h-7z",
  P: "M-1.3-3.6h2.6v2.3h2.3v2.6h-2.3v2.3h-2.6v-2.3h-2.3v-2.6h2.3z",
  X: "M0-1.9L2.2-3.9L3.9-2.2L1.9 0L3.9 2.2L2.2 3.9L0 1.9L-2.2 3.9L-3.9 2.2L-1.9 0L-3.9-2.2L-2.2-3.9z",
  "<": "M-3.7 0L2.8 3.5v-7z",
  ">": "M3.7 0L-2.8 3.5v-7z",
  h: "M0-3.7L3.2-1.8V1.8L0 3.7L-3.2 1.8V-1.8z",
  "*": "M0-4.4L1.2-1.4L4.3-1.3L1.9 .7L2.7 3.8L0 2.1L-2.7 3.8L-1.9 .7L-4.3-1.3L-1.2-1.4z",
  p: "M0-3.8L3.6-1.2L2.2 3.1H-2.2L-3.6-1.2z",
  d: "M0-4.2L2.6 0L0 4.2L-2.6 0z",
  8: "M-1.4-3.4h2.8l2 2v2.8l-2 2h-2.8l-2-2v-2.8z",
};

function styled(made, method, what = "stroke") {
  made.style[what] = colour(method);
  const dashes = data.looks[method].dashes;
  if (what === "stroke" && dashes.length)
    made.setAttribute("stroke-dasharray", dashes.map((dash) => 1.9 * dash).join(" "));
  return made;
}

function mark(method, x, y) {
  const made = shape("path", {
    d: MARKS[data.looks[method].mark],
    transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})`,
  });
  made.style.fill = colour(method);
  return made;
}

function swatch(method) {
  const picture = shape("svg", { viewBox: "0 0 26 12", "aria-hidden": "true" });
  picture.append(styled(shape("line", { x1: 0, x2: 26, y1: 6, y2: 6, class: "curve" }), method), mark(method, 13, 6));
  return element("span", { class: "swatch" }, picture);
}

const methodCell = (method, ...more) =>
  element("th", { scope: "row", title: data.methods[method] }, swatch(method), data.methods[method], ...more);

// ---- what is shown

const state = {
  hidden: new Set(),
  statistic: "mean",
  axis: "auto",
  bands: "on",
  tolerance: data.tolerances[1],
  focus: null,
};
const listeners = [];
function changed() {
  for (const listener of listeners) listener();
}

function choice(id, key, options) {
  const buttons = options.map(([value, label]) =>
    element(
      "button",
      {
        type: "button",
        "aria-pressed": String(state[key] === value),
        "data-value": value,
        onclick: () => {
          state[key] = value;
          for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.value === value));
          changed();
        },
      },
      label,
    ),
  );
  byId(id).append(...buttons);
}
