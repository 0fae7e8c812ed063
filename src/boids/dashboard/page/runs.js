// The list of runs: search, sort, choose one to look at or several to compare, all of it with the keyboard, too.
import { ago, count, h, number, pill, plural } from "./format.js";

const MOST_ROWS = 200;
const MOST_COMPARED = 8;

export class RunList {
  /** `chosen(keys)` is told which runs are ticked for comparison. */
  constructor({ chosen }) {
    this.chosen = chosen;
    this.runs = new Map();
    this.ticked = new Set();
    this.current = null;
    this.shown = MOST_ROWS;
    this.items = new Map();
    this.list = document.getElementById("run-list");
    this.search = document.getElementById("run-search");
    this.sort = document.getElementById("run-sort");
    this.search.addEventListener("input", () => {
      this.shown = MOST_ROWS;
      this.render();
    });
    this.search.addEventListener("keydown", (event) => {
      if (event.key === "ArrowDown") this.move(event, 0);
    });
    this.sort.addEventListener("change", () => this.render());
    this.list.addEventListener("keydown", (event) => this.keydown(event));
    setInterval(() => this.render(), 10000); // "3 min ago" grows old
  }

  take({ all, runs, gone, remarks }) {
    if (all) this.runs.clear();
    for (const run of runs) this.runs.set(run.key, run);
    for (const key of gone) {
      this.runs.delete(key);
      this.ticked.delete(key);
    }
    const box = document.getElementById("remarks");
    box.replaceChildren(...remarks.map((remark) => h("p", { class: "notice", role: "alert" }, remark)));
    this.render();
  }

  /** The runs that fit the search, in order. */
  get found() {
    const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = (run) => {
      const text = `${run.id} ${run.problem} ${run.method} ${run.standing} ${run.dim} ${run.place}`.toLowerCase();
      return words.every((word) => text.includes(word));
    };
    const by = this.sort.value;
    const up = by === "best" || by === "problem" || by === "method";
    const value = (run) => run[by] ?? (up ? Infinity : -Infinity);
    const compare = (a, b) => (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : 0) * (up ? 1 : -1);
    const live = (run) => (by === "updated" && run.standing === "live" ? 0 : 1);
    return [...this.runs.values()]
      .filter(fits)
      .sort((a, b) => live(a) - live(b) || compare(a, b) || b.created - a.created);
  }

  /** The run to look at first: one that goes on, or the latest. */
  get newest() {
    const rank = (run) => (run.standing === "live" ? 1e12 : 0) + run.updated;
    return [...this.runs.values()].sort((a, b) => rank(b) - rank(a))[0]?.key ?? null;
  }

  render() {
    const found = this.found;
    const visible = found.slice(0, this.shown);
    const total = this.runs.size;
    const live = [...this.runs.values()].filter((run) => run.standing === "live").length;
    document.getElementById("run-count").textContent =
      total === 0
        ? ""
        : found.length < total
          ? `${count(found.length)} of ${plural(total, "run")}`
          : `${plural(total, "run")}, ${count(live)} live`;
    const focused = document.activeElement?.closest?.("#run-list li")?.dataset.key;
    const rows = visible.map((run) => this.item(run));
    if (found.length > visible.length) {
      rows.push(
        h(
          "li",
          { class: "more" },
          h(
            "button",
            {
              type: "button",
              onclick: () => {
                this.shown += MOST_ROWS;
                this.render();
              },
            },
            `Show ${Math.min(MOST_ROWS, found.length - visible.length)} more`,
          ),
        ),
      );
    }
    if (!found.length && total) rows.push(h("li", { class: "more soft" }, "No run fits the search."));
    const same = rows.length === this.list.children.length && rows.every((row, i) => row === this.list.children[i]);
    if (!same) {
      this.list.replaceChildren(...rows);
      if (focused) this.list.querySelector(`li[data-key="${focused}"] a`)?.focus({ preventScroll: true });
    }
    const first = this.list.querySelector("li.current a") ?? this.list.querySelector("li a");
    for (const link of this.list.querySelectorAll("li a")) link.tabIndex = link === first ? 0 : -1;
    this.renderBar();
  }

  /** The row of a run: made once, and only its words change. */
  item(run) {
    let row = this.items.get(run.key);
    if (!row) {
      const tick = h("input", {
        type: "checkbox",
        tabindex: -1,
        "aria-label": `Compare ${run.problem} ${run.method}`,
        onchange: () => this.tick(run.key),
      });
      row = h("li", { "data-key": run.key }, tick, h("a", { href: `#/run/${run.key}` }));
      this.items.set(run.key, row);
    }
    const state = JSON.stringify([run, ago(run.updated)]);
    if (row.dataset.state !== state) {
      row.dataset.state = state;
      const share = run.budget ? Math.min(100, (100 * run.evaluations) / run.budget) : 0;
      row
        .querySelector("a")
        .replaceChildren(
          h(
            "span",
            { class: "first" },
            h("strong", {}, run.problem),
            h("span", { class: "value" }, number(run.best, 5)),
          ),
          h(
            "span",
            { class: "second soft" },
            h("span", {}, `${run.method} · ${count(run.dim)} parameters`),
            pill(run.standing),
          ),
          h("span", { class: "meter", "aria-hidden": "true" }, h("i", { style: { width: `${share}%` } })),
          h(
            "span",
            { class: "second soft" },
            h(
              "span",
              {},
              `${count(run.evaluations)} of ${count(run.budget)}${run.failed ? `, ${count(run.failed)} failed` : ""}`,
            ),
            h("span", {}, ago(run.updated)),
          ),
        );
    }
    row.classList.toggle("current", run.key === this.current);
    row.querySelector("a").toggleAttribute("aria-current", run.key === this.current);
    row.querySelector("input").checked = this.ticked.has(run.key);
    return row;
  }

  tick(key) {
    if (this.ticked.has(key)) this.ticked.delete(key);
    else if (this.ticked.size < MOST_COMPARED) this.ticked.add(key);
    this.render();
    this.chosen([...this.ticked]);
  }

  setTicked(keys) {
    this.ticked = new Set(keys);
    this.render();
  }
  setCurrent(key) {
    this.current = key;
    this.render();
  }

  renderBar() {
    const bar = document.getElementById("compare-bar");
    const n = this.ticked.size;
    bar.hidden = n === 0;
    const link = document.getElementById("compare-link");
    link.textContent = n < 2 ? "Tick another run to compare" : `Compare ${n} runs`;
    link.href = n < 2 ? location.hash || "#/" : `#/compare/${[...this.ticked].join(",")}`;
    link.toggleAttribute("aria-disabled", n < 2);
  }

  keydown(event) {
    const links = [...this.list.querySelectorAll("li a")];
    const here = links.indexOf(document.activeElement?.closest?.("li")?.querySelector("a"));
    const steps = {
      ArrowDown: here + 1,
      ArrowUp: here - 1,
      Home: 0,
      End: links.length - 1,
      PageDown: here + 10,
      PageUp: here - 10,
    };
    if (event.key in steps) this.move(event, Math.max(0, Math.min(links.length - 1, steps[event.key])));
    else if (event.key === " " && document.activeElement.tagName === "A") {
      event.preventDefault();
      this.tick(document.activeElement.closest("li").dataset.key);
    }
  }

  move(event, place) {
    const links = [...this.list.querySelectorAll("li a")];
    if (!links[place]) return;
    event.preventDefault();
    for (const link of links) link.tabIndex = -1;
    links[place].tabIndex = 0;
    links[place].focus();
  }
}
