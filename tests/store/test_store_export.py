"""Trials for other programs: what they read is what was written."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from stored_runs import done, pending

from boids.errors import MissingExtra, StoreError
from boids.store.export import csv_lines, json_text, table, write_csv, write_json, write_parquet

ROWS = [
    done(pending(0, 0), 0.1 + 0.2, 1, constraints=(0.5, -0.5), noise_variance=1e-300),
    replace(pending(1, 2), state="failed", told=3, error='line 1\nline "2", \r\nµ', ended=1e9 + 0.5, attempts=2),
    pending(2, 4),
]
NAMED = [
    {"lr": 0.1, "n": np.int64(3), "act": "relu", "on": np.True_, "w": np.array([1.5, -0.0])},
    {"lr": 1e-300, "n": 4, "act": "ta,nh", "on": False, "w": np.array([2.5, 1 / 3])},
    {"lr": 1e308, "n": 5, "act": "µ", "on": True, "w": np.array([3.5, 0.1])},
]


def test_columns_of_a_named_space():
    columns = table(ROWS, NAMED)
    assert " ".join(columns) == (
        "number state value c1 c2 noise_variance error started ended attempts lr n act on w[0] w[1]"
    )
    assert columns["value"] == [0.1 + 0.2, None, None]
    assert columns["c2"] == [-0.5, None, None]
    assert columns["attempts"] == [1, 2, 1]
    assert columns["n"] == [3, 4, 5]
    assert {type(cell) for name in ("n", "on", "w[0]") for cell in columns[name]} == {int, bool, float}


def test_columns_of_a_plain_box():
    columns = table(ROWS, [row.unit for row in ROWS])
    assert list(columns)[-3:] == ["x0", "x1", "x2"]
    assert columns["x1"] == [-0.5] * 3


def test_parameters_with_the_names_of_other_columns():
    columns = table(ROWS[:1], [{"value": 1, "params.value": 2, "error": 3, "c1": 4}])
    assert columns["value"] == [0.1 + 0.2]
    assert columns["params.value"] == [2]
    assert [columns[name] for name in ("params.params.value", "params.error", "params.c1")] == [[1], [3], [4]]


def test_no_trials(tmp_path):
    columns = table([], [])
    assert list(csv_lines(columns)) == ["number,state,value,noise_variance,error,started,ended,attempts\n"]
    assert json.loads(json_text(columns)) == []
    write_parquet(columns, tmp_path / "none.parquet")


def test_a_point_is_missing():
    with pytest.raises(ValueError, match="one point for each of the 3 trials, got 2"):
        table(ROWS, NAMED[:2])


def test_csv_round_trip(tmp_path):
    columns = table(ROWS, NAMED)
    write_csv(columns, tmp_path / "trials.csv")
    with open(tmp_path / "trials.csv", encoding="utf-8", newline="") as file:
        read = list(csv.DictReader(file))
    assert list(read[0]) == list(columns)
    for name, cells in columns.items():
        for row, cell in zip(read, cells, strict=True):
            found = row[name]
            assert found == ("" if cell is None else cell if isinstance(cell, str) else repr(cell))
            if isinstance(cell, float):
                assert float(found).hex() == cell.hex()


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")), min_size=1, max_size=4))
def test_any_text_survives_csv(texts):
    columns = {"text": texts, "more": list(range(len(texts)))}
    read = list(csv.reader(io.StringIO("".join(csv_lines(columns)), newline="")))
    assert read[1:] == [[text, str(number)] for number, text in enumerate(texts)]


def test_json_is_strict(tmp_path):
    columns = table(ROWS, NAMED)
    columns["odd"] = [math.nan, math.inf, (1, 2)]
    write_json(columns, tmp_path / "trials.json")

    def refuse(token):
        raise AssertionError(token)

    read = json.loads((tmp_path / "trials.json").read_text(encoding="utf-8"), parse_constant=refuse)
    assert [row.pop("odd") for row in read] == [None, None, "(1, 2)"]
    del columns["odd"]
    assert read == [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]


def test_parquet_round_trip(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = table(ROWS, NAMED)
    columns["mixed"] = [1, "one", None]
    columns["long"] = [2**70, 1, None]
    columns["number or not"] = [1, 0.5, None]
    write_parquet(columns, tmp_path / "trials.parquet")
    read = parquet.read_table(tmp_path / "trials.parquet").to_pydict()
    assert read.pop("mixed") == ["1", "one", None]
    assert read.pop("long") == [str(2**70), "1", None]
    assert read.pop("number or not") == [1.0, 0.5, None]
    assert read == {name: cells for name, cells in columns.items() if name in read}
    assert math.copysign(1.0, read["w[1]"][0]) == -1.0


def test_parquet_without_pyarrow(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match=r"need pyarrow.*pip install 'boids-opt\[parquet\]'"):
        write_parquet(table(ROWS, NAMED), tmp_path / "trials.parquet")
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("write", [write_csv, write_json, write_parquet])
def test_a_file_is_replaced_as_a_whole_or_not_at_all(tmp_path, write, monkeypatch):
    target = tmp_path / "trials"
    target.write_text("old")

    def fail(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", fail)
        with pytest.raises(StoreError, match=r"trials' cannot be written: No space left on device"):
            write(table(ROWS, NAMED), target)
    assert (target.read_text(), os.listdir(tmp_path)) == ("old", ["trials"])
    write(table(ROWS, NAMED), target)
    assert (target.read_bytes() != b"old", os.listdir(tmp_path)) == (True, ["trials"])
    with pytest.raises(StoreError, match="cannot be written"):
        write(table(ROWS, NAMED), tmp_path / "none" / "trials")
