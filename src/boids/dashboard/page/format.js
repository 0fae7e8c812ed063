// Numbers, times and elements as people like to see them.

/** A number with some significant digits, and a real minus sign. */
export function number(value, digits = 6) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  const text =
    size !== 0 && (size >= 1e7 || size < 1e-4)
      ? value.toExponential(Math.min(digits, 4) - 1)
      : String(Number(value.toPrecision(digits)));
  return text.replace("e+", "e").replace(/-/g, "−");
}

/** A whole number with thin spaces between thousands. */
export function count(value) {
  return value === null || value === undefined ? "–" : String(value).replace(/\B(?=(\d{3})+$)/g, "\u2009");
}

/** A time span: 0.12 s, 3.4 s, 2 min 10 s, 3 h 5 min, 2 d 4 h. */
export function span(seconds) {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return "–";
  if (seconds < 1e-6) return "0 s";
  if (seconds < 0.1) return `${Number((seconds * 1000).toPrecision(2))} ms`;
  if (seconds < 60) return `${Number(seconds.toPrecision(seconds < 1 ? 2 : 3))} s`;
  const whole = Math.round(seconds);
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  if (whole < 86400) return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
  return `${Math.floor(whole / 86400)} d ${Math.floor((whole % 86400) / 3600)} h`;
}

/** How long ago a moment was. */
export function ago(moment) {
  const seconds = Math.max(0, Date.now() / 1000 - moment);
  if (seconds < 5) return "now";
  if (seconds < 60) return `${Math.round(seconds)} s ago`;
  if (seconds < 3600) return `${Math.round(seconds / 60)} min ago`;
  if (seconds < 86400) return `${Math.round(seconds / 3600)} h ago`;
  return `${Math.round(seconds / 86400)} d ago`;
}

/** A moment as local date and time. */
export function moment(seconds) {
  if (!seconds) return "–";
  const date = new Date(seconds * 1000);
  const two = (value) => String(value).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** A share as a percentage. */
export const percent = (share) =>
  share > 0 && share < 0.001 ? "< 0.1 %" : `${number(100 * share, share < 0.1 ? 2 : 3)} %`;

/** The value below which the share q of some numbers lies; null if there are none. */
export function quantile(numbers, q) {
  const sorted = numbers.filter(Number.isFinite).sort((a, b) => a - b);
  return sorted.length ? sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] : null;
}

export const plural = (n, word) => `${count(n)} ${word}${n === 1 ? "" : "s"}`;

/** An element; text is only ever text, so that nothing in a run's names can become part of the page. */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") for (const [key, each] of Object.entries(value)) element.style.setProperty(key, each);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  return fill(element, children);
}

/** Give an element other children; what is missing is left out. */
export function fill(element, ...children) {
  element.replaceChildren(
    ...children.flat(2).filter((child) => child !== null && child !== undefined && child !== false),
  );
  return element;
}

/** Buttons of which one is pressed; `choose` gets its value. */
export function choice(label, options, chosen, choose) {
  const group = h("div", { class: "choice", role: "group", "aria-label": label });
  for (const [value, text] of options) {
    group.append(
      h(
        "button",
        {
          type: "button",
          "aria-pressed": String(value === chosen),
          "data-value": value,
          onclick: () => {
            for (const other of group.children)
              other.setAttribute("aria-pressed", String(other.dataset.value === value));
            choose(value);
          },
        },
        text,
      ),
    );
  }
  return group;
}

/** The choices of what the axes of best values are; they are kept in `view.xBy` and `view.yBy`, then `changed` is called. */
export function axisChoices(view, changed) {
  const kept = (name) => (value) => {
    view[name] = value;
    changed();
  };
  const across = [
    ["evaluation", "Evaluations"],
    ["time", "Time"],
  ];
  const up = [
    ["linear", "Linear"],
    ["log", "Log"],
  ];
  return [choice("Horizontal axis", across, view.xBy, kept("xBy")), choice("Vertical axis", up, view.yBy, kept("yBy"))];
}

/** A titled box with a chart or a table in it. */
export function panel(title, { about, legend, tools, wide, id } = {}, ...content) {
  const heading = `${id ?? title.toLowerCase().replace(/\W+/g, "-")}-title`;
  return h(
    "section",
    { class: `panel${wide ? " wide" : ""}`, id, "aria-labelledby": heading },
    h(
      "header",
      {},
      h("h2", { id: heading }, title),
      legend ? h("div", { class: "legend" }, legend) : null,
      tools ? h("div", { class: "tools" }, tools) : null,
    ),
    about ? h("p", { class: "soft about" }, about) : null,
    ...content,
  );
}

/** A mark and its meaning. */
export const key = (mark, text) => h("span", { class: "key" }, h("i", { class: `mark ${mark}` }), text);

export const STANDINGS = { live: "live", finished: "finished", stopped: "stopped", failed: "failed" };

/** How a run stands, as a coloured word. */
export const pill = (standing) =>
  h("span", { class: `pill ${standing}` }, h("i", { class: "dot" }), STANDINGS[standing] ?? standing);
