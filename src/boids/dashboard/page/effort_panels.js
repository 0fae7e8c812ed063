// Where the time goes, and how busy the workers are. Methods of `RunView`, as in method_panels.js.
import { Chart, colour, stepped } from "./charts.js";
import { h, number, panel, percent, plural, span } from "./format.js";

export const effortPanels = {
  make_times() {
    this.parts.times = h("div", { class: "split" });
    return panel("Where the time goes", { id: "times" }, this.parts.times);
  },

  draw_times() {
    const order = {
      fit: "making proposals",
      select: "making proposals",
      optimise: "making proposals",
      lift: "making proposals",
      evaluate: "evaluating",
      other: "telling and the rest",
    };
    const tints = { fit: 1, select: 6, optimise: 4, lift: 8, evaluate: 3, other: 8 };
    const phases = Object.entries(this.facts.times ?? {}).filter(([, seconds]) => seconds > 0);
    phases.sort(([a], [b]) => Object.keys(order).indexOf(a) - Object.keys(order).indexOf(b));
    const total = phases.reduce((sum, [, seconds]) => sum + seconds, 0);
    if (!total) {
      this.parts.times.replaceChildren(h("p", { class: "soft" }, "No times have been recorded yet."));
      return;
    }
    const bar = h(
      "div",
      {
        class: "stack",
        role: "img",
        "aria-label": phases.map(([name, s]) => `${name} ${Math.round((100 * s) / total)} percent`).join(", "),
      },
      phases.map(([name, seconds]) =>
        h("i", {
          title: `${name}: ${span(seconds)}`,
          style: { width: `${(100 * seconds) / total}%`, background: `var(--series-${tints[name] ?? 5})` },
        }),
      ),
    );
    const rows = phases.map(([name, seconds]) =>
      h(
        "tr",
        {},
        h(
          "th",
          { scope: "row" },
          h("i", { class: "swatch", style: { background: `var(--series-${tints[name] ?? 5})` } }),
          name,
        ),
        h("td", { class: "soft" }, order[name] ?? "making proposals"),
        h("td", {}, span(seconds)),
        h("td", {}, percent(seconds / total)),
      ),
    );
    const groups = new Map();
    for (const [name, seconds] of phases) {
      const group = order[name] ?? "making proposals";
      groups.set(group, (groups.get(group) ?? 0) + seconds);
    }
    this.parts.times.replaceChildren(
      h(
        "p",
        { class: "about" },
        [...groups].map(([group, seconds]) => `${percent(seconds / total)} ${group}`).join(" · "),
      ),
      bar,
      h("table", { class: "plain" }, h("tbody", {}, rows)),
    );
  },

  make_workers() {
    const make = () => ({
      axes: ["seconds since the first evaluation", "at a time"],
      scales: { y: { range: (u, low, high) => [0, Math.max(this.facts.workers ?? 1, high ?? 1) + 0.4] } },
      yAxis: { incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500] },
      series: [
        {
          stroke: colour("series-3"),
          width: 1.4,
          fill: colour("series-3-soft"),
          paths: stepped(),
          points: { show: false },
        },
      ],
      tip: () => null,
    });
    this.parts.workers = new Chart(make, "Evaluations at a time", { height: 160 });
    this.parts.workersNote = h("p", { class: "about" });
    return panel(
      "Workers",
      { id: "workers" },
      this.parts.workersNote,
      this.parts.workers.box,
      h(
        "p",
        { class: "soft about" },
        "Counted from when a proposal is made until its outcome is known; one that is made ahead waits for a worker.",
      ),
    );
  },

  draw_workers() {
    const { started, ended, attempts } = this.course.columns;
    const changes = [];
    let busy = 0;
    const now = this.facts.standing === "live" ? Date.now() / 1000 : this.facts.updated;
    started.forEach((begin, i) => {
      if (begin === null || attempts[i] === 0) return;
      const end = ended[i] ?? Math.max(begin, now);
      changes.push([begin, 1], [end, -1]);
      busy += end - begin;
    });
    changes.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    if (!changes.length) return;
    const first = changes[0][0];
    const xs = [];
    const ys = [];
    let running = 0;
    let peak = 0;
    for (const [at, step] of changes) {
      running += step;
      peak = Math.max(peak, running);
      const x = at - first;
      if (xs.length && xs[xs.length - 1] === x) ys[ys.length - 1] = running;
      else {
        xs.push(x);
        ys.push(running);
      }
    }
    const wall = xs[xs.length - 1];
    const workers = this.facts.workers ?? peak;
    this.parts.workers.update([xs, ys]);
    const share = wall > 0 ? Math.min(1, busy / (wall * workers)) : 0;
    const words = `${plural(workers, "worker")}${this.facts.workers ? "" : " (the most seen at a time)"}, busy ${percent(share)} of ${span(wall)}.`;
    this.parts.workersNote.textContent = words;
    this.parts.workers.label(`Workers: ${words}`);
  },
};
