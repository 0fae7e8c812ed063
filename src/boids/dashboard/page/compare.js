// Several runs side by side: their best values so far in one picture, and a table.
import { Chart, DASHES, seriesColour, stepped } from "./charts.js";
import { axisChoices, count, h, number, panel, pill, span } from "./format.js";

export class CompareView {
  constructor(keys, courses, root) {
    this.keys = keys;
    this.courses = courses;
    this.facts = new Map();
    this.root = root;
    this.xBy = "evaluation";
    this.yBy = "linear";
    this.legend = h("div", { class: "legend many" });
    this.rows = h("tbody");
    this.note = h("p", { class: "soft about" });
    this.chart = new Chart(() => this.options(), "Best values so far", { height: 400 });
    const anew = () => {
      this.render();
      if (this.chart.plot) this.chart.build();
    };
    const tools = axisChoices(this, anew);
    const heading = ["Run", "Status", "Best", "Evaluations", "Failed", "Time"].map((name, k) =>
      h("th", { scope: "col", class: k > 1 ? "right" : "" }, name),
    );
    root.replaceChildren(
      h(
        "div",
        { class: "head" },
        h("p", { class: "back" }, h("a", { href: "#/" }, "← All runs")),
        h("h1", {}, `${keys.length} runs compared`),
      ),
      h(
        "div",
        { class: "panels" },
        panel("Best value so far", { wide: true, id: "comparison", tools }, this.legend, this.chart.box, this.note),
        panel(
          "The runs",
          { wide: true, id: "compared" },
          h(
            "div",
            { class: "scroll" },
            h("table", { class: "plain compared" }, h("thead", {}, h("tr", {}, heading)), this.rows),
          ),
        ),
      ),
    );
  }

  take(facts) {
    this.facts.set(facts.key, facts);
    this.render();
  }

  get log() {
    return this.yBy === "log" && this.keys.every((key) => !(this.courses.get(key)?.bestValue <= 0));
  }

  options() {
    const log = this.log;
    return {
      axes: [
        this.xBy === "time" ? "seconds since the first evaluation" : "evaluation",
        log ? "best value (log)" : "best value",
      ],
      scales: { y: { distr: log ? 3 : 1 } },
      series: this.keys.map((_, place) => ({
        stroke: seriesColour(place),
        width: 2,
        dash: DASHES[Math.floor(place / 4)],
        paths: stepped(),
        spanGaps: true,
        points: { show: false },
      })),
      tip: (i) => [
        `${this.xBy === "time" ? span(this.chart.data[0][i]) : `Evaluation ${count(this.chart.data[0][i])}`}`,
        ...this.keys
          .map((key, place) =>
            this.chart.data[place + 1][i] === null || this.chart.data[place + 1][i] === undefined
              ? null
              : `${this.name(key)}: ${number(this.chart.data[place + 1][i], 5)}`,
          )
          .filter(Boolean),
      ],
    };
  }

  name(key) {
    const facts = this.facts.get(key);
    if (!facts || facts.trouble) return key;
    const same =
      [...this.facts.values()].filter((other) => other.problem === facts.problem && other.method === facts.method)
        .length > 1;
    return `${facts.problem} · ${facts.method}${same ? ` · ${facts.kind === "store" ? facts.id.slice(-8) : facts.seed}` : ""}`;
  }

  render() {
    const known = this.keys.filter((key) => this.courses.get(key)?.length);
    const tables = this.keys.map((key) => {
      const course = this.courses.get(key);
      if (!course?.length) return [[], []];
      return [this.xBy === "time" ? course.clock : course.numbers, course.best];
    });
    if (known.length) this.chart.update(uPlot.join(tables.map(([xs, ys]) => distinct(xs, ys))));
    const problems = new Set([...this.facts.values()].map((facts) => `${facts.problem}, ${facts.dim}`));
    this.note.textContent = [
      problems.size > 1 ? "These runs are of different problems, so their values do not compare." : "",
      this.yBy === "log" && !this.log ? "A logarithmic axis needs values above 0." : "",
    ].join(" ");
    this.legend.replaceChildren(
      ...this.keys.map((key, place) =>
        h(
          "span",
          { class: "key" },
          h("i", { class: "mark line", style: { "--mark": seriesColour(place) } }),
          this.name(key),
        ),
      ),
    );
    this.rows.replaceChildren(
      ...this.keys.map((key, place) => {
        const facts = this.facts.get(key);
        if (!facts || facts.trouble) return h("tr", {}, h("td", { colspan: 6 }, facts?.trouble ?? "Loading …"));
        const times = Object.values(facts.times ?? {}).reduce((sum, seconds) => sum + (seconds ?? 0), 0);
        return h(
          "tr",
          {},
          h(
            "th",
            { scope: "row" },
            h("i", { class: "swatch", style: { background: seriesColour(place) } }),
            h("a", { href: `#/run/${key}` }, this.name(key)),
          ),
          h("td", {}, pill(facts.standing)),
          h("td", { class: "right" }, number(facts.best)),
          h("td", { class: "right" }, `${count(facts.evaluations)} of ${count(facts.budget)}`),
          h("td", { class: "right" }, count(facts.failed)),
          h("td", { class: "right" }, span(times)),
        );
      }),
    );
  }
}

/** uPlot joins tables whose x increase strictly: of several evaluations that ended at once the last one counts. */
function distinct(xs, ys) {
  const x = [];
  const y = [];
  xs.forEach((at, i) => {
    if (x.length && x[x.length - 1] === at) y[y.length - 1] = ys[i];
    else {
      x.push(at);
      y.push(ys[i]);
    }
  });
  return [x, y];
}
