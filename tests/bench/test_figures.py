"""The figures for papers: complete, the same for the same results, and one look per method."""

import builtins
from dataclasses import replace

import numpy as np
import pytest
from bench.made_runs import write_run, write_study

from boids.bench import compare, figures, load
from boids.bench.looks import looks
from boids.bench.table import ResultsError
from boids.errors import MissingExtra, StoreError

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    write_study(folder, methods=9, problems=2, repetitions=3, length=20)
    return load(folder)


def test_files(table, tmp_path):
    few = table.where(problem="Ackley-100", method=("BOIDS", "TuRBO", "CMA-BO"))
    written = figures.save_figures(few, tmp_path / "new" / "folder", ("png", "svg"))
    assert {path.name for path in written} == {
        f"{name}.{form}"
        for name in ("curves-mean", "curves-median", "ranks", "profile", "times")
        for form in ("png", "svg")
    }
    assert all(path.stat().st_size > 1000 for path in written)
    assert (tmp_path / "new/folder/ranks.png").read_bytes().startswith(b"\x89PNG")


def test_pdf(table, tmp_path):
    few = table.where(problem="Ackley-100", method=("BOIDS", "TuRBO"))
    figures.save_figures(few, tmp_path)
    content = (tmp_path / "ranks.pdf").read_bytes()
    assert content.startswith(b"%PDF")
    assert b"CreationDate" not in content


def test_the_same_results_give_the_same_files(table, tmp_path):
    few = table.where(problem="Ackley-100", method=("BOIDS", "TuRBO"))
    for name in ("one", "two"):
        figures.save_figures(few, tmp_path / name, ("svg",))
    assert (tmp_path / "one/curves-mean.svg").read_bytes() == (tmp_path / "two/curves-mean.svg").read_bytes()


def test_curves_keep_their_shape_with_fewer_points(tmp_path):
    values = [9.0] * 40 + [5.0] * 60 + [1.0] * 100
    for method in ("boids", "other"):
        write_run(tmp_path, "p", method, 0, values)
    axes = figures.curves(load(tmp_path)).axes[0]
    boids, other = axes.lines
    x, y = (np.asarray(each, dtype=float) for each in boids.get_data())
    assert len(x) < 20
    assert np.interp([1, 40, 60, 100, 120, 200], x, y) == pytest.approx([9, 9, 5, 5, 1, 1], abs=1e-12)
    assert boids.get_linewidth() > other.get_linewidth()  # it stands out
    assert len(boids.get_markevery()) == 4


def test_times_show_the_processor_where_it_was_measured(table):
    few = table.where(problem="Ackley-100", method=("BOIDS", "TuRBO"))
    (marks,) = figures.times(few).axes[0].lines
    assert sorted(marks.get_xdata()) == pytest.approx(sorted(run.cpu.mean() for run in few.runs[::3]))
    unknown = replace(few, runs=tuple(replace(run, cpu=np.full(run.evaluations, np.nan)) for run in few.runs))
    axes = figures.times(unknown).axes[0]
    assert not axes.lines
    assert "processor" not in axes.get_xlabel()


def test_wrong_requests(table, tmp_path):
    with pytest.raises(ResultsError, match="no format 'bmp' for figures; formats are pdf, svg, png"):
        figures.save_figures(table, tmp_path, ("bmp",))
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be written"):
        figures.save_figures(table.where(problem="Ackley-100", method="BOIDS"), tmp_path / "file", ("png",))


def test_curves(table):
    figure = figures.curves(table)
    assert figure is not None
    axes = figure.axes[0]
    assert axes.get_title(loc="left") == "Ackley-100"
    assert len(axes.lines) == 9
    assert [text.get_text() for text in figure.legends[0].get_texts()] == list(table.methods)


def test_log_regret_where_it_spans_decades(tmp_path):
    for r in range(2):
        write_run(tmp_path, "p", "m", r, [10.0 + r, 1.0, 0.1, 0.01], optimum=0.0)
        write_run(tmp_path, "q", "m", r, [10.0 + r, 9.0, 8.0, 7.0], optimum=0.0)
    known, short = figures.curves(load(tmp_path), "median").axes
    assert (known.get_yscale(), known.get_ylabel()) == ("log", "best value − optimum")
    assert (short.get_yscale(), short.get_ylabel()) == ("linear", "best value")


def test_a_line_far_above_the_others_is_cut_off_and_named(tmp_path):
    for method, level in (("a", 1.0), ("b", 2.0), ("c", 3.0), ("far", 90.0)):
        write_run(tmp_path, "p", method, 0, [level + 9.0, *(level - k / 100 for k in range(40))])
    axes = figures.curves(load(tmp_path)).axes[0]
    assert 3.0 < axes.get_ylim()[1] < 4.0
    assert [text.get_text() for text in axes.texts] == ["above: far"]
    axes = figures.curves(load(tmp_path).where(method=("a", "b", "far"))).axes[0]
    assert axes.get_ylim()[1] > 90.0
    assert not axes.texts


def test_a_method_looks_the_same_everywhere(table):
    look = looks(table.methods)["CMA-BO"]
    line = figures.curves(table).axes[1].lines[table.methods.index("CMA-BO")]
    assert (line.get_color(), line.get_marker()) == (look.light, look.mark)
    assert len({(each.light, each.dashes) for each in looks([str(i) for i in range(20)]).values()}) == 20


def test_little_to_draw(tmp_path):
    write_run(tmp_path, "p", "$only$", 0, [None, None], seconds=0.0)
    table = load(tmp_path)
    assert figures.ranks(compare(table)) is None
    assert figures.times(table) is None
    figures.save_figures(table, tmp_path / "f", ("png",))
    write_run(tmp_path, "p", "other", 0, [], budget=3, status=None)
    figures.save_figures(load(tmp_path), tmp_path / "f", ("png",))


def test_without_matplotlib(table, monkeypatch):
    real = builtins.__import__

    def without(name, *args):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *args)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtra, match=r"boids-opt\[plot\]"):
        figures.times(table)
