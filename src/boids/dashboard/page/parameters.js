// Which parameters mattered, and how the evaluations lie along the most important of them.
import { colour } from "./charts.js";
import { count, h, number, panel, percent } from "./format.js";

const FEWEST = 5;

/** Colours from the best value to the worst, told apart in grey and by everyone: a part of viridis. */
const RAMP = [
  [68, 1, 84],
  [59, 82, 139],
  [33, 145, 140],
  [94, 201, 98],
  [253, 231, 37],
];

function ramp(share) {
  const at = Math.max(0, Math.min(1, share)) * (RAMP.length - 1);
  const low = Math.min(RAMP.length - 2, Math.floor(at));
  return RAMP[low].map((channel, k) => Math.round(channel + (at - low) * (RAMP[low + 1][k] - channel)));
}

export class ParameterPanels {
  constructor(runKey, course, show) {
    this.key = runKey;
    this.course = course;
    this.show = show;
    this.top = 8;
    this.ranks = new Map();
    this.known = null;
    this.drawn = null;
    this.asked = 0;
    this.asking = false;
    this.hovered = null;
  }

  make() {
    this.bars = h("div", { class: "bars" });
    this.note = h("p", { class: "soft about" }, "Computed when there are enough evaluations.");
    this.search = h("input", {
      type: "search",
      placeholder: "Find a parameter",
      "aria-label": "Find a parameter and its rank",
      oninput: () => this.renderBars(),
    });
    const output = h("output", {}, String(this.top));
    const slider = h("input", {
      type: "range",
      min: 3,
      max: 20,
      value: this.top,
      "aria-label": "How many parameters to show",
      oninput: (event) => {
        this.top = Number(event.target.value);
        output.textContent = String(this.top);
        this.renderBars();
        this.loadLines();
      },
    });
    this.canvas = h("canvas", { role: "img", "aria-label": "Parallel coordinates of the most important parameters" });
    this.canvas.addEventListener("mousemove", (event) => this.hover(event));
    this.canvas.addEventListener("mouseleave", () => {
      this.hovered = null;
      this.draw();
    });
    this.canvas.addEventListener("click", () => {
      if (this.hovered) this.show(this.hovered.number);
    });
    this.lineNote = h("p", { class: "soft about" });
    const box = h("div", { class: "parallel" }, this.canvas);
    new ResizeObserver(() => this.draw()).observe(box);
    const scale = h(
      "div",
      { class: "legend" },
      h("span", { class: "key" }, "best", h("i", { class: "ramp" }), "worst"),
    );
    return [
      panel(
        "Importance",
        { id: "importance", tools: [h("label", { class: "range" }, "Top ", slider, output), this.search] },
        this.bars,
        this.note,
      ),
      panel("Parallel coordinates", { id: "coordinates", legend: [scale] }, box, this.lineNote),
    ];
  }

  /** Ask for the importance when there is something new to it: computing it takes a second or two. */
  async refresh() {
    const successes = this.course.counts.done;
    if (successes < FEWEST) {
      this.note.textContent = `Importance needs ${FEWEST} successful evaluations.`;
      return;
    }
    const due = !this.known || successes >= 1.25 * this.asked;
    if (this.asking || !due) {
      if (this.known && successes >= (this.linesAt ?? 0) + 20) this.loadLines();
      return;
    }
    this.asking = true;
    this.asked = successes;
    if (!this.known) this.note.textContent = "Computing …";
    const found = await fetch(`api/runs/${this.key}/importance`)
      .then((r) => r.json())
      .catch(() => null);
    this.asking = false;
    if (!found || found.error) {
      this.note.textContent = found?.error ?? "The importance could not be computed.";
      return;
    }
    this.known = found;
    this.ranks = new Map(found.names.map((name, place) => [name, place]));
    this.renderBars();
    this.loadLines();
  }

  renderBars() {
    const found = this.known;
    if (!found) return;
    if (found.reason) {
      this.bars.replaceChildren();
      this.note.textContent = `Nothing can be said: ${found.reason}.`;
      return;
    }
    const wanted = this.search.value.toLowerCase();
    const rows = found.names
      .map((name, place) => [name, found.scores[place], place])
      .filter(([name]) => name.toLowerCase().includes(wanted))
      .slice(0, wanted ? 20 : this.top);
    const most = found.scores[0] || 1;
    this.bars.replaceChildren(
      ...rows.map(([name, score, place]) =>
        h(
          "div",
          { class: "importance" },
          h("span", { class: "soft rank" }, `${place + 1}`),
          h("span", { class: "name", title: name }, name),
          h("span", { class: "track" }, h("i", { style: { width: `${(100 * score) / most}%` } })),
          h("span", { class: "score" }, percent(score)),
        ),
      ),
    );
    if (!rows.length) this.bars.replaceChildren(h("p", { class: "soft" }, "No parameter has that in its name."));
    const trust =
      found.held_out === null
        ? ""
        : found.held_out < 0.2
          ? `Do not rely on it: the model foresees ${number(100 * Math.max(0, found.held_out), 2)} % of the variation of evaluations that it has not seen. `
          : `The model foresees ${number(100 * found.held_out, 2)} % of the variation of evaluations that it has not seen${found.by_rank ? " (by rank)" : ""}. `;
    this.note.textContent = `${trust}${found.caveat}`;
  }

  async loadLines() {
    if (!this.known || this.known.reason) {
      this.lineNote.textContent = "Drawn as soon as the importance is known.";
      return;
    }
    this.linesAt = this.course.counts.done;
    const names = this.known.names.slice(0, this.top);
    const query = names.map((name) => `name=${encodeURIComponent(name)}`).join("&");
    const drawn = await fetch(`api/runs/${this.key}/coordinates?${query}`)
      .then((r) => r.json())
      .catch(() => null);
    if (!drawn?.lines) return;
    const order = [...drawn.lines].sort((a, b) => b.value - a.value); // the best are drawn last, on top
    order.forEach((line, place) => {
      line.share = order.length > 1 ? place / (order.length - 1) : 1;
    });
    this.drawn = { axes: drawn.axes, lines: order };
    const all = this.course.counts.done;
    this.drawn.about = `${order.length < all ? `The best ${count(Math.floor(order.length / 2))} evaluations and a spread of the others, ${count(order.length)} of ${count(all)}` : `All ${count(all)} successful evaluations`}; coloured by rank. Click a line for its evaluation.`;
    this.draw();
  }

  /** Where the axes stand and how high they are, in CSS pixels. */
  get frame() {
    const box = this.canvas.parentElement;
    const width = box.clientWidth;
    const height = Math.max(230, Math.min(330, width * 0.55));
    const axes = this.drawn?.axes.length ?? 0;
    const left = 14;
    const right = 46;
    return {
      width,
      height,
      top: 20,
      bottom: height - 40,
      x: (k) => (axes < 2 ? width / 2 : left + (k * (width - left - right)) / (axes - 1)),
    };
  }

  draw() {
    if (!this.drawn || !this.canvas.isConnected) return;
    const { width, height, top, bottom, x } = this.frame;
    if (!width) return;
    const ratio = devicePixelRatio || 1;
    this.canvas.width = width * ratio;
    this.canvas.height = height * ratio;
    this.canvas.style.height = `${height}px`;
    const ctx = this.canvas.getContext("2d");
    ctx.scale(ratio, ratio);
    const y = (at) => bottom - at * (bottom - top);
    const dark = document.documentElement.dataset.shade === "dark";
    const { axes, lines } = this.drawn;
    const path = (line) => {
      ctx.beginPath();
      line.at.forEach((at, k) => (k ? ctx.lineTo(x(k), y(at)) : ctx.moveTo(x(k), y(at))));
      ctx.stroke();
    };
    for (const line of lines) {
      const good = 1 - line.share; // 0 is the best
      const [r, g, b] = ramp(dark ? 1 - good : good * 0.92);
      ctx.strokeStyle = `rgba(${r},${g},${b},${line.share > 0.9 ? 0.85 : 0.16 + 0.3 * line.share})`;
      ctx.lineWidth = line.share > 0.9 ? 1.5 : 1;
      ctx.setLineDash(line.feasible === false ? [4, 3] : []);
      path(line);
    }
    ctx.setLineDash([]);
    if (this.hovered) {
      ctx.strokeStyle = colour("series-2");
      ctx.lineWidth = 3;
      path(this.hovered);
    }
    ctx.font = "11px system-ui, sans-serif";
    axes.forEach((axis, k) => {
      ctx.strokeStyle = colour("ink");
      ctx.lineWidth = 1;
      ctx.beginPath();
      ctx.moveTo(x(k), top);
      ctx.lineTo(x(k), bottom);
      ctx.stroke();
      const room = axes.length > 1 ? x(1) - x(0) - 6 : width;
      const fit = (text) => {
        let cut = text;
        while (cut.length > 2 && ctx.measureText(cut).width > room) cut = `${cut.slice(0, -2)}…`;
        return cut;
      };
      ctx.textAlign = "left";
      ctx.fillStyle = colour("soft");
      for (const [at, text] of axis.ticks.length > 6
        ? [axis.ticks[0], axis.ticks[axis.ticks.length - 1]]
        : axis.ticks) {
        ctx.fillText(
          fit(text.replace("-", "−")),
          x(k) - (k ? 0 : 4),
          at === 0 ? bottom + 13 : at === 1 ? top - 7 : y(at) + 4,
        );
      }
      ctx.fillStyle = colour("ink");
      ctx.fillText(fit(axis.name), x(k) - (k ? 0 : 4), bottom + 29);
    });
    this.lineNote.textContent = this.hovered
      ? `Evaluation ${count(this.hovered.number + 1)}: value ${number(this.hovered.value)}${this.hovered.feasible === false ? ", breaks a constraint" : ""}. Click for its parameters.`
      : this.drawn.about;
    this.canvas.setAttribute(
      "aria-label",
      `Parallel coordinates of ${axes.map((axis) => axis.name).join(", ")}: ${lines.length} evaluations.`,
    );
  }

  /** Find the line under the pointer. */
  hover(event) {
    if (!this.drawn || this.drawn.axes.length < 2) return;
    const { top, bottom, x } = this.frame;
    const step = x(1) - x(0);
    const at = (event.offsetX - x(0)) / step;
    const left = Math.floor(at);
    let nearest = null;
    let least = 8;
    if (left >= 0 && left < this.drawn.axes.length - 1) {
      for (const line of this.drawn.lines) {
        const place = line.at[left] + (at - left) * (line.at[left + 1] - line.at[left]);
        const gap = Math.abs(bottom - place * (bottom - top) - event.offsetY);
        if (gap <= least) {
          least = gap;
          nearest = line;
        }
      }
    }
    this.canvas.style.cursor = nearest ? "pointer" : "";
    if (nearest !== this.hovered) {
      this.hovered = nearest;
      this.draw();
    }
  }
}
