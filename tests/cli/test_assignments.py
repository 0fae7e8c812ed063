"""key=value on the command line: exact, typed, and never another error than a clear one."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boids.algorithms import Boids
from boids.cli import assignments
from boids.errors import InputError
from boids.gp.model import Surrogate


@dataclass(frozen=True)
class Inner:
    word: str = "a"
    pair: tuple[float, float] = (1.0, 2.0)
    many: tuple[int, ...] = ()
    presets: ClassVar[tuple[str, ...]] = ("loud",)

    @classmethod
    def loud(cls):
        return cls(word="A")


@dataclass(frozen=True)
class Method:
    name: ClassVar[str] = "toy"
    integer: int = 1
    number: float = 1.0
    flag: bool = False
    maybe: int | None = None
    choice: Literal["none", "true", "1", 2] = "1"
    inner: Inner = field(default_factory=Inner)


def given_settings(**texts):
    return assignments.configured(Method, {key.replace("__", "."): text for key, text in texts.items()})


@given(st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.none() | st.integers(), st.booleans())
def test_values_come_back_exactly(integer, number, maybe, flag):
    method = given_settings(integer=repr(integer), number=repr(number), maybe=str(maybe), flag=str(flag).upper())
    assert (method.integer, method.number, method.maybe, method.flag) == (integer, number, maybe, flag)
    assert type(method.number) is float


@given(st.floats(-1e9, 1e9), st.integers(), st.lists(st.integers()))
def test_tuples_come_back_exactly(low, high, many):
    method = given_settings(inner__pair=f"({low!r}, {high})", inner__many=repr(many))
    assert method.inner.pair == (low, float(high))
    assert method.inner.many == tuple(many)


@given(st.text())
def test_any_text_is_a_value_or_an_input_error(text):
    for name in ("integer", "number", "flag", "maybe", "choice", "inner.pair", "inner", "integer.x", text):
        with suppress(InputError):
            assignments.configured(Method, {name: text})


@given(st.text())
def test_words_may_be_quoted(text):
    assert given_settings(inner__word=repr(text)).inner.word == text
    if not set(text) & {"'", '"'}:
        assert given_settings(inner__word=text).inner.word == text


def test_words_that_look_like_values_are_words_where_they_are_choices():
    assert [given_settings(choice=text).choice for text in ("none", "true", "1", "2")] == ["none", "true", "1", 2]


def test_numbers_where_words_are_wanted():
    assert given_settings(inner__word="12").inner.word == "12"
    assert given_settings(inner__word="'quoted'").inner.word == "quoted"


def test_presets_of_a_group():
    assert given_settings(inner__preset="loud", inner__many="[1]").inner == Inner("A", many=(1,))
    with pytest.raises(InputError, match="has no preset 'quiet'; it has loud"):
        given_settings(inner__preset="quiet")


@pytest.mark.parametrize("preset", Surrogate.presets)
def test_presets_of_the_surrogate(preset):
    made = assignments.configured(Boids, {"surrogate.preset": preset, "surrogate.noise_prior": "none"})
    assert made == Boids(surrogate=replace(getattr(Surrogate, preset)(), noise_prior="none"))


def test_settings_that_only_fit_together_are_set_together():
    texts = {"termination_min": "5", "termination_initial": "6"}
    assert assignments.configured(Boids, texts) == Boids(termination_min=5, termination_initial=6)


@given(st.text().filter(lambda key: "=" not in key), st.text())
def test_split_is_at_the_first_equals_sign(key, value):
    if key.strip():
        assert assignments.split([f"{key}={value}"], "--set") == {key.strip(): value.strip()}
    else:
        with pytest.raises(InputError, match="key=value"):
            assignments.split([f"{key}={value}"], "--set")
