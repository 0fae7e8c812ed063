import pickle
from dataclasses import dataclass, fields
from typing import Literal

import numpy as np
import pytest

import boids
from boids.algorithms import Boids
from boids.blocks.nsga2 import NSGA2
from boids.errors import MethodError
from boids.gp.model import Surrogate
from boids.settings import check_settings, setting


@dataclass(frozen=True)
class Inner:
    size: int = 1


@dataclass(frozen=True)
class Example:
    count: int = setting(3, "here", least=1, most=9)
    share: float = setting(0.5, least=0, most=1)
    maybe: int | None = setting(None, least=1)
    on: bool = True
    kind: Literal["a", "none"] = "a"
    box: tuple[float, float] = (0.0, 1.0)
    inner: Inner = Inner()

    def __post_init__(self):
        check_settings(self)


@pytest.mark.parametrize(
    ("name", "wrong", "expected"),
    [
        ("count", 0, "a whole number of at least 1 and at most 9; got 0"),
        ("count", 10, "at most 9"),
        ("count", 2.0, "a whole number"),
        ("count", True, "a whole number"),
        ("count", "3", "a whole number"),
        ("count", None, "a whole number"),
        ("share", float("nan"), "a finite number"),
        ("share", float("inf"), "a finite number"),
        ("share", -0.1, "at least 0"),
        ("maybe", 0, "a whole number or None of at least 1"),
        ("maybe", "x", "a whole number or None"),
        ("on", "no", "True or False"),
        ("on", 1, "True or False"),
        ("kind", "b", "one of 'a', 'none'"),
        ("kind", None, "one of"),
        ("box", (1.0,), r"\(a finite number, a finite number\)"),
        ("box", None, r"\(a finite number"),
        ("box", (0.0, "x"), r"\(a finite number"),
        ("inner", None, "of type Inner"),
        ("inner", "modern", "of type Inner"),
    ],
)
def test_wrong_values_are_refused_with_the_name_and_what_was_expected(name, wrong, expected):
    with pytest.raises(MethodError, match=rf"^{name} must be .*{expected}"):
        Example(**{name: wrong})


def test_numbers_of_numpy_and_lists_become_plain():
    example = Example(count=np.int64(4), share=np.float32(0.25), maybe=np.int32(2), box=[1, 2])
    assert (type(example.count), type(example.share), type(example.maybe)) == (int, float, int)
    assert example.box == (1.0, 2.0)
    assert type(example.box[0]) is float


@pytest.mark.parametrize("cls", [Boids, NSGA2, Surrogate])
@pytest.mark.parametrize("wrong", [object(), "nonsense", [1, 2, 3], float("nan"), -1, {}])
def test_no_field_takes_nonsense(cls, wrong):
    for field in fields(cls):
        if field.name == "variable_mutation_probability" and wrong is None:
            continue
        with pytest.raises(MethodError, match=field.name):
            cls(**{field.name: wrong})


def test_settings_with_lists_can_be_saved_and_loaded(tmp_path):
    method = Boids(surrogate=Surrogate(lengthscale_bounds=[0.1, 2.0]), particles=np.int64(5))
    optimizer = boids.Optimizer([(0, 1)] * 4, budget=5, method=method, seed=0)
    optimizer.save(tmp_path / "run.npz")
    assert boids.Optimizer.load(tmp_path / "run.npz").algorithm == method
    assert boids.Optimizer.load(tmp_path / "run.npz", method=method).algorithm == method
    with pytest.raises(boids.StoreError, match="other settings"):
        boids.Optimizer.load(tmp_path / "run.npz", method=Boids(particles=6))


def test_the_mark_of_failure_survives_a_trip_to_another_process():
    assert pickle.loads(pickle.dumps(boids.FAILED)) is boids.FAILED
