// The page: what the address asks for, the stream of news, and the colours.
import { repaint, sweep } from "./charts.js";
import { CompareView } from "./compare.js";
import { Course } from "./course.js";
import { count, h } from "./format.js";
import { RunList } from "./runs.js";
import { RunView } from "./run_view.js";

const main = document.getElementById("main");
let courses = new Map();
let view = null;
let route = null;
let source = null;
let pendingFrame = false;
let isFirstList = true;

const list = new RunList({
  chosen: (keys) => {
    if (route?.name === "compare") location.hash = keys.length > 1 ? `#/compare/${keys.join(",")}` : "#/";
  },
});

// ------------------------------------------------------------------------------------------------ the address

function asked() {
  const [, name = "", rest = ""] = location.hash.split("/");
  if (name === "run" && rest) return { name: "run", keys: [rest] };
  if (name === "compare" && rest) return { name: "compare", keys: rest.split(",").slice(0, 8) };
  return { name: "home", keys: [] };
}

function go() {
  const next = asked();
  const same = route && route.name === next.name && route.keys.join() === next.keys.join();
  if (same) return;
  route = next;
  document.documentElement.dataset.route = route.name;
  courses = new Map(route.keys.map((key) => [key, new Course()]));
  document.getElementById("detail").close();
  if (route.name === "run") view = new RunView(route.keys[0], courses.get(route.keys[0]), main);
  else if (route.name === "compare") view = new CompareView(route.keys, courses, main);
  else {
    view = null;
    renderHome();
  }
  list.setCurrent(route.name === "run" ? route.keys[0] : null);
  if (route.name === "compare") list.setTicked(route.keys);
  sweep();
  window.scrollTo(0, 0);
  connect();
}

function renderHome() {
  if (list.runs.size) {
    main.replaceChildren(
      h("div", { class: "empty" }, h("h1", {}, "Choose a run"), h("p", {}, "Or tick several of them to compare.")),
    );
    return;
  }
  const line = (text) => h("pre", {}, text);
  main.replaceChildren(
    h(
      "div",
      { class: "empty" },
      h("h1", {}, isFirstList ? "Looking for runs …" : "There are no runs here yet"),
      isFirstList
        ? null
        : h(
            "div",
            {},
            h("p", {}, "Start one in the folder where this dashboard was started, and it appears here by itself:"),
            line("boids run hartmann --dim 100 --budget 250"),
            h("p", {}, "or show runs that are kept elsewhere:"),
            line("boids dashboard path/to/runs.db path/to/results/"),
          ),
    ),
  );
}

// -------------------------------------------------------------------------------------------------- the news

function say(kind, words) {
  const box = document.getElementById("connection");
  if (box.dataset.kind === kind && box.querySelector(".words").textContent === words) return;
  box.dataset.kind = kind;
  box.querySelector(".words").textContent = words;
}

function connect() {
  source?.close();
  const query = route.keys.map((key) => `run=${encodeURIComponent(key)}`).join("&");
  source = new EventSource(`api/events?${query}`);
  const on = (name, work) => source.addEventListener(name, (event) => work(JSON.parse(event.data)));
  source.onopen = () => say("good", "Up to date");
  source.onerror = () => say("bad", "No answer; trying again");
  on("runs", (news) => {
    const wasEmpty = list.runs.size === 0;
    list.take(news);
    isFirstList = false;
    const live = [...list.runs.values()].filter((run) => run.standing === "live").length;
    say("good", live ? `Following ${count(live)} live` : "Up to date");
    // On a wide screen there is room for a run beside the list: the one that most probably is looked for, now or, if
    // the dashboard was there before any run, as soon as there is one.
    if (wasEmpty && route.name === "home" && list.newest && innerWidth >= 900) location.replace(`#/run/${list.newest}`);
    else if (route.name === "home") renderHome();
    document.documentElement.dataset.ready = "yes";
  });
  on("trials", (news) => {
    courses.get(news.key)?.take(news);
    draw();
  });
  on("facts", (facts) => {
    if (courses.has(facts.key)) view?.take(facts);
  });
}

/** Draw once per frame, however many news there are. */
function draw() {
  if (pendingFrame) return;
  pendingFrame = true;
  requestAnimationFrame(() => {
    pendingFrame = false;
    view?.render();
  });
}

// ------------------------------------------------------------------------------------------------ the colours

const system = matchMedia("(prefers-color-scheme: dark)");

function paint(wanted) {
  const dark = wanted === "dark" || (wanted === "auto" && system.matches);
  document.documentElement.dataset.shade = dark ? "dark" : "light";
  for (const button of document.querySelectorAll("#theme button"))
    button.setAttribute("aria-pressed", String(button.dataset.theme === wanted));
  repaint();
  view?.parameters?.draw();
  if (view instanceof CompareView) view.render();
}

const remembered = () => localStorage.getItem("boids-theme") ?? "auto";
document.getElementById("theme").addEventListener("click", (event) => {
  const wanted = event.target.closest("button")?.dataset.theme;
  if (!wanted) return;
  localStorage.setItem("boids-theme", wanted);
  paint(wanted);
});
system.addEventListener("change", () => paint(remembered()));

document.getElementById("compare-clear").addEventListener("click", () => {
  list.setTicked([]);
  list.chosen([]);
});
document.getElementById("compare-link").addEventListener("click", (event) => {
  if (event.currentTarget.hasAttribute("aria-disabled")) event.preventDefault();
});
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
document.getElementById("detail").addEventListener("click", (event) => {
  if (event.target.id === "detail") event.target.close();
});
addEventListener("hashchange", go);
addEventListener("pagehide", () => source?.close());
setInterval(() => {
  if (view instanceof RunView && view.facts && !view.facts.trouble) view.renderHead();
}, 5000);
paint(remembered());
go();
