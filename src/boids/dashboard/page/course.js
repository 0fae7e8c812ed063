// The course of a run as the page knows it: columns by number of the trial, and what follows from them.

export class Course {
  constructor() {
    this.columns = {};
    this.length = 0;
    this.version = 0;
  }

  /** Take in what the server has sent: everything, or only what has changed. */
  take({ all, columns }) {
    if (all) {
      this.columns = {};
      this.length = 0;
    }
    for (const [name, values] of Object.entries(columns)) {
      const mine = (this.columns[name] ??= []);
      columns.number.forEach((number, place) => {
        mine[number] = values[place];
      });
    }
    this.length = this.columns.number.length;
    this.version += 1;
    this.derive();
  }

  /** Best so far, splits, restarts and counts. */
  derive() {
    const { state, value, feasible, dim, restarts } = this.columns;
    const n = this.length;
    this.best = new Array(n);
    this.improved = new Array(n);
    this.counts = { done: 0, failed: 0, pending: 0, infeasible: 0 };
    this.bestNumber = null;
    let best = null;
    for (let i = 0; i < n; i++) {
      this.counts[state[i]] += 1;
      const good = state[i] === "done" && feasible[i] !== false;
      if (state[i] === "done" && feasible[i] === false) this.counts.infeasible += 1;
      this.improved[i] = good && value[i] !== null && (best === null || value[i] < best);
      if (this.improved[i]) {
        best = value[i];
        this.bestNumber = i;
      }
      this.best[i] = best;
    }
    this.bestValue = best;
    this.changes = [];
    let last = null;
    for (let i = 0; i < n; i++) {
      if (dim[i] === null) continue;
      const now = { at: i, dim: dim[i], restarts: restarts[i] ?? 0 };
      if (last && now.restarts > last.restarts) this.changes.push({ ...now, kind: "restart" });
      else if (last && now.dim > last.dim) this.changes.push({ ...now, kind: "split" });
      if (!last || now.dim !== last.dim || now.restarts !== last.restarts) last = now;
    }
  }

  /** Whether a column has anything in it. */
  has(name) {
    return (this.columns[name] ?? []).some((value) => value !== null && value !== undefined);
  }

  /** Evaluations 1, 2, … */
  get numbers() {
    return Array.from({ length: this.length }, (_, i) => i + 1);
  }

  /** Seconds since the first evaluation was begun, when each ended. */
  get clock() {
    const { started, ended } = this.columns;
    const begin = started.length ? Math.min(...started.slice(0, 50).filter((t) => t !== null)) : 0;
    let latest = 0;
    return ended.map((end, i) => (latest = Math.max(latest, (end ?? started[i]) - begin)));
  }
}
