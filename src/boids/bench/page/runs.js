// All runs: searched, sorted, opened one by one.

const PAGE = 60;
const STATES = { done: "status-done", short: "status-done", unfinished: "status-unfinished", broken: "status-broken" };
const COLUMNS = [
  ["Problem", "problem", "text"],
  ["Method", "method", "text"],
  ["No.", "repetition"],
  ["Best", "best"],
  ["Evaluations", "evaluations"],
  ["Status", "status", "text"],
  ["Own time per evaluation", "own"],
  ["Whole time", "seconds"],
];

function runsSection() {
  const runs = data.runs,
    shown = { limit: PAGE, key: null, ascending: true, words: [] };
  const haystack = runs.map((run) =>
    [run.problem, run.method, `#${run.repetition}`, run.status, run.error, run.path].join(" ").toLowerCase(),
  );
  const heads = COLUMNS.map(([label, key, kind]) =>
    element(
      "th",
      { scope: "col", class: kind ?? null },
      element(
        "button",
        {
          type: "button",
          class: "sort",
          onclick: () => {
            shown.ascending = shown.key === key ? !shown.ascending : true;
            shown.key = key;
            heads.forEach((head, i) =>
              COLUMNS[i][1] === key
                ? head.setAttribute("aria-sort", shown.ascending ? "ascending" : "descending")
                : head.removeAttribute("aria-sort"),
            );
            draw();
          },
        },
        label,
      ),
    ),
  );
  const body = element("tbody");
  byId("runs-table").append(element("table", {}, element("thead", {}, row(...heads)), body));
  byId("run-search").addEventListener("input", (event) => {
    shown.words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
    shown.limit = PAGE;
    draw();
  });
  byId("more-runs").addEventListener("click", () => {
    shown.limit += 5 * PAGE;
    draw();
  });

  function draw() {
    let places = runs.map((_, i) => i).filter((i) => shown.words.every((word) => haystack[i].includes(word)));
    if (shown.key) {
      const sign = shown.ascending ? 1 : -1,
        key = shown.key;
      places.sort((a, b) => {
        const [x, y] = [runs[a][key], runs[b][key]];
        if (x === null || y === null) return (x === null) - (y === null) || a - b; // what is missing comes last
        return sign * (typeof x === "string" ? x.localeCompare(y, undefined, { numeric: true }) : x - y) || a - b;
      });
    }
    byId("run-count").textContent =
      places.length === runs.length ? plural(runs.length, "run") : `${places.length} of ${plural(runs.length, "run")}`;
    byId("more-runs").hidden = places.length <= shown.limit;
    body.replaceChildren(...places.slice(0, shown.limit).map((i) => runRow(runs[i])));
  }
  draw();
}

function runRow(run) {
  const button = element("button", {
    type: "button",
    class: "open",
    "aria-expanded": "false",
    "aria-label": `Details of ${run.problem}, ${run.method}, repetition ${run.repetition}`,
  });
  const method = data.methods.indexOf(run.method);
  const made = element(
    "tr",
    {},
    element("td", {}, button, run.problem),
    element("td", { class: "text" }, swatch(method), run.method),
    element("td", {}, String(run.repetition)),
    element("td", {}, number(run.best, 6)),
    element("td", {}, run.evaluations === run.budget ? String(run.budget) : `${run.evaluations} / ${run.budget}`),
    element("td", { class: `text ${STATES[run.state]}` }, run.status),
    element("td", {}, duration(run.own)),
    element("td", {}, duration(run.seconds)),
  );
  let details = null;
  button.addEventListener("click", () => {
    const isOpen = details !== null;
    button.setAttribute("aria-expanded", String(!isOpen));
    if (isOpen) {
      details.remove();
      details = null;
      return;
    }
    details = element("tr", { class: "details" }, element("td", { colspan: COLUMNS.length }, runDetails(run, method)));
    made.after(details);
  });
  return made;
}

function facts(pairs) {
  return element(
    "dl",
    {},
    ...pairs
      .filter(([, value]) => value !== null && value !== undefined && value !== "")
      .flatMap(([name, value]) => [
        element("dt", {}, name),
        element("dd", {}, value instanceof Node ? value : String(value)),
      ]),
  );
}

function plain(value) {
  if (value === null || value === undefined) return "";
  if (Array.isArray(value)) return value.map(plain).join(", ");
  if (typeof value === "object")
    return Object.entries(value)
      .map(([key, inner]) => `${key} ${plain(inner)}`)
      .join(", ");
  return String(value);
}

function runDetails(run, method) {
  const environment = data.pool[run.environment] ?? {},
    settings = data.pool[run.settings],
    options = data.pool[run.problem_options];
  const inside = element("div", { class: "inside" });
  if (run.error) inside.append(element("p", { class: "bad" }, run.error));
  if (run.traceback) inside.append(element("pre", { tabindex: 0 }, run.traceback));
  const total = Object.values(run.times).reduce((a, b) => a + (b ?? 0), 0);
  inside.append(
    element(
      "div",
      { class: "pair" },
      element(
        "div",
        {},
        facts([
          ["End", run.message],
          ["Best value", number(run.best, 8)],
          ["Optimum", isNumber(run.optimum) ? number(run.optimum, 8) : null],
          ["Failed evaluations", run.failed || null],
          ["Infeasible evaluations", run.infeasible || null],
          ["Seed", plain(run.seed)],
          ["Instance's seed", plain(run.problem_seed)],
          ["Time limit", isNumber(run.time_limit) ? duration(run.time_limit) : null],
          ["Goes", run.sessions > 1 ? run.sessions : null],
          ["File", run.path],
        ]),
        sparkline(run, method),
      ),
      element(
        "div",
        {},
        facts([
          ...Object.entries(run.times)
            .filter(([, seconds]) => seconds)
            .map(([phase, seconds]) => [
              `Time: ${phase}`,
              `${duration(seconds)} (${((100 * seconds) / total).toFixed(0)} %)`,
            ]),
          ["Processor time", isNumber(run.cpu) ? duration(run.cpu) : null],
        ...Object.entries(environment).map(([name, value]) => [name[0].toUpperCase() + name.slice(1), plain(value)]),
        ]),
      ),
    ),
  );
  if (run.failures.length)
    inside.append(
      element("p", {}, "Why evaluations failed:"),
      element("pre", { tabindex: 0 }, run.failures.map(([text, count]) => `${count} × ${text}`).join("\n")),
    );
  for (const [name, value] of [
    ["Settings of the method", settings],
    ["Options of the problem", options],
  ])
    if (value && Object.keys(value).length)
      inside.append(
        element(
          "details",
          {},
          element("summary", {}, name),
          element("pre", { tabindex: 0 }, JSON.stringify(value, null, 1)),
        ),
      );
  return inside;
}

function sparkline(run, method) {
  const points = run.n.map((n, i) => [n, run.curve[i]]).filter(([, value]) => isNumber(value));
  if (points.length < 2) return null;
  const [width, height] = [340, 90],
    last = points.at(-1)[0];
  const low = points.at(-1)[1],
    high = points[0][1];
  const picture = shape("svg", {
    viewBox: `0 0 ${width} ${height}`,
    role: "img",
    "aria-label": "Best value so far of this run",
  });
  picture.style.maxWidth = "26rem";
  const x = (n) => 4 + ((width - 12) * n) / last,
    y = (value) => 6 + (height - 24) * (1 - (value - low) / (high - low || 1));
  picture.append(
    shape("line", { class: "axis", x1: 4, x2: width - 8, y1: height - 15, y2: height - 15 }),
    styled(
      shape("path", {
        class: "curve",
        d: "M" + points.map(([n, value]) => `${x(n).toFixed(1)} ${y(value).toFixed(1)}`).join("L"),
      }),
      method,
    ),
    shape("text", { x: width - 8, y: height - 2, "text-anchor": "end" }, `${last} evaluations`),
    shape("text", { x: x(points[0][0]) + 8, y: 12 }, number(high)),
  );
  return picture;
}

// The section that is being read is marked in the list of sections.
function followSections() {
  const links = [...document.querySelectorAll("nav a")];
  const watcher = new IntersectionObserver(
    (entries) => {
      for (const entry of entries)
        if (entry.isIntersecting)
          for (const link of links) link.classList.toggle("here", link.getAttribute("href") === `#${entry.target.id}`);
    },
    { rootMargin: "-20% 0px -70% 0px" },
  );
  for (const section of document.querySelectorAll("main > section")) watcher.observe(section);
}

curvesSection();
finalsSection();
ranksSection();
testsSection();
profilesSection();
timesSection();
coverageSection();
runsSection();
followSections();
document.documentElement.dataset.ready = "yes";
