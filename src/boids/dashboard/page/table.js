// The evaluations as a table of which only the rows in sight exist, and all of one evaluation in a dialog.
import { choice, count, fill, h, moment, number, panel, span } from "./format.js";

const ROW = 34;
const STATES = { done: "done", failed: "failed", pending: "under way" };

export class TrialTable {
  constructor(runKey, course) {
    this.key = runKey;
    this.course = course;
    this.parameters = null;
    this.by = "number";
    this.up = false;
    this.only = "all";
    this.active = 0;
    this.order = [];
  }

  make() {
    this.search = h("input", {
      type: "search",
      placeholder: "Search",
      "aria-label": "Search evaluations: number, state, phase, error",
      oninput: () => this.arrange(),
    });
    this.filter = choice(
      "Which evaluations",
      [
        ["all", "All"],
        ["better", "Improvements"],
        ["failed", "Failed"],
        ["infeasible", "Infeasible"],
      ],
      this.only,
      (value) => {
        this.only = value;
        this.arrange();
      },
    );
    this.headRow = h("div", { class: "row headings", role: "row" });
    this.body = h("div", { class: "rows", role: "rowgroup" });
    this.scroller = h(
      "div",
      {
        class: "scroller",
        role: "grid",
        tabindex: 0,
        "aria-label": "Evaluations; arrow keys move, Enter shows one",
        onscroll: () => this.paint(),
        onkeydown: (event) => this.keydown(event),
      },
      this.headRow,
      this.body,
    );
    this.summary = h("p", { class: "soft about", "aria-live": "polite" });
    return panel(
      "Evaluations",
      { wide: true, id: "evaluations", tools: [this.filter, this.search] },
      this.scroller,
      this.summary,
    );
  }

  /** Columns that this run has something for. */
  get fields() {
    const { course } = this;
    const c = course.columns;
    const state = (i) => (c.state[i] === "done" && c.feasible[i] === false ? "infeasible" : STATES[c.state[i]]);
    const fields = [
      { name: "number", title: "#", of: (i) => i, show: (i) => count(i + 1), size: "4.5rem", right: true },
      {
        name: "state",
        title: "State",
        of: state,
        show: (i) => h("span", { class: `state ${state(i).replace(" ", "-")}` }, state(i)),
        size: "6.6rem",
      },
      {
        name: "value",
        title: "Value",
        of: (i) => c.value[i],
        show: (i) => h("span", { class: course.improved[i] ? "better" : "" }, number(c.value[i])),
        size: "8rem",
        right: true,
      },
    ];
    if (this.facts?.constraints)
      fields.push({
        name: "worst",
        title: "Worst constraint",
        of: (i) => c.worst[i],
        show: (i) => number(c.worst[i], 4),
        size: "9rem",
        right: true,
      });
    if (course.has("phase"))
      fields.push({
        name: "phase",
        title: "Phase",
        of: (i) => c.phase[i],
        show: (i) => c.phase[i] ?? "–",
        size: "5.5rem",
        rest: true,
      });
    if (course.has("line"))
      fields.push({
        name: "line",
        title: "Line",
        of: (i) => c.line[i],
        show: (i) => (c.phase[i] === "line" ? String(c.line[i]) : "–"),
        size: "4rem",
        right: true,
        rest: true,
      });
    if (course.has("dim"))
      fields.push({
        name: "dim",
        title: "Subspace",
        of: (i) => c.dim[i],
        show: (i) => count(c.dim[i]),
        size: "6rem",
        right: true,
        rest: true,
      });
    fields.push({
      name: "seconds",
      title: "Time",
      of: (i) => (c.ended[i] === null ? null : c.ended[i] - c.started[i]),
      show: (i) => (c.ended[i] === null ? "–" : span(c.ended[i] - c.started[i])),
      size: "6rem",
      right: true,
      rest: true,
    });
    fields.push({
      name: "error",
      title: "Remark",
      of: (i) => c.error[i],
      show: (i) =>
        c.error[i] ?? (c.attempts[i] > 1 ? `begun ${c.attempts[i]} times` : c.attempts[i] === 0 ? "added" : ""),
      size: "minmax(8rem, 1fr)",
      rest: true,
    });
    return fields;
  }

  refresh(facts) {
    this.facts = facts;
    this.arrange();
  }

  /** Filter and sort, and paint what is in sight. */
  arrange() {
    const { course } = this;
    const c = course.columns;
    const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const fields = this.fields;
    const text = (i) =>
      `${i + 1} ${STATES[c.state[i]]} ${c.feasible[i] === false ? "infeasible" : ""} ${c.phase[i] ?? ""} ${c.error[i] ?? ""}`.toLowerCase();
    const kept = {
      all: () => true,
      better: (i) => course.improved[i],
      failed: (i) => c.state[i] === "failed",
      infeasible: (i) => c.feasible[i] === false,
    }[this.only];
    const order = [];
    for (let i = 0; i < course.length; i++) if (kept(i) && words.every((word) => text(i).includes(word))) order.push(i);
    const of = (fields.find((field) => field.name === this.by) ?? fields[0]).of;
    const sign = this.up ? 1 : -1;
    order.sort((a, b) => {
      const [x, y] = [of(a), of(b)];
      if (x === y) return b - a;
      if (x === null || x === undefined) return 1; // what is missing comes last, whichever way
      if (y === null || y === undefined) return -1;
      return (x < y ? -1 : 1) * sign;
    });
    this.order = order;
    this.active = Math.min(this.active, Math.max(0, order.length - 1));
    this.renderHeadings(fields);
    this.body.style.height = `${order.length * ROW}px`;
    this.scroller.setAttribute("aria-rowcount", order.length + 1);
    const all = order.length === course.length;
    this.summary.textContent = order.length
      ? `${all ? "" : `${count(order.length)} of `}${count(course.length)} evaluations. Click one, or press Enter on it, for its parameters.`
      : "No evaluation fits.";
    this.paint();
  }

  renderHeadings(fields) {
    this.scroller.style.setProperty("--columns", fields.map((field) => field.size).join(" "));
    this.scroller.style.setProperty(
      "--few",
      fields
        .filter((field) => !field.rest)
        .map((field) => (field.name === "number" ? "3.2rem" : "minmax(4.6rem, 1fr)"))
        .join(" "),
    );
    const state = JSON.stringify([this.by, this.up, fields.map((field) => field.name)]);
    if (this.headRow.dataset.state === state) return;
    this.headRow.dataset.state = state;
    this.headRow.replaceChildren(
      ...fields.map((field) =>
        h(
          "div",
          {
            role: "columnheader",
            class: `${field.right ? "right" : ""}${field.rest ? " rest" : ""}`,
            "aria-sort": field.name === this.by ? (this.up ? "ascending" : "descending") : "none",
          },
          h(
            "button",
            { type: "button", onclick: () => this.sortBy(field.name) },
            field.title,
            field.name === this.by ? h("span", { class: "arrow", "aria-hidden": "true" }, this.up ? " ↑" : " ↓") : null,
          ),
        ),
      ),
    );
  }

  sortBy(name) {
    this.up =
      this.by === name ? !this.up : name === "value" || name === "worst" || name === "state" || name === "phase";
    this.by = name;
    this.arrange();
    this.headRow.querySelector(`[aria-sort="ascending"] button, [aria-sort="descending"] button`)?.focus();
  }

  paint() {
    const top = this.scroller.scrollTop;
    const first = Math.max(0, Math.floor(top / ROW) - 4);
    const last = Math.min(this.order.length, first + Math.ceil(this.scroller.clientHeight / ROW) + 10);
    const fields = this.fields;
    const rows = [];
    for (let place = first; place < last; place++) {
      const i = this.order[place];
      rows.push(
        h(
          "div",
          {
            class: `row${place === this.active ? " active" : ""}`,
            role: "row",
            "aria-rowindex": place + 2,
            "data-number": i,
            style: { transform: `translateY(${place * ROW}px)` },
            onclick: () => {
              this.active = place;
              this.paint();
              this.show(i);
            },
          },
          fields.map((field) =>
            h(
              "div",
              { role: "gridcell", class: `${field.right ? "right" : ""}${field.rest ? " rest" : ""}` },
              field.show(i),
            ),
          ),
        ),
      );
    }
    this.body.replaceChildren(...rows);
  }

  keydown(event) {
    if (event.target !== this.scroller) return;
    const page = Math.max(1, Math.floor(this.scroller.clientHeight / ROW) - 2);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (event.key in steps) {
      event.preventDefault();
      this.active = Math.max(0, Math.min(this.order.length - 1, this.active + steps[event.key]));
      const top = this.active * ROW;
      const room = this.scroller.clientHeight - 2 * ROW;
      if (top < this.scroller.scrollTop) this.scroller.scrollTop = top;
      else if (top > this.scroller.scrollTop + room) this.scroller.scrollTop = top - room;
      this.paint();
    } else if (event.key === "Enter" && this.order.length) {
      event.preventDefault();
      this.show(this.order[this.active]);
    }
  }

  /** Show all of one evaluation. */
  async show(trial) {
    const dialog = document.getElementById("detail");
    const answer = await fetch(`api/runs/${this.key}/trials/${trial}`)
      .then((r) => r.json())
      .catch(() => ({ error: "The server does not answer." }));
    const close = h(
      "button",
      { type: "button", class: "close", "aria-label": "Close", onclick: () => dialog.close() },
      "×",
    );
    if (!answer.cells) {
      dialog.replaceChildren(
        close,
        h("h2", { id: "detail-title" }, "This evaluation cannot be shown"),
        h("p", {}, answer.error ?? ""),
      );
      if (!dialog.open) dialog.showModal();
      return;
    }
    const { cells } = answer;
    const pairs = [
      ["State", STATES[cells.state] + (cells.feasible === false ? ", breaks a constraint" : "")],
      ["Value", number(cells.value, 10)],
      answer.constraints
        ? [
            "Constraints",
            answer.constraints.map((each) => `${number(each, 5)}${each > 0 ? " (broken)" : ""}`).join(", "),
          ]
        : null,
      answer.noise_variance !== null ? ["Noise variance", number(answer.noise_variance)] : null,
      cells.phase ? ["Phase", cells.phase + (cells.phase === "line" ? `, line ${cells.line}` : "")] : null,
      cells.dim !== null ? ["Subspace", `${count(cells.dim)} dimensions`] : null,
      ["Begun", moment(cells.started)],
      cells.ended !== null ? ["Took", span(cells.ended - cells.started)] : null,
      cells.attempts > 1 ? ["Begun again", `${cells.attempts - 1}×`] : null,
    ].filter(Boolean);
    const ranks = this.parameters?.ranks ?? new Map();
    const list = h("div", { class: "values", tabindex: 0, role: "group", "aria-label": "Parameters" });
    const search = h("input", {
      type: "search",
      placeholder: "Search parameters",
      "aria-label": "Search parameters",
      oninput: () => listParameters(),
    });
    let order = ranks.size ? "importance" : "space";
    const listParameters = () => {
      const wanted = search.value.toLowerCase();
      const rows = answer.names
        .map((name, place) => [name, answer.values[place], ranks.get(name) ?? Infinity, place])
        .filter(([name]) => name.toLowerCase().includes(wanted));
      rows.sort((a, b) => (order === "importance" ? a[2] - b[2] || a[3] - b[3] : a[3] - b[3]));
      list.replaceChildren(
        ...rows.map(([name, value]) =>
          h(
            "div",
            {},
            h("span", {}, name),
            h("span", {}, typeof value === "number" ? number(value, 8) : String(value)),
          ),
        ),
      );
    };
    listParameters();
    fill(
      dialog,
      close,
      h("h2", { id: "detail-title" }, `Evaluation ${count(trial + 1)}`),
      answer.error ? h("pre", { class: "error" }, answer.error) : null,
      h(
        "dl",
        { class: "facts" },
        pairs.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))),
      ),
      h(
        "div",
        { class: "tools" },
        h("h3", {}, `${count(answer.names.length)} parameters`),
        choice(
          "Order of the parameters",
          [
            ["importance", "By importance"],
            ["space", "As in the space"],
          ],
          order,
          (value) => {
            order = value;
            listParameters();
          },
        ),
        search,
      ),
      list,
    );
    if (!dialog.open) dialog.showModal();
    close.focus();
  }
}
