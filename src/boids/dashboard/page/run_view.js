// One run: its head, and the panels that its method gives something to show in.
import { Chart, colour, crosses, markers, noLine, stepped } from "./charts.js";
import { ago, choice, count, fill, h, key, moment, number, panel, percent, pill, plural, span } from "./format.js";
import { ParameterPanels } from "./parameters.js";
import { TrialTable } from "./table.js";

/** The value below which the share q of the numbers lies. */
function quantile(numbers, q) {
  const sorted = numbers.filter(Number.isFinite).sort((a, b) => a - b);
  return sorted.length ? sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] : null;
}

export class RunView {
  constructor(runKey, course, root) {
    this.key = runKey;
    this.course = course;
    this.facts = null;
    this.root = root;
    this.xBy = "evaluation";
    this.yBy = "linear";
    this.head = h("div", { class: "head" });
    this.panels = h("div", { class: "panels" });
    root.replaceChildren(this.head, this.panels);
    this.table = new TrialTable(runKey, course);
    this.parameters = new ParameterPanels(runKey, course, (trial) => this.table.show(trial));
    this.table.parameters = this.parameters;
    this.parts = null;
    this.layout = "";
  }

  take(facts) {
    this.facts = facts;
    this.render();
  }

  /** Bring everything up to date; panels are made when there is something to show in them for the first time. */
  render() {
    if (!this.facts) return;
    this.renderHead();
    if (this.facts.trouble || !this.course.length) return;
    const { course } = this;
    const shown = ["convergence"];
    if (course.has("dim") && course.columns.phase.some((phase) => phase === "line")) shown.push("subspace", "patience", "lines", "rewards");
    else if (course.has("dim")) shown.push("subspace");
    shown.push("parameters", "times", "workers", "table");
    const layout = shown.join();
    if (layout !== this.layout) {
      this.layout = layout;
      this.parts = {};
      this.panels.replaceChildren(...shown.flatMap((name) => this[`make_${name}`]()));
    }
    for (const name of shown) this[`draw_${name}`]();
  }

  renderHead() {
    const { facts, course } = this;
    if (facts.trouble) {
      this.head.replaceChildren(h("div", { class: "empty" }, h("h1", {}, "This run cannot be shown"), h("p", {}, facts.trouble),
        h("p", {}, h("a", { href: "#/" }, "All runs"))));
      this.panels.replaceChildren();
      this.layout = "";
      return;
    }
    const share = facts.budget ? Math.min(100, (100 * facts.evaluations) / facts.budget) : 0;
    const stat = (name, value, more, extra = "") => h("div", { class: `stat ${extra}` }, h("dt", {}, name), h("dd", {}, value), more ? h("dd", { class: "soft" }, more) : null);
    const failed = course.counts?.failed ?? facts.failed ?? 0;
    const times = Object.values(facts.times ?? {}).reduce((sum, seconds) => sum + (seconds ?? 0), 0);
    const since = course.bestNumber === undefined || course.bestNumber === null ? null : facts.evaluations - course.bestNumber - 1;
    const stats = [
      stat(facts.noisy ? "Best estimate" : "Best value", number(facts.best),
        facts.best === null ? "no success yet" : facts.feasible === false ? "breaks a constraint"
          : course.bestNumber === null || course.bestNumber === undefined ? "" : `evaluation ${count(course.bestNumber + 1)}${since > 0 ? `, ${count(since)} ago` : ""}`, "main"),
      stat("Evaluations", `${count(facts.evaluations)}`, `of ${count(facts.budget)}${facts.pending > 0 ? `, ${count(facts.pending)} under way` : ""}`),
      stat("Failed", count(failed), facts.repeated ? `${count(facts.repeated)} begun more than once` : "", failed ? "bad" : ""),
      facts.constraints ? stat("Feasible", count((course.counts?.done ?? 0) - (course.counts?.infeasible ?? 0)), `of ${count(course.counts?.done ?? 0)} successes`) : null,
      stat("Time", span(times), facts.evaluations ? `${span(times / facts.evaluations)} per evaluation` : ""),
      stat("Last change", ago(facts.updated), moment(facts.updated)),
    ];
    fill(this.head,
      h("p", { class: "back" }, h("a", { href: "#/" }, "← All runs")),
      h("div", { class: "title" }, h("h1", {}, facts.problem), pill(facts.standing)),
      h("p", { class: "soft" }, `${facts.method} · ${plural(facts.dim, "parameter")} · ${facts.kind === "store" ? "seed" : "repetition"} ${facts.seed}`, h("br"), h("span", { class: "id" }, facts.id)),
      facts.message ? h("p", { class: facts.standing === "failed" ? "notice bad" : facts.standing === "stopped" ? "notice" : "soft" }, facts.message) : null,
      h("div", { class: "meter big", role: "progressbar", "aria-valuemin": 0, "aria-valuemax": 100, "aria-valuenow": Math.round(share), "aria-label": "Evaluations made" }, h("i", { style: { width: `${share}%` } })),
      h("dl", { class: "stats" }, stats));
    if (!course.length) {
      this.panels.replaceChildren(h("p", { class: "empty" }, facts.standing === "live" ? "The first evaluation is under way; it will appear here by itself." : "No evaluation was begun in this run."));
      this.layout = "";
    }
  }

  // ---------------------------------------------------------------------------------------------- convergence

  make_convergence() {
    const make = () => {
      const { course } = this;
      const c = course.columns;
      const point = (fill, stroke, size = 5) => ({ paths: noLine, points: { show: true, size, fill, stroke, width: 1.2 } });
      const log = this.yBy === "log" && course.bestValue > 0;
      return {
        axes: [this.xBy === "time" ? "seconds since the first evaluation" : "evaluation", log ? "value (log)" : "value"],
        scales: { y: { distr: log ? 3 : 1, range: (u, low, high) => this.range(low, high, log) } },
        series: [
          { stroke: colour("series-1"), width: 2.2, paths: stepped(), points: { show: false } },
          { ...point(colour("dot"), colour("dot"), 4) },
          { ...point("transparent", colour("warn"), 6) },
        ],
        draw: (u) => {
          const xs = u.data[0].filter((_, i) => c.state[i] === "failed");
          crosses(u, xs, colour("bad"));
        },
        tip: (i) => [
          `Evaluation ${count(i + 1)}`,
          c.state[i] === "failed" ? "failed" : c.state[i] === "pending" ? "under way" : `value ${number(c.value[i])}`,
          c.state[i] === "done" && c.feasible[i] === false ? "breaks a constraint" : null,
          course.best[i] === null ? null : `best so far ${number(course.best[i])}`,
        ].filter(Boolean),
      };
    };
    const chart = new Chart(make, "Convergence", { height: 300 });
    this.parts.convergence = chart;
    const anew = () => { this.draw_convergence(); if (chart.plot) chart.build(); };
    const legend = h("div", { class: "legend" }, key("line", "best so far"), key("disc", "value"));
    this.parts.legend = legend;
    const tools = [
      choice("Horizontal axis", [["evaluation", "Evaluations"], ["time", "Time"]], this.xBy, (value) => { this.xBy = value; anew(); }),
      choice("Vertical axis", [["linear", "Linear"], ["log", "Log"]], this.yBy, (value) => { this.yBy = value; anew(); }),
    ];
    this.parts.convergenceNote = h("p", { class: "soft about" });
    return panel("Convergence", { wide: true, id: "convergence", legend: [legend], tools }, chart.box, this.parts.convergenceNote);
  }

  /** The values that matter: from the best to what is usual, so that a few very bad ones do not flatten the picture. */
  range(low, high, log) {
    const { course } = this;
    const known = `${course.version} ${log}`;
    if (this.ranged?.known !== known) this.ranged = { known, range: this.freshRange(low, high, log) };  // sorting takes time
    return this.ranged.range;
  }

  freshRange(low, high, log) {
    const { course } = this;
    if (course.bestValue === null) return low === null ? [0, 1] : log ? [low, high] : [low - 1, high + 1];
    const values = course.columns.value.filter((value) => value !== null);
    const first = course.best.find((value) => value !== null);
    let top = Math.max(first, quantile(values, 0.95));
    const bottom = Math.min(course.bestValue, quantile(values, 0.0));
    if (log && bottom > 0) return [bottom / 1.3, Math.max(top, bottom * 2) * 1.3];
    if (top <= bottom) top = bottom + Math.max(1e-9, Math.abs(bottom) * 0.1);
    return [bottom - 0.09 * (top - bottom), top + 0.05 * (top - bottom)];
  }

  draw_convergence() {
    const { course } = this;
    const c = course.columns;
    const xs = this.xBy === "time" ? course.clock : course.numbers;
    const good = c.value.map((value, i) => (c.state[i] === "done" && c.feasible[i] !== false ? value : null));
    const broken = c.value.map((value, i) => (c.state[i] === "done" && c.feasible[i] === false ? value : null));
    const chart = this.parts.convergence;
    chart.update([xs, course.best, good, broken]);
    chart.label(`Convergence: best value ${number(course.bestValue)} after ${count(course.length)} evaluations, ${count(course.counts.failed)} failed.`);
    const marks = [key("line", "best so far"), key("disc", "value")];
    if (course.counts.infeasible) marks.push(key("ring", "breaks a constraint"));
    if (course.counts.failed) marks.push(key("cross", "failed"));
    this.parts.legend.replaceChildren(...marks);
    const log = this.yBy === "log" && !(course.bestValue > 0);
    const top = course.bestValue === null ? Infinity : this.range(null, null, false)[1];
    const above = c.value.reduce((sum, value) => sum + (value !== null && value > top), 0);
    this.parts.convergenceNote.textContent = [
      log ? "A logarithmic axis needs values above 0." : "",
      above ? `${plural(above, "value")} above the picture.` : "",
    ].filter(Boolean).join(" ");
  }

  // ------------------------------------------------------------------------------------------- the method's own

  make_subspace() {
    const make = () => ({
      axes: ["evaluation", "dimensions"],
      scales: { y: { distr: 3, log: 2, range: (u, low, high) => [Math.max(1, low / 1.5), Math.max(low * 2, high) * 1.6] } },
      yAxis: { splits: (u, axis, low, high) => [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384].filter((s) => s >= low && s <= high), filter: (u, splits) => splits },
      series: [{ stroke: colour("series-3"), width: 2.2, fill: colour("series-3-soft"), paths: stepped(), points: { show: false } }],
      draw: (u) => markers(u, this.course.changes.map((change) => ({
        at: change.at + 1, text: change.kind === "restart" ? "restart" : String(change.dim), dash: change.kind === "split",
      })), colour("soft"), colour("ink")),
      tip: (i) => [`Evaluation ${count(i + 1)}`, `${count(this.course.columns.dim[i])} dimensions`],
    });
    this.parts.subspace = new Chart(make, "Dimensions of the subspace", { sync: `run-${this.key}` });
    this.parts.subspaceNote = h("p", { class: "soft about" });
    return panel("Subspace", { id: "subspace" }, this.parts.subspace.box, this.parts.subspaceNote);
  }

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
  }

  make_patience() {
    const make = () => ({
      axes: ["evaluation", "K"],
      scales: { y: { range: (u, low, high) => [0, Math.max(4, (high ?? 0) + 1)] } },
      series: [{ stroke: colour("series-2"), width: 2, paths: stepped(), points: { show: false } }],
      draw: (u) => markers(u, this.course.changes.map((change) => ({ at: change.at + 1, dash: change.kind === "split" })), colour("soft"), colour("ink")),
      tip: (i) => [`Evaluation ${count(i + 1)}`, `K = ${this.course.columns.K[i] ?? "–"}`],
    });
    this.parts.patience = new Chart(make, "Termination factor K", { sync: `run-${this.key}`, height: 190 });
    this.parts.counters = h("dl", { class: "counters" });
    return panel("Patience", { id: "patience", about: "K grows with failures to improve and falls with successes; past its maximum the subspace is split." },
      this.parts.patience.box, this.parts.counters);
  }

  draw_patience() {
    this.parts.patience.update([this.course.numbers, this.course.columns.K]);
    const said = this.facts.diagnostics ?? {};
    const pairs = [["K now", said.K], ["successes in a row", said.successes], ["failures in a row", said.failures], ["failures that raise K", said.failure_tolerance], ["restarts", said.restarts]];
    this.parts.counters.replaceChildren(...pairs.filter(([, value]) => value !== undefined)
      .map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, count(value)))));
  }

  make_lines() {
    const make = () => ({
      axes: ["evaluation", "line"],
      scales: { y: { range: (u, low, high) => [-0.5, Math.max(4, (high ?? 0)) + 0.5] } },
      series: [
        { paths: noLine, points: { show: true, size: 6, fill: colour("series-1"), stroke: colour("series-1") } },
        { paths: noLine, points: { show: true, size: 7, fill: colour("series-2"), stroke: colour("series-2") } },
      ],
      draw: (u) => markers(u, this.course.changes.map((change) => ({ at: change.at + 1, dash: change.kind === "split" })), colour("line"), colour("ink")),
      tip: (i) => (this.course.columns.phase[i] !== "line" ? null : [`Evaluation ${count(i + 1)}`, `line ${this.course.columns.line[i]}`, `reward ${number(this.course.columns.reward[i], 4)}`]),
    });
    this.parts.lines = new Chart(make, "Lines that the bandit picked", { sync: `run-${this.key}` });
    this.parts.linesNote = h("p", { class: "soft about" });
    return panel("Lines picked", { id: "lines", legend: [key("disc one", "picked"), key("disc two", "and improved the best")] }, this.parts.lines.box, this.parts.linesNote);
  }

  draw_lines() {
    const { course } = this;
    const { line, phase } = course.columns;
    const picked = line.map((value, i) => (phase[i] === "line" && !course.improved[i] ? value : null));
    const better = line.map((value, i) => (phase[i] === "line" && course.improved[i] ? value : null));
    this.parts.lines.update([course.numbers, picked, better]);
    const tally = new Map();
    line.forEach((value, i) => { if (phase[i] === "line") tally.set(value, (tally.get(value) ?? 0) + 1); });
    const most = [...tally].sort((a, b) => b[1] - a[1]).slice(0, 3);
    this.parts.linesNote.textContent = most.length ? `Most often: ${most.map(([each, n]) => `line ${each} (${n}×)`).join(", ")}; ${plural(tally.size, "line")} of ${this.facts.diagnostics?.line_moves?.length ?? "them"} picked.` : "Lines are picked when the initial design has been evaluated.";
  }

  make_rewards() {
    const make = () => ({
      axes: ["evaluation", "reward"],
      scales: { y: { range: (u, low, high) => { const rewards = this.course.columns.reward.filter((r) => r !== null); const a = quantile(rewards, 0) ?? 0; const b = quantile(rewards, 0.99) ?? 1; const room = 0.08 * (b - a || 1); return [a - room, b + room]; } } },
      series: [
        { stroke: colour("series-6"), width: 1.2, spanGaps: false, points: { show: true, size: 4, fill: colour("series-6"), stroke: colour("series-6") } },
      ],
      draw: (u) => markers(u, this.course.changes.map((change) => ({ at: change.at + 1, dash: change.kind === "split" })), colour("line"), colour("ink")),
      tip: (i) => (this.course.columns.reward[i] === null ? null : [`Evaluation ${count(i + 1)}`, `reward ${number(this.course.columns.reward[i], 4)} of line ${this.course.columns.line[i]}`]),
    });
    this.parts.rewards = new Chart(make, "Rewards of the lines that were picked", { sync: `run-${this.key}`, height: 190 });
    return panel("Rewards", { id: "rewards", about: "What the drawn function promised on the picked line, in standard deviations of the values: higher is more promising." }, this.parts.rewards.box);
  }

  draw_rewards() { this.parts.rewards.update([this.course.numbers, this.course.columns.reward]); }

  // ---------------------------------------------------------------------------------- parameters, times, workers

  make_parameters() { return this.parameters.make(); }
  draw_parameters() { this.parameters.refresh(this.facts); }

  make_times() {
    this.parts.times = h("div", { class: "split" });
    return panel("Where the time goes", { id: "times" }, this.parts.times);
  }

  draw_times() {
    const order = { fit: "making proposals", select: "making proposals", optimise: "making proposals", lift: "making proposals", evaluate: "evaluating", other: "telling and the rest" };
    const tints = { fit: 1, select: 6, optimise: 4, lift: 8, evaluate: 3, other: 8 };
    const phases = Object.entries(this.facts.times ?? {}).filter(([, seconds]) => seconds > 0);
    phases.sort(([a], [b]) => Object.keys(order).indexOf(a) - Object.keys(order).indexOf(b));
    const total = phases.reduce((sum, [, seconds]) => sum + seconds, 0);
    if (!total) { this.parts.times.replaceChildren(h("p", { class: "soft" }, "No times have been recorded yet.")); return; }
    const bar = h("div", { class: "stack", role: "img", "aria-label": phases.map(([name, s]) => `${name} ${Math.round((100 * s) / total)} percent`).join(", ") },
      phases.map(([name, seconds]) => h("i", { title: `${name}: ${span(seconds)}`, style: { width: `${(100 * seconds) / total}%`, background: `var(--series-${tints[name] ?? 5})` } })));
    const rows = phases.map(([name, seconds]) => h("tr", {},
      h("th", { scope: "row" }, h("i", { class: "swatch", style: { background: `var(--series-${tints[name] ?? 5})` } }), name),
      h("td", { class: "soft" }, order[name] ?? "making proposals"), h("td", {}, span(seconds)), h("td", {}, percent(seconds / total))));
    const groups = new Map();
    for (const [name, seconds] of phases) { const group = order[name] ?? "making proposals"; groups.set(group, (groups.get(group) ?? 0) + seconds); }
    this.parts.times.replaceChildren(
      h("p", { class: "about" }, [...groups].map(([group, seconds]) => `${percent(seconds / total)} ${group}`).join(" · ")),
      bar, h("table", { class: "plain" }, h("tbody", {}, rows)));
  }

  make_workers() {
    const make = () => ({
      axes: ["seconds since the first evaluation", "at a time"],
      scales: { y: { range: (u, low, high) => [0, Math.max(this.facts.workers ?? 1, high ?? 1) + 0.4] } },
      yAxis: { incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500] },
      series: [{ stroke: colour("series-3"), width: 1.4, fill: colour("series-3-soft"), paths: stepped(), points: { show: false } }],
      tip: () => null,
    });
    this.parts.workers = new Chart(make, "Evaluations at a time", { height: 160 });
    this.parts.workersNote = h("p", { class: "about" });
    return panel("Workers", { id: "workers" }, this.parts.workersNote, this.parts.workers.box,
      h("p", { class: "soft about" }, "Counted from when a proposal is made until its outcome is known; one that is made ahead waits for a worker."));
  }

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
      else { xs.push(x); ys.push(running); }
    }
    const wall = xs[xs.length - 1];
    const workers = this.facts.workers ?? peak;
    this.parts.workers.update([xs, ys]);
    const share = wall > 0 ? Math.min(1, busy / (wall * workers)) : 0;
    const words = `${plural(workers, "worker")}${this.facts.workers ? "" : " (the most seen at a time)"}, busy ${percent(share)} of ${span(wall)}.`;
    this.parts.workersNote.textContent = words;
    this.parts.workers.label(`Workers: ${words}`);
  }

  make_table() { return this.table.make(); }
  draw_table() { this.table.refresh(this.facts); }
}
