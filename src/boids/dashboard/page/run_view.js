// One run: its head, and the panels that its method gives something to show in.
import { Chart, colour, crosses, noLine, stepped } from "./charts.js";
import { effortPanels } from "./effort_panels.js";
import { ago, axisChoices, count, fill, h, key, moment, number, panel, pill, plural, quantile, span } from "./format.js";
import { methodPanels } from "./method_panels.js";
import { ParameterPanels } from "./parameters.js";
import { TrialTable } from "./table.js";

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
    if (course.has("dim") && course.columns.phase.some((phase) => phase === "line"))
      shown.push("subspace", "patience", "lines", "rewards");
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
      this.head.replaceChildren(
        h(
          "div",
          { class: "empty" },
          h("h1", {}, "This run cannot be shown"),
          h("p", {}, facts.trouble),
          h("p", {}, h("a", { href: "#/" }, "All runs")),
        ),
      );
      this.panels.replaceChildren();
      this.layout = "";
      return;
    }
    const share = facts.budget ? Math.min(100, (100 * facts.evaluations) / facts.budget) : 0;
    const stat = (name, value, more, extra = "") =>
      h(
        "div",
        { class: `stat ${extra}` },
        h("dt", {}, name),
        h("dd", {}, value),
        more ? h("dd", { class: "soft" }, more) : null,
      );
    const failed = course.counts?.failed ?? facts.failed ?? 0;
    const times = Object.values(facts.times ?? {}).reduce((sum, seconds) => sum + (seconds ?? 0), 0);
    const since =
      course.bestNumber === undefined || course.bestNumber === null ? null : facts.evaluations - course.bestNumber - 1;
    const stats = [
      stat(
        facts.noisy ? "Best estimate" : "Best value",
        number(facts.best),
        facts.best === null
          ? "no success yet"
          : facts.feasible === false
            ? "breaks a constraint"
            : course.bestNumber === null || course.bestNumber === undefined
              ? ""
              : `evaluation ${count(course.bestNumber + 1)}${since > 0 ? `, ${count(since)} since` : ""}`,
        "main",
      ),
      stat(
        "Evaluations",
        `${count(facts.evaluations)}`,
        `of ${count(facts.budget)}${facts.pending > 0 ? `, ${count(facts.pending)} under way` : ""}`,
      ),
      stat(
        "Failed",
        count(failed),
        facts.repeated ? `${count(facts.repeated)} begun more than once` : "",
        failed ? "bad" : "",
      ),
      facts.constraints
        ? stat(
            "Feasible",
            count((course.counts?.done ?? 0) - (course.counts?.infeasible ?? 0)),
            `of ${count(course.counts?.done ?? 0)} successes`,
          )
        : null,
      stat("Time", span(times), facts.evaluations ? `${span(times / facts.evaluations)} per evaluation` : ""),
      stat("Last change", ago(facts.updated), moment(facts.updated)),
    ];
    fill(
      this.head,
      h("p", { class: "back" }, h("a", { href: "#/" }, "← All runs")),
      h("div", { class: "title" }, h("h1", {}, facts.problem), pill(facts.standing)),
      h(
        "p",
        { class: "soft" },
        `${facts.method} · ${plural(facts.dim, "parameter")} · ${facts.kind === "store" ? "seed" : "repetition"} ${facts.seed}`,
        h("br"),
        h("span", { class: "id" }, facts.id),
      ),
      facts.message
        ? h(
            "p",
            { class: facts.standing === "failed" ? "notice bad" : facts.standing === "stopped" ? "notice" : "soft" },
            facts.message,
          )
        : null,
      h(
        "div",
        {
          class: "meter big",
          role: "progressbar",
          "aria-valuemin": 0,
          "aria-valuemax": 100,
          "aria-valuenow": Math.round(share),
          "aria-label": "Evaluations made",
        },
        h("i", { style: { width: `${share}%` } }),
      ),
      h("dl", { class: "stats" }, stats),
    );
    if (!course.length) {
      this.panels.replaceChildren(
        h(
          "p",
          { class: "empty" },
          facts.standing === "live"
            ? "The first evaluation is under way; it will appear here by itself."
            : "No evaluation was begun in this run.",
        ),
      );
      this.layout = "";
    }
  }

  // ---------------------------------------------------------------------------------------------- convergence

  make_convergence() {
    const make = () => {
      const { course } = this;
      const c = course.columns;
      const point = (fill, stroke, size = 5) => ({
        paths: noLine,
        points: { show: true, size, fill, stroke, width: 1.2 },
      });
      const log = this.yBy === "log" && course.bestValue > 0;
      return {
        axes: [
          this.xBy === "time" ? "seconds since the first evaluation" : "evaluation",
          log ? "value (log)" : "value",
        ],
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
        tip: (i) =>
          [
            `Evaluation ${count(i + 1)}`,
            c.state[i] === "failed" ? "failed" : c.state[i] === "pending" ? "under way" : `value ${number(c.value[i])}`,
            c.state[i] === "done" && c.feasible[i] === false ? "breaks a constraint" : null,
            course.best[i] === null ? null : `best so far ${number(course.best[i])}`,
          ].filter(Boolean),
      };
    };
    const chart = new Chart(make, "Convergence", { height: 300 });
    this.parts.convergence = chart;
    const anew = () => {
      this.draw_convergence();
      if (chart.plot) chart.build();
    };
    const legend = h("div", { class: "legend" }, key("line", "best so far"), key("disc", "value"));
    this.parts.legend = legend;
    const tools = axisChoices(this, anew);
    this.parts.convergenceNote = h("p", { class: "soft about" });
    return panel(
      "Convergence",
      { wide: true, id: "convergence", legend: [legend], tools },
      chart.box,
      this.parts.convergenceNote,
    );
  }

  /** The values that matter: from the best to what is usual, so that a few very bad ones do not flatten the picture. */
  range(low, high, log) {
    const { course } = this;
    const known = `${course.version} ${log}`;
    if (this.ranged?.known !== known) this.ranged = { known, range: this.freshRange(low, high, log) }; // sorting takes time
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
    chart.label(
      `Convergence: best value ${number(course.bestValue)} after ${count(course.length)} evaluations, ${count(course.counts.failed)} failed.`,
    );
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
    ]
      .filter(Boolean)
      .join(" ");
  }

  // -------------------------------------------------------------------------------------- parameters and trials

  make_parameters() {
    return this.parameters.make();
  }
  draw_parameters() {
    this.parameters.refresh(this.facts);
  }
  make_table() {
    return this.table.make();
  }
  draw_table() {
    this.table.refresh(this.facts);
  }
}

Object.assign(RunView.prototype, methodPanels, effortPanels);
