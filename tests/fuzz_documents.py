"""Texts and files that are almost right: linear constraints, and descriptions of spaces in JSON and TOML."""

from __future__ import annotations

import json

import fuzz_odd as odd
from hypothesis import strategies as st

_NAMES = ["x1", "x2", "w", "n", "lr", "act", "on", "y", "sum", "µ"]
_TOKENS = [*_NAMES, *"0123.+-*/()[]:<>=!,;{}", "<=", ">=", "==", "!=", "**", "//", "%", "@", " ", "1e308", "1e999",
           "0x1f", "sum(w)", "sum(w[1:3])", "w[0]", "w[-1]", "w[9]", "w[x1]", "2*x1", "1", "-", "not ", "and", "if",
           "lambda", "True", "None", "'x1'", "f'{x1}'", "\n", "\t", "\\", "#", "…", "9" * 5000, "1_0", "1j",
           "(" * 300, "-" * 300, "x1+" * 300]  # fmt: skip

_terms = st.sampled_from(
    [
        "x1",
        "x2",
        "n",
        "lr",
        "on",
        "w[0]",
        "w[-1]",
        "sum(w)",
        "sum(w[1:])",
        "3",
        "0.5",
        "(x1 + 2*n)",
        "act",
        "-x2",
        "x1/2",
    ]
)
_sums = st.lists(st.tuples(st.sampled_from(["+", "-", "*", "/"]), _terms), max_size=4).map(
    lambda terms: "".join(f" {sign} {term}" for sign, term in terms)
)
_comparisons = st.sampled_from(["<=", ">=", "==", "<", ">", "=", "!=", "in", "is"])

#: Linear constraints as people write them, well or badly.
constraint_texts = st.one_of(
    st.builds(lambda a, b, sign, c, d: f"{a}{b} {sign} {c}{d}", _terms, _sums, _comparisons, _terms, _sums),
    st.builds(lambda a, b, s: f"{a} {s} {b} {s} {a}", _terms, _terms, _comparisons),
    st.lists(st.sampled_from(_TOKENS), max_size=12).map("".join),
    odd.texts,
)

_numbers = (
    st.integers(-3, 9) | st.floats(-3, 9) | st.sampled_from([1e308, -1e308, 5e-324, 2**53, 10**30, True, None, "1"])
)

#: Linear constraints in other forms.
constraint_tables = st.fixed_dictionaries(
    {},
    optional={
        "coefficients": st.dictionaries(
            st.sampled_from([*_NAMES, "w[0]", "w[9]", 3]), _numbers | st.lists(_numbers, max_size=4), max_size=4
        )
        | odd.anything,
        "lower": _numbers | odd.anything,
        "upper": _numbers | odd.anything,
        "Upper": _numbers,
    },
).map(odd.opened)

_values = _numbers | st.sampled_from(["a", "b", "", "é", "float", "int"]) | st.booleans()
_parameter = st.one_of(
    st.fixed_dictionaries(
        {"type": st.sampled_from(["float", "int", "categorical", "bool", "Float", "flaot", 3, None])},
        optional={
            "low": _values | st.lists(_values, max_size=3),
            "high": _values | st.lists(_values, max_size=3),
            "log": _values,
            "shape": _values | st.lists(_values, max_size=2),
            "choices": st.lists(_values, max_size=4) | _values,
            "lo": _values,
        },
    ),
    st.lists(_values, max_size=3),
    _values,
)

#: What a space file may hold, well or badly.
documents = st.one_of(
    st.fixed_dictionaries(
        {"parameters": st.dictionaries(st.sampled_from([*_NAMES, "", "a b"]), _parameter, max_size=4) | _values},
        optional={
            "linear_constraints": st.lists(constraint_texts | _values, max_size=2) | _values,
            "n_constraints": _values,
            "n_constraint": _values,
        },
    ),
    st.recursive(
        _values, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
)


def as_json(document):
    return json.dumps(document)


def as_toml(document):
    """A document as TOML, which has no word for None and cannot begin with anything but a key: then it is broken."""
    if not isinstance(document, dict):
        return _toml(document)
    return "".join(f"{json.dumps(key)} = {_toml(value)}\n" for key, value in document.items())


def _toml(value):
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {_toml(each)}" for key, each in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value)


#: (suffix, content) of a space file: well or badly written, or cut, or no text at all.
space_files = st.one_of(
    documents.map(lambda document: (".json", as_json(document).encode())),
    documents.map(lambda document: (".toml", as_toml(document).encode())),
    st.tuples(st.sampled_from([".json", ".toml", ".JSON", "", ".yaml"]), st.binary(max_size=20)),
    st.tuples(st.sampled_from([".json", ".toml"]), odd.texts.map(lambda text: text.encode(errors="replace"))),
    st.builds(lambda document, end: (".json", as_json(document).encode()[:end]), documents, st.integers(0, 80)),
    st.builds(lambda document, end: (".toml", as_toml(document).encode()[:end]), documents, st.integers(0, 80)),
    st.sampled_from([(".json", b"[" * 5000), (".json", b"9" * 5000), (".toml", b"a=" + b"[" * 2000), (".json",
    b"\xef\xbb\xbf{}"), (".json", b'{"parameters": {"a": {"type": "float", "low": NaN, "high": Infinity}}}'),
                     (".json", b'{"parameters": {"a": [0, 1], "a": [0, 2]}}'), (".toml", b"a = " + b"9" * 5000)]),
)  # fmt: skip
