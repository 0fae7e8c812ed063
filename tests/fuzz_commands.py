"""Command lines: well-formed ones, and ones with slips of the pen, over small objectives of every temper."""

from __future__ import annotations

import json
from itertools import chain

from hypothesis import strategies as st

#: A module with objectives of every temper.
MODULE = """
import sys

number = 3

def sphere(x):
    return float(sum(v * v for v in (x.values() if isinstance(x, dict) else x) if not isinstance(v, str)))

def pair(x):
    return 1.0, [0.5, -0.5]

def rows(x):
    return [1.0] * len(x)

def text(x):
    return "1.0"

def broken(x):
    raise RuntimeError("the solver\\ndiverged [/red] \\x1b[31m")

def quits(x):
    sys.exit(3)

def silent(x):
    class Silent(Exception):
        def __str__(self):
            raise RuntimeError("str failed")
    raise Silent

def stopped(x):
    raise KeyboardInterrupt

class Model:
    fit = staticmethod(sphere)
"""

SPACES = {
    "good.toml": 'n_constraints = 2\nlinear_constraints = ["a <= b"]\n[parameters]\na = [0, 1]\nb = [0, 1]\n'
    'k = { type = "int", low = 1, high = 3 }\nc = ["u", "v", "w"]\n',
    "tiny.json": json.dumps({"parameters": {"on": {"type": "bool"}}}),
    "clash.toml": 'linear_constraints = ["a <= -1"]\n[parameters]\na = [0, 1]\n',
    "broken.toml": "[parameters\n",
    "empty.json": "{}",
    "odd.json": json.dumps({"parameters": {"a b": [0, 1], "{x}": [0, 1], "é\n": [0, 1]}}),
}

_numbers = st.sampled_from(
    ["0", "1", "2", "3", "-1", "0.5", "1e-3", "nan", "inf", "-inf", "1e999", "", "x", "1_0", " 2", "٣"]
)
_words = st.sampled_from(["", "x", "é", "a=b", "--", "-", "\ud800", "0", "none", "true", "sphere", "a" * 300, "{", "}"])
_files = st.sampled_from(
    [*SPACES, "missing.toml", ".", "", "fuzzed.py", "boids-runs.db", "no/such/folder/x.db", "x" * 300]
)
_ids = st.sampled_from(["", "2", "x", "-", "é", "\ud800", "ackley", "x" * 300])
_pairs = st.sampled_from(
    ["search.generations=2", "n_init=2", "n_init=0", "n_init=x", "n_init=1e400", "inertia=9e999",
     "inertia=" + "9" * 400, "preset=paper", "preset=none", "preset=", "search=3", "search.nothing=1",
     "particles.x=1", "=1", "x", "acquisition=ei", "shift=true", "seed=3", "seed=-1", "noise=0.1", "noise=x",
     "dim=3", "name=ackley", "offset=(1,2)", "n_init=((((", "a.b.c=1"]
)  # fmt: skip
_linear = st.sampled_from(
    ["a <= b", "x[0] <= x[1]", "x[0] + x[1] == 1", "x[9] <= 1", "sum(x) >= 1e9", "", "(", "x", "a = b"]
)
_commands = st.sampled_from(
    ["true", "false", "echo 1", "echo nan", "echo hello", "cat {input}", "cp {input} {output}", "echo {x}",
     "echo {a}", "", " ", "'", "nosuchprogram {input}", "{input}", "{", "{}", "{{}}", "echo {", "/", "./missing",
     "echo 1 > x", "sh -c 'exit 3'", "echo '\\'"]
)  # fmt: skip

#: Every option of `boids run`, with values that are often right.
_OPTIONS = {
    "--command": _commands,
    "--space": _files,
    "--dim": st.sampled_from(["1", "2", "3", "5"]) | _numbers,
    "--low": st.sampled_from(["0", "-1"]) | _numbers,
    "--high": st.sampled_from(["1", "2"]) | _numbers,
    "--linear": _linear,
    "--option": _pairs,
    "--constraints": _numbers,
    "--penalty": _numbers,
    "--noisy": None,
    "--vectorized": None,
    "--format": st.sampled_from(["json", "lines", "xml"]),
    "--result": st.sampled_from(["auto", "file", "stdout", "stderr"]),
    "--workdir": _files,
    "--keep": st.sampled_from(["failed", "all", "none", "some"]),
    "--method": st.sampled_from(["random", "boids", "bodis", "", "Random"]),
    "--set": _pairs,
    "--seed": st.sampled_from(["1", "99999999999999999999999"]) | _numbers,
    "--batch": _numbers,
    "--timeout": _numbers,
    "--target": _numbers,
    "--patience": _numbers,
    "--workers": st.sampled_from(["1", "2"]) | _numbers,
    "--async": None,
    "--lost": st.sampled_from(["retry", "fail", "x"]),
    "--dask": st.sampled_from(["", "x", "foo://x:1", "good.toml"]),
    "--isolate": None,
    "--x0": _files,
    "--from": _ids,
    "--store": _files,
    "--no-store": None,
    "--json": None,
    "--json-lines": None,
    "--plot": st.sampled_from(["x.txt", "", "no/such/x.png", "x"]),
    "--quiet": None,
    "--nothing": _words,
    "-h": None,
}

_targets = st.sampled_from(
    [[], ["ackley"], ["hartmann"], ["fuzzed:sphere"], ["fuzzed:pair"], ["fuzzed:rows"], ["fuzzed:text"],
     ["fuzzed:broken"], ["fuzzed:quits"], ["fuzzed:silent"], ["fuzzed:stopped"], ["fuzzed:Model.fit"],
      ["fuzzed:Model"], ["fuzzed:number"], ["fuzzed:nothing"], ["fuzzed:"], [":sphere"], ["nothing:sphere"],
       ["fuzzed.py:sphere"], ["a:b:c"], ["ackly"], [""], ["."], ["good.toml"], ["ackley", "ackley"], ["\ud800"],
        ["é"], ["os:getcwd"], ["json.decoder:nothing"]]
)  # fmt: skip
_box = st.sampled_from(
    [[], [], ["--dim", "2", "--low", "0", "--high", "1"], ["--space", "good.toml"], ["--space", "tiny.json"]]
)


def _option(name):
    values = _OPTIONS[name]
    return st.just([name]) if values is None else values.map(lambda value: [name, value])


_options = st.lists(st.sampled_from(list(_OPTIONS)).flatmap(_option), max_size=4)

#: Arguments of `boids run`, with so small a budget and search that a run takes a few hundredths of a second.
runs = st.builds(
    lambda target, box, options: [
        "run", *target, *box, "--set", "search.generations=1", "--set", "n_init=2", *chain(*options), "--budget", "3"
    ],
    _targets,
    _box,
    _options,
)  # fmt: skip


def _flags(words):
    return st.sampled_from(words.split())


#: Arguments of the other commands, and of none.
others = st.one_of(
    # As a shell gives them, which is without a zero.
    st.lists(_words | st.text(st.characters(exclude_characters="\x00"), max_size=9), max_size=3),
    st.tuples(st.just("space"), _files, *[_flags("--example --json --quiet --seed=1 --seed=-1 --format=x -h")] * 2),
    st.tuples(
        st.just("resume"), _ids, *[_flags("--json --json-lines --quiet --folder=. --workers=2 --async --plot=x")] * 2
    ),
    st.tuples(st.just("runs"), st.just("--store"), _files, _flags("--json -h")),
    st.tuples(st.just("show"), _ids, *[_flags("--json --trials=2 --trials=0 --plot=x -h")] * 2),
    st.tuples(st.just("export"), _ids, *[_flags("--json --csv --parquet --output=x.csv --output=no/x -h")] * 2),
    st.tuples(st.sampled_from(["replay", "delete"]), _ids, _flags("--json -h")),
    st.tuples(st.just("methods"), st.sampled_from(["boids", "random", "x", "", "--json"]), _flags("--json -h")),
    st.tuples(st.just("problems"), st.sampled_from(["ackley", "x", "", "show", "--json"]), _flags("--json -h")),
).map(list)
