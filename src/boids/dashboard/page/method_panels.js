// What BOIDS does, as it records it: the subspace, its patience, the lines it picks, and what they promise.
// Methods of `RunView`: make_… makes a panel once, draw_… brings it up to date.
import { Chart, colour, markers, noLine, stepped } from "./charts.js";
import { count, h, key, number, panel, plural, quantile } from "./format.js";

/** Draw a line where the subspace was split, or the run begun anew. */
function changesOf(course, u, stroke) {
  const marks = course.changes.map((change) => ({ at: change.at + 1, dash: change.kind === "split" }));
  markers(u, marks, colour(stroke), colour("ink"));
}

export const methodPanels = {
  make_subspace() {
    const make = () => ({
      axes: ["evaluation", "dimensions"],
      scales: {
        y: { distr: 3, log: 2, range: (u, low, high) => [Math.max(1, low / 1.5), Math.max(low * 2, high) * 1.6] },
      },
      yAxis: {
        splits: (u, axis, low, high) =>
          [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384].filter((s) => s >= low && s <= high),
        filter: (u, splits) => splits,
      },
      series: [
        {
          stroke: colour("series-3"),
          width: 2.2,
          fill: colour("series-3-soft"),
          paths: stepped(),
          points: { show: false },
        },
      ],
      draw: (u) =>
        markers(
          u,
          this.course.changes.map((change) => ({
            at: change.at + 1,
            text: change.kind === "restart" ? "restart" : String(change.dim),
            dash: change.kind === "split",
          })),
          colour("soft"),
          colour("ink"),
        ),
      tip: (i) => [`Evaluation ${count(i + 1)}`, `${count(this.course.columns.dim[i])} dimensions`],
    });
    this.parts.subspace = new Chart(make, "Dimensions of the subspace", { sync: `run-${this.key}` });
    this.parts.subspaceNote = h("p", { class: "soft about" });
    return panel("Subspace", { id: "subspace" }, this.parts.subspace.box, this.parts.subspaceNote);
  },

  draw_subspace() {
    const { course } = this;
    const dims = course.columns.dim;
    this.parts.subspace.update([course.numbers, dims]);
    const splits = course.changes.filter((change) => change.kind === "split").length;
    const restarts = course.changes.length - splits;
    const now = [...dims].reverse().find((value) => value !== null);
    const words = `${count(now)} of ${count(this.facts.dim)} dimensions after ${plural(splits, "split")}${restarts ? ` and ${plural(restarts, "restart")}` : ""}.`;
    this.parts.subspaceNote.textContent = words;
    this.parts.subspace.label(`Subspace: ${words}`);
  },

  make_patience() {
    const make = () => ({
      axes: ["evaluation", "K"],
      scales: { y: { range: (u, low, high) => [0, Math.max(4, (high ?? 0) + 1)] } },
      series: [{ stroke: colour("series-2"), width: 2, paths: stepped(), points: { show: false } }],
      draw: (u) => changesOf(this.course, u, "soft"),
      tip: (i) => [`Evaluation ${count(i + 1)}`, `K = ${this.course.columns.K[i] ?? "–"}`],
    });
    this.parts.patience = new Chart(make, "Termination factor K", { sync: `run-${this.key}`, height: 190 });
    this.parts.counters = h("dl", { class: "counters" });
    return panel(
      "Patience",
      {
        id: "patience",
        about:
          "K grows with failures to improve and falls with successes, which are gains of a thousandth at least; past its maximum the subspace is split.",
      },
      this.parts.patience.box,
      this.parts.counters,
    );
  },

  draw_patience() {
    this.parts.patience.update([this.course.numbers, this.course.columns.K]);
    const said = this.facts.diagnostics ?? {};
    const pairs = [
      ["K now", said.K],
      ["successes in a row", said.successes],
      ["failures in a row", said.failures],
      ["failures that raise K", said.failure_tolerance],
      ["restarts", said.restarts],
    ];
    this.parts.counters.replaceChildren(
      ...pairs
        .filter(([, value]) => value !== undefined)
        .map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, count(value)))),
    );
  },

  make_lines() {
    const make = () => ({
      axes: ["evaluation", "line"],
      scales: { y: { range: (u, low, high) => [-0.5, Math.max(4, high ?? 0) + 0.5] } },
      series: [
        { paths: noLine, points: { show: true, size: 6, fill: colour("series-1"), stroke: colour("series-1") } },
        { paths: noLine, points: { show: true, size: 7, fill: colour("series-2"), stroke: colour("series-2") } },
      ],
      draw: (u) => changesOf(this.course, u, "line"),
      tip: (i) =>
        this.course.columns.phase[i] !== "line"
          ? null
          : [
              `Evaluation ${count(i + 1)}`,
              `line ${this.course.columns.line[i]}`,
              `reward ${number(this.course.columns.reward[i], 4)}`,
            ],
    });
    this.parts.lines = new Chart(make, "Lines that the bandit picked", { sync: `run-${this.key}` });
    this.parts.linesNote = h("p", { class: "soft about" });
    return panel(
      "Lines picked",
      { id: "lines", legend: [key("disc one", "picked"), key("disc two", "and improved the best")] },
      this.parts.lines.box,
      this.parts.linesNote,
    );
  },

  draw_lines() {
    const { course } = this;
    const { line, phase } = course.columns;
    const picked = line.map((value, i) => (phase[i] === "line" && !course.improved[i] ? value : null));
    const better = line.map((value, i) => (phase[i] === "line" && course.improved[i] ? value : null));
    this.parts.lines.update([course.numbers, picked, better]);
    const tally = new Map();
    line.forEach((value, i) => {
      if (phase[i] === "line") tally.set(value, (tally.get(value) ?? 0) + 1);
    });
    const lines = this.facts.diagnostics?.line_moves?.length;
    const most = [...tally].sort((a, b) => b[1] - a[1]).slice(0, 3);
    this.parts.linesNote.textContent = most.length
      ? `Most often: ${most.map(([each, n]) => `line ${each} (${n}×)`).join(", ")}; ${plural(tally.size, "line")}${lines ? ` of ${lines}` : ""} picked.`
      : "Lines are picked when the initial design has been evaluated.";
  },

  make_rewards() {
    const make = () => ({
      axes: ["evaluation", "reward"],
      scales: {
        y: {
          range: (u, low, high) => {
            const rewards = this.course.columns.reward.filter((r) => r !== null);
            const a = quantile(rewards, 0) ?? 0;
            const b = quantile(rewards, 0.99) ?? 1;
            const room = 0.08 * (b - a || 1);
            return [a - room, b + room];
          },
        },
      },
      series: [
        {
          stroke: colour("series-6"),
          width: 1.2,
          spanGaps: false,
          points: { show: true, size: 4, fill: colour("series-6"), stroke: colour("series-6") },
        },
      ],
      draw: (u) => changesOf(this.course, u, "line"),
      tip: (i) =>
        this.course.columns.reward[i] === null
          ? null
          : [
              `Evaluation ${count(i + 1)}`,
              `reward ${number(this.course.columns.reward[i], 4)} of line ${this.course.columns.line[i]}`,
            ],
    });
    this.parts.rewards = new Chart(make, "Rewards of the lines that were picked", {
      sync: `run-${this.key}`,
      height: 190,
    });
    return panel(
      "Rewards",
      {
        id: "rewards",
        about:
          "How far below the usual value, in standard deviations, the drawn function goes on the picked line: higher is more promising.",
      },
      this.parts.rewards.box,
    );
  },

  draw_rewards() {
    this.parts.rewards.update([this.course.numbers, this.course.columns.reward]);
  },
};
