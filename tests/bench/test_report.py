"""The report as a file: what it says of partial results, and that nobody's labels can do harm."""

import json
import os
import re
from html.parser import HTMLParser

import pytest
from bench.made_runs import write_plan, write_run, write_study

import boids.cli
from boids.bench import compact, load
from boids.bench.findings import findings, reference_of, sentences
from boids.bench.paper_times import paper_seconds
from boids.bench.report import embedded, page, write_report
from boids.bench.table import ResultsError

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>&amp;\u2028{{data}}\"'"


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study") / "results"
    write_study(folder, methods=9, problems=2, repetitions=3, length=30)
    return folder


class Elements(HTMLParser):
    """Counts elements, and keeps the attributes and the data."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.title, self.inside = [], [], "", ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        self.inside = tag

    def handle_endtag(self, tag):
        self.inside = ""

    def handle_data(self, data):
        if self.inside == "title":
            self.title += data


def data_of(text):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)[1])


def test_the_page_is_whole_and_asks_for_nothing(study, tmp_path):
    found = write_report(load(study), tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    elements = Elements(text)
    assert elements.title == "Methods for many parameters"
    assert not {"iframe", "object", "img"} & set(elements.tags)
    assert {value for name, value in elements.attributes if name in ("src", "href") and not value.startswith("#")} == {
        "data:,"
    }
    assert "{{" not in text.replace("{{data}}", "")
    assert data_of(text)["methods"] == found["methods"]
    assert "Partial results:" in text


def test_findings(study):
    table = load(study)
    found = findings(table)
    assert found["counts"]["runs"] == 53
    assert found["counts"]["missing"] == 1
    ackley = found["problems"][0]
    assert (ackley["label"], ackley["at"], ackley["optimum"]) == ("Ackley-100", 30, 0)
    assert ackley["finals"]["pairs_needed"] == 9  # three repetitions prove nothing on one problem
    assert ackley["finals"]["equal"] == []
    alebo = found["methods"].index("ALEBO (d=10)")
    assert [value["carried"] for value in ackley["finals"]["values"] if value["method"] == alebo] == [3]
    assert found["tests"]["reference"] == 0
    assert {row["pairs"] for row in found["tests"]["rows"]} == {6, 4}
    assert found["coverage"]["cells"][8]["states"] == ["done", "done", "unfinished"]
    cell = found["times"]["cells"][0]
    assert (cell["own"], cell["evaluate"], cell["cpu"], cell["paper"]) == (0.8, 0.01, 0.72, 11.9)
    json.dumps(found, allow_nan=False)
    said, noticed = sentences(found)
    assert said[0].startswith("9 methods on 2 problems: 53 runs with ")
    assert noticed[0] == "Partial results: 1 of 54 planned runs have not begun; 1 run is unfinished."
    assert "time limit" in noticed[1]


def test_repetitions_that_can_tell_methods_apart(tmp_path):
    for r in range(8):
        write_run(tmp_path, "p", "good", r, [5.0, 1.0 + 0.1 * r])
        write_run(tmp_path, "p", "same", r, [5.0, 1.0 + 0.1 * r + (0.01 if r % 2 else -0.012)])
        write_run(tmp_path, "p", "poor", r, [5.0, 3.0 + 0.2 * r])
    finals = findings(load(tmp_path))["problems"][0]["finals"]
    assert finals["pairs_needed"] is None
    assert {0, 2} == {finals["best"], *finals["equal"]}


def test_the_reference(study):
    table = load(study)
    assert reference_of(table) == "BOIDS"
    assert reference_of(table, "TuRBO") == "TuRBO"
    assert reference_of(table, "turbo") == "TuRBO"  # by its name
    with pytest.raises(ResultsError, match="did you mean 'TuRBO'"):
        reference_of(table, "turbos")


def test_the_reference_is_a_method_that_has_run(tmp_path):
    write_plan(tmp_path, [("p", "boids", 0, 2), ("p", "a", 0, 2), ("p", "b", 0, 2)])
    assert reference_of(load(tmp_path)) == "boids"  # nothing has run
    for method in ("b", "a"):
        write_run(tmp_path, "p", method, 0, [2.0, 1.0])
    assert reference_of(load(tmp_path)) == "a"
    assert reference_of(load(tmp_path), "boids") == "boids"


def test_processor_time_only_where_it_was_measured(tmp_path):
    path = write_run(tmp_path, "p", "a", 0, [2.0, 1.0], seconds=1.0)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    del rows[2]["cpu"]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert findings(load(tmp_path))["times"]["cells"][0]["cpu"] == 0.9
    for row in rows:
        row.pop("cpu", None)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert findings(load(tmp_path))["times"]["cells"][0]["cpu"] is None


def test_times_of_the_paper():
    def header(problem, dim, method, **settings):
        return {"problem": {"name": problem, "dim": dim}, "method": {"name": method, "settings": settings}}

    assert paper_seconds(header("ackley", 100, "boids")) == 11.9
    assert paper_seconds(header("lasso-dna", 180, "alebo", target_dim=20)) == 268.93
    assert paper_seconds(header("ackley", 50, "boids")) is None
    assert paper_seconds(header("ackley", 100, "hesbo", target_dim=5)) is None


def test_hostile_labels_stay_text(tmp_path):
    write_plan(tmp_path, [(HOSTILE, HOSTILE, 0, 2)], HOSTILE)
    write_run(tmp_path, HOSTILE, HOSTILE, 0, [2.0, None], error=(HOSTILE, HOSTILE), folder="x")
    write_run(tmp_path, HOSTILE, "plain", 0, [2.0, 1.0], folder="y", settings={HOSTILE: HOSTILE})
    (tmp_path / "z.jsonl").write_text("<b>broken</b>\n")
    text = page(findings(load(tmp_path)))
    elements = Elements(text)
    assert elements.tags.count("script") == 2
    assert "img" not in elements.tags
    assert elements.title == HOSTILE.replace("\u2028", "\u2028")
    assert data_of(text)["runs"][0]["traceback"] == HOSTILE
    assert "\u2028" not in text.split('id="data">')[1]
    assert "default-src 'none'" in text


def test_embedded_data_cannot_end_its_element():
    text = embedded({"<!--": "</SCRIPT>", "x": "\u2029"})
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == {"<!--": "</SCRIPT>", "x": "\u2029"}


def test_nothing_but_plans_and_failures(tmp_path):
    write_plan(tmp_path, [("p", "m", 0, 5), ("p", "k", 0, 5)])
    text = page(findings(load(tmp_path)))
    assert "2 of 2 planned runs have not begun" in text
    write_run(tmp_path, "p", "m", 0, [None, None], budget=5)
    write_run(tmp_path, "p", "k", 0, [], budget=5, error=("No", "Trace"))
    page(findings(load(tmp_path)))


def test_large_studies_stay_small(tmp_path):
    """Twelve methods, six problems and ten seeds with 1000 evaluations: the size goes with runs and points drawn."""
    write_study(tmp_path, methods=3, problems=2, repetitions=2, length=1000)
    found = findings(load(tmp_path))
    per_run = len(embedded(found["runs"])) / len(found["runs"])
    curves = sum(len(problem["curves"]) for problem in found["problems"])
    per_curve = len(embedded(found["problems"])) / curves
    assert 720 * per_run + 72 * per_curve < 3e6


def run(*arguments):
    return boids.cli.main(["report", *map(str, arguments)])


def test_the_command(study, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(study) == 0
    out, err = capsys.readouterr()
    assert "53 runs" in out
    assert "Written: report.html" in out
    assert "Partial results" in err
    assert (tmp_path / "report.html").exists()


def test_the_command_with_other_files(study, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(study, "--compact", "c.json.gz", "--export", "r.csv", "--ioh", "ioh", "--at", 10, "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert said["written"] == ["c.json.gz", "r.csv", "ioh"] or said["written"] == ["r.csv", "c.json.gz", "ioh"]
    assert said["problems"][0]["at"] == 10
    assert "curves" not in said["problems"][0]
    assert not (tmp_path / "report.html").exists()  # other files were asked for
    assert run("c.json.gz", "-o", "again.html", "--title", "Mine", "--reference", "TuRBO") == 0
    assert data_of((tmp_path / "again.html").read_text())["tests"]["reference"] == 2
    assert "<h1>Mine</h1>" in (tmp_path / "again.html").read_text()


def test_the_command_on_a_part(study, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(study, "--method", "BOIDS", "--method", "TuRBO", "--problem", "Ackley-100", "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert said["methods"] == ["BOIDS", "TuRBO"]
    assert [problem["label"] for problem in said["problems"]] == ["Ackley-100"]
    assert (said["ranks"]["problems"], said["ranks"]["blocks"], said["ranks"]["left_out"]) == (1, 3, [])
    # One problem with three repetitions says less than three problems.
    assert said["ranks"]["problems_difference"] == pytest.approx(3**0.5 * said["ranks"]["difference"], rel=1e-3)
    assert said["tests"]["rows"][0]["problems"] == 1
    assert run(study, "--method", "TuRBBO", "-o", "none.html") == 2
    assert "did you mean 'TuRBO'" in capsys.readouterr().err
    assert not (tmp_path / "none.html").exists()


def test_the_command_draws_figures(study, tmp_path, capsys, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    few = load(study).where(problem="Ackley-100", method=("BOIDS", "TuRBO"))
    compact.write(few, "few.json.gz")
    assert run("few.json.gz", "--figures", "f", "--format", "png", "--json") == 0
    assert json.loads(capsys.readouterr().out)["written"][0] == os.path.join("f", "curves-mean.png")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere"], "There is no file or folder 'nowhere'."),
        (["."], "There are no runs of experiments in '.'."),
        (["S", "-o", "no/report.html"], "there is no folder 'no'; make it first."),
        (["S", "-o", "."], "it is a folder; name a file."),
        (["S", "--export", "r.xls"], "--export must end in .csv, .csv.gz or .parquet"),
        (["S", "--compact", "c.zip"], "--compact must end in .json.gz or .json"),
        (["S", "--format", "png"], "name their folder with --figures DIR."),
        (["S", "--at", "0"], "0 is not at least 1"),
        (["S", "--reference", "turbos"], "did you mean 'TuRBO'?"),
        ([], "Missing argument 'RESULTS...'"),
    ],
)
def test_wrong_input_is_one_sentence(study, tmp_path, capsys, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    assert run(*(study if each == "S" else each for each in arguments)) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert words in err
    assert err.count("\n") == 1
