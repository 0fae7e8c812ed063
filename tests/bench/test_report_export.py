"""Results for other programs."""

import csv
import gzip
import io
import json

import pytest
from bench.made_runs import write_run

from boids.bench import load
from boids.bench.export import write_ioh, write_rows
from boids.bench.table import COLUMNS, ResultsError
from boids.errors import StoreError


@pytest.fixture
def table(tmp_path):
    folder = tmp_path / "results"
    write_run(folder, "a, b", "one/../two", 0, [4.0, None, 0.1], dim=7, folder="x")
    write_run(folder, "a, b", "one/../two", 1, [3.0], dim=7, budget=3, status=None, folder="x")
    write_run(folder, "a, b", "one??two", 0, [None], dim=7, folder="y")
    write_run(folder, "empty", "one??two", 0, [], budget=2, status=None, folder="z")
    return load(folder)


def test_csv(table, tmp_path):
    write_rows(table, tmp_path / "rows.csv")
    write_rows(table, tmp_path / "rows.csv.gz")
    text = (tmp_path / "rows.csv").read_text()
    assert gzip.decompress((tmp_path / "rows.csv.gz").read_bytes()).decode() == text
    rows = list(csv.DictReader(io.StringIO(text)))
    assert list(rows[0]) == list(COLUMNS)
    assert [row["value"] for row in rows] == ["4.0", "", "0.1", "3.0", ""]
    assert rows[0]["problem"] == "a, b"
    assert [row["failed"] for row in rows] == ["False", "True", "False", "False", "True"]
    with pytest.raises(ResultsError, match=r"must end in .csv, .csv.gz or .parquet"):
        write_rows(table, tmp_path / "rows.xlsx")
    with pytest.raises(StoreError, match="cannot be written"):
        write_rows(table, tmp_path / "no" / "rows.csv")


def test_parquet(table, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    write_rows(table, tmp_path / "rows.parquet")
    found = parquet.read_table(tmp_path / "rows.parquet").to_pydict()
    assert found["n"] == [1, 2, 3, 1, 1]
    assert found["best"] == [4.0, 4.0, 0.1, 3.0, None]


def test_iohprofiler(table, tmp_path):
    written = write_ioh(table, tmp_path / "ioh")
    assert [path.parent.name for path in written] == ["one-..-two", "one-two"]  # no label leaves the folder
    assert all((tmp_path / "ioh") in path.parents for path in written)
    first = json.loads(written[0].read_text())
    assert (first["function_id"], first["function_name"], first["maximization"]) == (1, "a, b", False)
    assert first["algorithm"]["name"] == "one/../two"
    (scenario,) = first["scenarios"]
    assert scenario["dimension"] == 7
    assert scenario["runs"] == [
        {"instance": 1, "evals": 3, "best": {"evals": 3, "y": 0.1, "x": []}},
        {"instance": 2, "evals": 1, "best": {"evals": 1, "y": 3.0, "x": []}},
    ]
    lines = (written[0].parent / scenario["path"]).read_text().splitlines()
    assert lines == ["evaluations raw_y", "1 4.0", "2 inf", "3 0.1", "evaluations raw_y", "1 3.0"]


def test_iohinspector_reads_it(table, tmp_path):
    iohinspector = pytest.importorskip("iohinspector")
    write_ioh(table, tmp_path / "ioh")
    manager = iohinspector.DataManager()
    manager.add_folder(str(tmp_path / "ioh"))
    assert len(manager.overview) == 3
    assert len(manager.load(monotonic=False)) == 5
