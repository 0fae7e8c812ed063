"""Pictures of runs: what every panel shows, what it leaves out, and that no run breaks them."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import boids
from boids.errors import MissingExtra
from boids.importance import Importance
from boids.plots import PARTS, plot, style
from boids.plots.convergence import View
from boids.plots.record import RunRecord

pytest.importorskip("matplotlib")

TIMES = {"fit": 1.0, "select": 0.5, "optimise": 6.0, "lift": 0.001, "evaluate": 2.4, "other": 0.099}


def trial(number, unit, value, info=None, constraints=None):
    unit = np.asarray(unit, dtype=float)
    failed = value is None
    return boids.Trial(
        id=number,
        params=unit,
        unit=unit,
        value=value,
        constraints=constraints,
        error="it broke" if failed else None,
        state="failed" if failed else "done",
        info=info or {},
    )


def result(trials, times=TIMES, **more):
    return SimpleNamespace(trials=tuple(trials), times=times, method="toy", **more)


def run(n=60, dim=8, seed=0, active=2):
    """A run like one of BOIDS: a design of 10, four lines, dimensions 2, 4, 8, and a restart at 50."""
    rng = np.random.default_rng(seed)
    trials = []
    for i, unit in enumerate(rng.uniform(-1.0, 1.0, (n, dim))):
        value = None if i % 7 == 3 else float(unit[:active] @ unit[:active] + 5.0 * np.exp(-i / 10.0))
        line = -1 if i < 10 or 50 <= i < 55 else int(rng.integers(4))
        info = {"dim": (2, 4, 8)[min(i // 20, 2)], "K": i % 5, "line": line, "restarts": int(i >= 50)}
        trials.append(trial(i, unit, value, info))
    return result(trials)


def panel(figure, name):
    [axes] = [axes for axes in figure.axes if axes.get_label() == name]
    return axes


def names(figure):
    return [axes.get_label() for axes in figure.axes]


def marks(axes, label):
    """The points drawn under a label, as (x, y)."""
    [line] = [line for line in axes.lines if line.get_label() == label]
    return line.get_xdata(), line.get_ydata()


def texts(axes):
    return [text.get_text() for text in axes.texts]


def explained(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


# ------------------------------------------------------------------------------------------------- the whole figure


def test_a_run_with_everything_shows_everything():
    figure = plot(run())
    assert set(names(figure)) == {*PARTS, "factor", "counts", "note"}
    assert figure.get_suptitle().startswith("toy  ·  8 parameters  ·  best ")
    assert figure.get_suptitle().endswith("after 60 evaluations  ·  9 failed")


def test_random_search_has_no_subspaces_and_no_lines():
    found = boids.minimize(lambda x: float(x @ x), [(-1, 1)] * 5, 30, method="random", seed=0)
    assert set(names(plot(found))) == {"convergence", "importance", "note", "time"}


def test_the_result_draws_itself(tmp_path):
    found = boids.minimize(lambda x: float(x @ x), [(-1, 1)] * 3, 10, method="random", seed=0)
    figure = found.plot(tmp_path / "run.png", parts=["convergence"], title="mine")
    assert figure.get_suptitle() == "mine"
    assert (tmp_path / "run.png").exists()


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (["convergence"], {"convergence"}),
        ("time", {"time"}),
        (["lines", "importance"], {"lines", "counts", "importance", "note"}),
        (["subspace", "time"], {"subspace", "factor", "time"}),
    ],
)
def test_parts_are_chosen(parts, expected):
    figure = plot(run(), parts=parts)
    assert set(names(figure)) == expected
    figure.draw_without_rendering()


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_pictures_are_saved(tmp_path, suffix):
    path = tmp_path / f"run.{suffix}"
    plot(run(), path=path, parts=["convergence", "time"])
    beginning = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}
    assert path.read_bytes().startswith(beginning[suffix])


def test_wrong_arguments_are_refused_before_anything_is_drawn(monkeypatch):
    monkeypatch.setattr(RunRecord, "of", None)
    with pytest.raises(ValueError, match=r"'run.jpg'"):
        plot(run(), path="run.jpg")
    with pytest.raises(ValueError, match="did you mean 'convergence'"):
        plot(run(), parts=["convergance"])
    with pytest.raises(ValueError, match="at least one"):
        plot(run(), parts=[])
    with pytest.raises(ValueError, match="top"):
        plot(run(), top=0)


def test_parts_that_a_run_does_not_have_are_named():
    bare = result([trial(0, [0.5], 1.0)])
    with pytest.raises(ValueError, match="nothing to show in lines; it has in convergence, importance, time"):
        plot(bare, parts=["lines"])
    assert names(plot(bare, parts=["lines", "time"])) == ["time"]


def test_without_matplotlib_the_way_to_install_it_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtra, match=r"pip install 'boids-opt\[plot\]'"):
        plot(run())


def test_nothing_global_is_touched():
    code = """
import sys, warnings
warnings.simplefilter("error")
import matplotlib
# Looking at the backend would choose one.
settings = lambda: {key: str(matplotlib.rcParams[key]) for key in matplotlib.rcParams if key != "backend"}
before = settings()
import boids
found = boids.minimize(lambda x: float(x @ x), [(-1, 1)] * 3, 20, method="random", seed=0)
found.plot()._repr_png_()
print("matplotlib.pyplot" in sys.modules, settings() == before)
"""
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.split() == ["False", "True"]


def test_notebooks_show_the_figure():
    assert plot(run(), parts=["time"])._repr_png_().startswith(b"\x89PNG")


def overlapping(figure):
    """Tick labels of a vertical axis that overlap, and texts that leave the figure."""
    figure.draw_without_rendering()
    problems = []
    for axes in figure.axes:
        low, high = sorted(axes.get_ylim())
        has_ticks = axes.axison and axes.yaxis.get_tick_params()["labelleft"]
        ticks = list(zip(axes.get_yticks(), axes.get_yticklabels(), strict=True)) if has_ticks else []
        labels = [label.get_window_extent() for tick, label in ticks if low <= tick <= high and label.get_text()]
        labels.sort(key=lambda box: box.y0)
        problems += [f"{axes.get_label()}: ticks" for a, b in pairwise(labels) if a.y1 > b.y0 + 1.0]
        legend = axes.get_legend()
        title = axes.title if axes.title.get_text() else axes._left_title
        boxes = [*labels, title.get_window_extent(), *([legend.get_window_extent()] if legend else [])]
        boxes += [text.get_window_extent() for text in axes.texts]
        problems += [f"{axes.get_label()}: outside" for box in boxes if box.x0 < -1 or box.x1 > figure.bbox.x1 + 1]
        if legend and legend.get_window_extent().overlaps(title.get_window_extent()):
            problems.append(f"{axes.get_label()}: legend on title")
    return problems


def crowded(dim, n=150):
    """A run with all kinds of marks and long names."""
    rng = np.random.default_rng(0)
    dims = np.minimum(np.repeat([1, 2, 3, 5, 9, 17, 33, 65, 129, 257, 500], 14)[:n], dim)
    trials = []
    for i, unit in enumerate(rng.uniform(-1.0, 1.0, (n, dim))):
        value = None if i % 9 == 5 else 1e99 if i % 9 == 7 else float(10.0 ** (3 - i / 30))
        line = int(rng.integers(40)) if i > 20 else -1
        info = {"dim": int(dims[i]), "K": i % 6, "line": line, "restarts": int(i > 120)}
        trials.append(trial(i, unit, value, info, constraints=(float(rng.normal()),)))
    labels = tuple(f"a_parameter_with_quite_a_long_name_{i}" for i in range(dim))
    space = SimpleNamespace(dim=dim, labels=labels, owner=np.arange(dim))
    return result(trials, space=space, fun=0.1, observed=0.05)


@pytest.mark.parametrize("parts", [None, ["importance"], ["convergence", "time"], ["lines", "importance"]])
@pytest.mark.parametrize("dim", [1, 500])
def test_figures_are_readable(monkeypatch, dim, parts):
    found = Importance(tuple(f"a_parameter_with_quite_a_long_name_{i}" for i in range(dim)), np.full(dim, 1 / dim), 9)
    monkeypatch.setattr(RunRecord, "importance", lambda run: found)
    assert overlapping(plot(crowded(dim), parts=parts, top=20)) == []


# ------------------------------------------------------------------------------------------------------ convergence


def test_convergence_shows_every_evaluation_and_the_best_so_far():
    made = run()
    axes = panel(plot(made, parts=["convergence"]), "convergence")
    values = np.array([np.nan if t.value is None else t.value for t in made.trials])
    x, y = marks(axes, "evaluation")
    assert x.tolist() == (1 + np.flatnonzero(np.isfinite(values))).tolist()
    assert y.tolist() == values[np.isfinite(values)].tolist()
    _, best = marks(axes, "best so far")
    assert best == pytest.approx(np.fmin.accumulate(values), nan_ok=True)
    x, _ = marks(axes, "failed")
    assert x.tolist() == (1 + np.flatnonzero(np.isnan(values))).tolist()
    assert explained(axes) == ["restart", "evaluation", "best so far", "failed"]
    restart = next(line for line in axes.lines if line.get_label() == "restart")
    assert restart.get_xdata() == [50.5, 50.5]


def test_infeasible_points_are_hollow_and_never_the_best():
    trials = [trial(i, [0.0], float(10 - i), constraints=(1.0 if i % 2 else -1.0,)) for i in range(10)]
    axes = panel(plot(result(trials), parts=["convergence"]), "convergence")
    x, _ = marks(axes, "infeasible")
    assert x.tolist() == [2, 4, 6, 8, 10]
    [line] = [line for line in axes.lines if line.get_label() == "infeasible"]
    assert line.get_markerfacecolor() == "none"
    _, best = marks(axes, "best so far")
    assert best.tolist() == [10, 10, 8, 8, 6, 6, 4, 4, 2, 2]


def test_a_run_without_a_feasible_point_says_so():
    trials = [trial(i, [0.0], float(i), constraints=(1.0,)) for i in range(10)]
    figure = plot(result(trials), parts=["convergence"])
    assert figure.get_suptitle().endswith("no feasible point in 10 evaluations")
    assert explained(panel(figure, "convergence")) == ["infeasible"]


def test_the_estimate_of_a_noisy_run_is_shown():
    made = run()
    made.fun, made.observed = 0.75, 0.5
    figure = plot(made, parts=["convergence"])
    assert "best estimate 0.75 after" in figure.get_suptitle()
    assert marks(panel(figure, "convergence"), "estimate")[1] == [0.75, 0.75]


def test_penalties_do_not_flatten_the_rest():
    values = np.linspace(3.0, 1.0, 50)
    values[::8] = 1e9
    trials = [trial(i, [0.0], float(v)) for i, v in enumerate(values)]
    axes = panel(plot(result(trials), parts=["convergence"]), "convergence")
    assert axes.get_ylim()[1] < 5.0
    x, height = marks(axes, "off scale")
    assert x.tolist() == list(range(1, 51, 8))
    assert set(height) == {0.98}


@pytest.mark.parametrize(
    ("values", "is_log"),
    [
        ([1e4, 1e2, 1e0, 1e-2], True),
        ([1e2, 50.0, 10.0, 2.0], False),  # less than two decades
        ([1e4, 1e2, 1e0, -1.0], False),
        ([1e4, 1e2, 1e0, 0.0], False),
        ([], False),
    ],
)
def test_a_logarithmic_axis_only_where_it_is_sensible(values, is_log):
    values = np.array(values, dtype=float)
    assert View.of(values, np.fmin.accumulate(values)).is_log is is_log


finite = st.floats(-1e300, 1e300)


@given(st.lists(finite | st.just(np.nan), min_size=1, max_size=40))
def test_the_best_is_always_in_view(values):
    values = np.array(values)
    best = np.fmin.accumulate(values)
    view = View.of(values, best)
    assert view.low < view.high or np.ptp(values[np.isfinite(values)]) < 1e-300
    if np.isfinite(best).any():
        # A number below 1e-307 has no room beneath it on a logarithmic axis.
        assert view.low <= best[-1] <= view.high or abs(best[-1]) < 1e-300


def test_nothing_is_cut_off_without_outliers():
    rng = np.random.default_rng(0)
    for _ in range(20):
        values = rng.normal(size=200)
        view = View.of(values, np.fmin.accumulate(values))
        assert view.low < values.min()
        assert view.high > values.max()


# -------------------------------------------------------------------------------------------------- the method at work


def test_the_dimensions_are_the_ticks():
    figure = plot(run(), parts=["subspace"])
    axes = panel(figure, "subspace")
    assert axes.get_yscale() == "log"
    assert [label.get_text() for label in axes.get_yticklabels()] == ["2", "4", "8"]
    assert axes.lines[0].get_ydata().tolist() == [2.0] * 20 + [4.0] * 20 + [8.0] * 20
    assert panel(figure, "factor").lines[0].get_ydata().tolist() == [i % 5 for i in range(60)]


def test_lines_are_counted():
    made = run()
    figure = plot(made, parts=["lines"])
    axes, counts = panel(figure, "lines"), panel(figure, "counts")
    chosen = np.array([t.info["line"] for t in made.trials])
    widths = np.zeros(4)
    for bar in counts.patches:
        widths[round(bar.get_y() + bar.get_height() / 2)] += bar.get_width()
    assert widths.tolist() == np.bincount(chosen[chosen >= 0], minlength=4).tolist()
    assert len(marks(axes, "initial design")[0]) == 15
    total = sum(len(line.get_xdata()) for line in axes.lines if not str(line.get_label()).startswith("_"))
    assert total == 60
    x, y = marks(axes, "improved the best")
    values = [np.inf if t.value is None else t.value for t in made.trials]
    improved = [i for i in range(60) if values[i] < min(values[:i], default=np.inf) and chosen[i] >= 0]
    assert x.tolist() == [i + 1 for i in improved]
    assert y.tolist() == chosen[improved].tolist()


def test_sweeps_are_on_no_line():
    made = run()
    swept = [t for t in made.trials if t.info["line"] == 1]
    assert swept
    for one in swept:
        one.info["phase"] = "descent"
    figure = plot(made, parts=["lines"])
    axes, counts = panel(figure, "lines"), panel(figure, "counts")
    rows = dict(zip([label.get_text() for label in axes.get_yticklabels()], axes.get_yticks(), strict=True))
    assert rows["design"] < rows["sweeps"] < 0.0
    drawn = [line for line in axes.lines if not str(line.get_label()).startswith("_")]
    assert sum(int(np.sum(np.asarray(line.get_ydata()) == rows["sweeps"])) for line in drawn) == len(swept)
    assert sum(bar.get_width() for bar in counts.patches if round(bar.get_y() + bar.get_height() / 2) == 1) == 0


def test_lines_that_were_never_chosen_have_their_row():
    made = run()
    made.diagnostics = {"line_moves": [0] * 20}
    axes = panel(plot(made, parts=["lines"]), "lines")
    assert max(axes.get_ylim()) > 19.0


# ------------------------------------------------------------------------------------------------------------ shares


def test_the_important_parameters_come_first_by_name():
    rng = np.random.default_rng(0)
    labels = ("lr", "act=relu", "act=tanh", *(f"w[{i}]" for i in range(9)))
    space = SimpleNamespace(dim=12, labels=labels, owner=np.array([0, 1, 1, *[2] * 9]))
    units = rng.uniform(-1.0, 1.0, (80, 12))
    values = 3.0 * units[:, 5] + units[:, 1] - units[:, 2]
    trials = [trial(i, unit, float(value)) for i, (unit, value) in enumerate(zip(units, values, strict=True))]
    figure = plot(result(trials), space=space, parts=["importance"], top=3)
    axes = panel(figure, "importance")
    assert [label.get_text() for label in axes.get_yticklabels()][:2] == ["w[2]", "act"]
    widths = [bar.get_width() for bar in axes.patches]
    assert widths == sorted(widths, reverse=True)
    assert "11 parameters" in figure.get_suptitle()
    [note] = texts(panel(figure, "note"))
    assert "The other 8 parameters share" in note
    assert "not of the objective over the whole box" in note
    assert "share the credit" in note
    assert "may matter elsewhere" in note


def test_bars_that_mean_nothing_are_not_shown_as_if_they_did():
    rng = np.random.default_rng(0)
    trials = [trial(i, unit, float(rng.normal())) for i, unit in enumerate(rng.uniform(-1.0, 1.0, (60, 30)))]
    figure = plot(result(trials), parts=["importance"])
    axes = panel(figure, "importance")
    assert axes.get_title(loc="left") == "Importance (unreliable)"
    assert {bar.get_facecolor()[:3] for bar in axes.patches} == {
        tuple(int(style.PALE[i : i + 2], 16) / 255 for i in (1, 3, 5))
    }
    assert "do not trust these bars" in texts(panel(figure, "note"))[0]


def test_names_that_are_too_long_keep_their_ends():
    units = np.random.default_rng(0).uniform(-1.0, 1.0, (30, 1))
    trials = [trial(i, unit, float(unit[0])) for i, unit in enumerate(units)]
    space = SimpleNamespace(dim=1, labels=("thickness_of_the_left_front_panel",), owner=np.zeros(1, dtype=int))
    axes = panel(plot(result(trials), space=space, parts=["importance"]), "importance")
    assert axes.get_yticklabels()[0].get_text() == "thickness_o…nt_panel"


def test_the_time_is_split():
    figure = plot(result([trial(0, [0.0], 1.0)], times={**TIMES, "queue": 5.0, "idle": 0.0}), parts=["time"])
    axes = panel(figure, "time")
    assert axes.get_title(loc="left") == "Time: 15.0 s"
    assert sum(bar.get_width() for bar in axes.patches) == pytest.approx(1.0)
    assert explained(axes) == [
        "fit 1.00 s",
        "select 500 ms",
        "optimise 6.00 s",
        "lift 1.00 ms",
        "evaluate 2.40 s",
        "queue 5.00 s",
        "other 99.0 ms",
    ]
    assert texts(axes) == [
        "7\N{NO-BREAK SPACE}%",
        "40\N{NO-BREAK SPACE}%",
        "16\N{NO-BREAK SPACE}%",
        "33\N{NO-BREAK SPACE}%",
    ]


# --------------------------------------------------------------------------------------------------- runs of all kinds


@pytest.mark.parametrize(
    ("trials", "summary", "remark"),
    [
        ([], "toy  ·  0 evaluations", "no evaluation was finished"),
        ([trial(0, [0.5], None)], "the only evaluation failed", "every evaluation failed"),
        ([trial(i, [0.5], None) for i in range(9)], "all 9 evaluations failed", "every evaluation failed"),
        ([trial(0, [0.5], -2.0)], "toy  ·  1 parameter  ·  best \N{MINUS SIGN}2 after 1 evaluation", None),
    ],
)
def test_small_and_failed_runs(trials, summary, remark):
    figure = plot(result(trials, times={}))
    assert figure.get_suptitle().endswith(summary)
    assert texts(panel(figure, "convergence")) == ([remark] if remark else [])
    assert "nothing to say" in texts(panel(figure, "importance"))[0]
    figure.draw_without_rendering()


def test_pending_trials_are_left_out():
    made = run()
    waiting = boids.Trial(id=60, params=None, unit=np.zeros(8))
    assert RunRecord.of(result([*made.trials, waiting])).n == 60


number = st.floats(allow_nan=True, allow_infinity=True, allow_subnormal=True)
facts = st.fixed_dictionaries(
    {},
    optional={
        "dim": st.integers(1, 1000) | st.none(),
        "K": st.integers(0, 10) | st.just(np.int64(3)),
        "line": st.integers(-1, 30),
        "restarts": st.integers(0, 3),
    },
)
evaluations = st.tuples(number | st.none(), facts, st.none() | st.tuples(st.floats(-1, 1)))


@settings(max_examples=10)
@given(
    st.lists(evaluations, max_size=12),
    st.integers(1, 3),
    st.dictionaries(st.sampled_from([*TIMES, "queue"]), st.floats(0.0, 1e9)),
)
def test_every_run_can_be_drawn(rows, dim, times):
    rng = np.random.default_rng(len(rows))
    trials = [
        trial(i, rng.uniform(-1.0, 1.0, dim), value, info, constraints)
        for i, (value, info, constraints) in enumerate(rows)
    ]
    figure = plot(result(trials, times=times), parts=["convergence", "subspace", "lines", "time"])
    figure.draw_without_rendering()
    assert "convergence" in names(figure)
