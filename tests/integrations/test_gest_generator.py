"""The generator of gest-api by itself: what becomes of a VOCS, and of results."""

import copy
import math
import pickle

import numpy as np
import pytest
from gest_api import Generator
from gest_api.vocs import VOCS, ContinuousVariable, DiscreteVariable

from boids import Optimizer, Space
from boids.integrations.gest import BoidsGenerator

LINE = [-1.0, 1.0]


def box(dim=12, **fields):
    return VOCS(variables={f"x{i}": LINE for i in range(dim)}, **({"objectives": {"f": "MINIMIZE"}} | fields))


def bowl(point):
    return sum((point[name] - 0.3) ** 2 for name in point if name.startswith("x"))


def carry_out(generator, rounds, batch=1, function=bowl, sign=1.0):
    """Return all evaluated points."""
    done = []
    for _ in range(rounds):
        results = [point | {"f": sign * function(point)} for point in generator.suggest(batch)]
        generator.ingest(results)
        done += results
    return done


def last_told(generator):
    """The latest outcome as the method has it: the point in the user's units, the value, and the constraints."""
    history = generator._course._ledger.history()
    constraints = None if history.constraints is None else history.constraints[-1]
    return generator._course.setup.space.decode(history.units[-1]), history.values[-1], constraints


def test_it_is_what_the_standard_asks_for():
    generator = BoidsGenerator(box(constants={"energy": 3.0}, observables={"spread"}), budget=20, seed=0)
    assert isinstance(generator, Generator)
    assert generator.returns_id
    points = generator.suggest(3)
    assert len(points) == 3
    assert len({point["_id"] for point in points}) == 3
    for point in points:
        assert set(point) == {*(f"x{i}" for i in range(12)), "energy", "_id"}
        assert point["energy"] == 3.0
        assert all(type(point[f"x{i}"]) is float and -1 <= point[f"x{i}"] <= 1 for i in range(12))
    generator.ingest([point | {"f": 1.0, "spread": 0.2} for point in points])
    generator.finalize()


@pytest.mark.parametrize("method", ["boids", "turbo", "random"])
def test_a_seed_makes_a_run_reproducible(method):
    runs = [carry_out(BoidsGenerator(box(5), method, budget=14, seed=3), 14) for _ in range(2)]
    assert runs[0] == runs[1]
    other = carry_out(BoidsGenerator(box(5), method, budget=14, seed=4), 2)
    assert other != runs[0][:2]


def test_it_proposes_what_the_native_optimizer_does():
    generator = BoidsGenerator(box(10), budget=26, seed=5)
    optimizer = Optimizer(Space({f"x{i}": (-1.0, 1.0) for i in range(10)}), budget=26, seed=5)
    for result in carry_out(generator, 26):
        trial = optimizer.ask()
        assert trial.x == {name: result[name] for name in trial.x}
        optimizer.tell(trial, result["f"])


def test_maximising_is_minimising_the_negative():
    down = carry_out(BoidsGenerator(box(6), budget=24, seed=1), 24)
    up = carry_out(BoidsGenerator(box(6, objectives={"f": "MAXIMIZE"}), budget=24, seed=1), 24, sign=-1.0)
    assert [each["x0"] for each in up] == [each["x0"] for each in down]


def test_a_run_may_go_on_beyond_its_budget():
    generator = BoidsGenerator(box(3), budget=6, seed=0)
    points = [tuple(each.values()) for each in carry_out(generator, 10)]
    assert len(set(points)) == 10


def test_without_a_number_the_method_gives_what_misses_no_outcome():
    generator = BoidsGenerator(box(4), "boids", budget=40, seed=0)
    design = generator.suggest()
    assert len(design) > 1
    generator.ingest([point | {"f": bowl(point)} for point in design])
    assert len(generator.suggest()) == 1
    assert generator.suggest(0) == []


def test_suggestions_that_have_not_come_back_are_under_way():
    generator = BoidsGenerator(box(2), budget=60, seed=0)
    carry_out(generator, 22)
    open_points = generator.suggest(4)
    assert len({(point["x0"], point["x1"]) for point in open_points}) == 4
    generator.ingest([point | {"f": bowl(point)} for point in reversed(open_points[1:])])
    assert list(generator._course.open) == [open_points[0]["_id"]]
    assert all(generator._course.own)


def test_results_of_others_are_learnt_from():
    generator = BoidsGenerator(box(8), budget=40, seed=0)
    best = {f"x{i}": 0.3 for i in range(8)}
    generator.ingest([best | {"f": 0.0}])
    point, value, _ = last_told(generator)
    assert value == 0.0
    assert point == pytest.approx(best)
    assert generator._course.own == [False]
    done = carry_out(generator, 30)
    assert min(np.linalg.norm([each[f"x{i}"] - 0.3 for i in range(8)]) for each in done) < 0.5


def test_a_result_at_another_point_than_the_suggested_is_learnt_where_it_was_made():
    generator = BoidsGenerator(box(3), budget=20, seed=0)
    first, second, third = generator.suggest(3)
    generator.ingest([first | {"x0": 0.125, "f": 1.0}])
    assert last_told(generator)[0]["x0"] == pytest.approx(0.125)
    generator.ingest(
        [{name: np.float32(value) if name != "_id" else value for name, value in second.items()} | {"f": 1}]
    )
    generator.ingest([{"_id": third["_id"], "f": 1.0}])
    assert generator._course.own == [False, True, True]


@pytest.mark.parametrize("value", [math.nan, math.inf, None])
def test_failures(value):
    generator = BoidsGenerator(box(3, constraints={"c": ["LESS_THAN", 1.0]}), budget=20, seed=0)
    one, two = generator.suggest(2)
    generator.ingest([one | {"f": value, "c": 0.0}, two | {"f": 1.0, "c": value}])
    assert np.isnan(generator._course._ledger.history().values).all()
    assert generator.suggest(1)


def test_constraints_are_at_most_zero_where_they_hold():
    limits = {"low": ["GREATER_THAN", -2.0], "high": ["LESS_THAN", 3.0], "both": ["BOUNDS", 1.0, 5.0]}
    vocs = box(3, constraints=limits)
    generator = BoidsGenerator(vocs, budget=20, seed=0)
    for outputs, expected in (
        ({"low": 0.0, "high": 1.0, "both": 2.0}, [-2.0, -2.0, -1.0, -3.0]),
        ({"low": -5.0, "high": 4.0, "both": 7.0}, [3.0, 1.0, -6.0, 2.0]),
        ({"low": -5.0, "high": 4.0, "both": 0.0}, [3.0, 1.0, 1.0, -5.0]),
    ):
        (point,) = generator.suggest(1)
        generator.ingest([point | {"f": 0.0} | outputs])
        constraints = last_told(generator)[2]
        assert constraints.tolist() == expected
        holds = all(vocs.constraints[name].check(outputs[name]) for name in outputs)
        assert holds == (constraints <= 0).all()


def test_the_best_feasible_region_is_found():
    vocs = box(6, constraints={"c": ["GREATER_THAN", 0.5]})
    generator = BoidsGenerator(vocs, budget=35, seed=0)
    feasible = []
    for _ in range(35):
        (point,) = generator.suggest(1)
        value, constraint = bowl(point), point["x0"]
        generator.ingest([point | {"f": value, "c": constraint}])
        feasible += [value] if constraint > 0.5 else []
    assert min(feasible) < 0.5  # 0.04 is the optimum, and 2.5 the value of a random point


def test_every_kind_of_variable():
    vocs = VOCS(
        variables={
            "real": [-2.0, 2.0],
            "rate": [1e-6, 1.0],
            "whole": ContinuousVariable(domain=[1.5, 9.5], dtype=int),
            "cells": {12, 4, 6.5},
            "shape": {"round", "flat", "oval"},
            "on": DiscreteVariable(values={True, False}),
            "only": {7},
            "vector": ContinuousVariable(domain=[0.0, 1.0], dtype=(float, (3,))),
        },
        objectives={"f": "MINIMIZE"},
    )
    generator = BoidsGenerator(vocs, "random", budget=200, seed=0, log=["rate"])
    points = generator.suggest(200)
    seen = {name: {point[name] for point in points} for name in ("whole", "cells", "shape", "on", "only")}
    assert seen == {
        "whole": set(range(2, 10)),
        "cells": {4, 6.5, 12},
        "shape": {"round", "flat", "oval"},
        "on": {True, False},
        "only": {7},
    }
    assert 0.3 < np.mean([point["rate"] < 1e-3 for point in points]) < 0.7
    assert all(point["vector"].shape == (3,) for point in points)
    generator.ingest([point | {"f": 1.0} for point in points[:50]])
    assert all(generator._course.own)
    generator.ingest([{name: each for name, each in points[60].items() if name != "_id"} | {"f": 0.0}])
    told = last_told(generator)[0]
    assert told["real"] == pytest.approx(points[60]["real"])
    assert told["whole"] == points[60]["whole"]


def test_words_have_the_same_order_in_every_process():
    """A set of strings has none."""
    words = DiscreteVariable(values={"b", "c", "a", "d"})
    generator = BoidsGenerator(VOCS(variables={"w": words}, objectives={"f": "MINIMIZE"}), "random", budget=5, seed=0)
    assert generator._translation._variables["w"].values == ("a", "b", "c", "d")


@pytest.mark.parametrize(
    ("vocs", "words"),
    [
        (box(objectives={}), "one objective, got 0"),
        (box(objectives={"f": "MINIMIZE", "g": "MINIMIZE"}), "one objective, got 2"),
        (box(objectives={"f": "EXPLORE"}), "must be MINIMIZE or MAXIMIZE, got ExploreObjective"),
        (VOCS(variables={"x": LINE, "t": "CONTEXTUAL"}, objectives={"f": "MINIMIZE"}), "'t' cannot be searched"),
        (VOCS(variables={"x": [0.0, np.inf]}, objectives={"f": "MINIMIZE"}), "'x' cannot be searched"),
        (VOCS(variables={"x": {1}}, objectives={"f": "MINIMIZE"}), "no variable with more than one value"),
        (
            VOCS(variables={"x": ContinuousVariable(domain=LINE, dtype=(float, (2, 2)))}, objectives={"f": "MINIMIZE"}),
            "a number or a vector",
        ),
        (
            VOCS(variables={"x": ContinuousVariable(domain=LINE, dtype=str)}, objectives={"f": "MINIMIZE"}),
            "real or whole numbers",
        ),
        ("x in [0, 1]", "must be a gest_api.vocs.VOCS"),
    ],
)
def test_what_cannot_be_searched_is_refused(vocs, words):
    with pytest.raises(ValueError, match=words) as caught:
        BoidsGenerator(vocs)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"log": ["x3"]}, "no variable of the VOCS; the variables are"),
        ({"log": ["x0"]}, "low > 0"),
        ({"budget": 0}, "budget"),
        ({"method": "bods"}, "boids"),
        ({"seed": -1}, "seed"),
    ],
)
def test_wrong_arguments(arguments, words):
    with pytest.raises(ValueError, match=words):
        BoidsGenerator(box(3), **arguments)


@pytest.mark.parametrize(
    ("result", "words"),
    [
        ({"_id": 99, "f": 1.0}, "was not suggested"),
        ({"_id": "a", "f": 1.0}, "was not suggested"),
        ({"_id": 0}, "lacks 'f'"),
        ({"_id": 0, "f": "much"}, r"results\[1\]: The value must be one real number"),
        ({"f": 1.0, "x0": 0.0}, "lacks the variable 'x1'"),
        ({"f": 1.0, "x0": 0.0, "x1": 5.0}, "not a point of the VOCS"),
        ("f=1", "must be a dict"),
    ],
)
def test_a_result_that_cannot_be_read_changes_nothing(result, words):
    generator = BoidsGenerator(box(2), budget=20, seed=0)
    generator.suggest(2)
    with pytest.raises(ValueError, match=words):
        generator.ingest([{"_id": 1, "f": 1.0}, result])
    assert generator._course.told == []
    assert len(generator._course.open) == 2


def test_numbers_that_went_through_a_data_frame():
    """A column with and without numbers is one of floats and nan."""
    generator = BoidsGenerator(box(2), budget=20, seed=0)
    (point,) = generator.suggest(1)
    generator.ingest([point | {"_id": 0.0, "f": 1.0}, {"x0": 0.0, "x1": 0.0, "_id": math.nan, "f": 2.0}])
    assert generator._course.own == [True, False]
    assert generator.vocs == box(2)


def test_no_result_is_taken_twice():
    generator = BoidsGenerator(box(2), budget=20, seed=0)
    (point,) = generator.suggest(1)
    result = point | {"f": 1.0}
    with pytest.raises(ValueError, match="ingested already"):
        generator.ingest([result, result])
    generator.ingest([result])
    with pytest.raises(ValueError, match="ingested already"):
        generator.ingest([result])
    with pytest.raises(ValueError, match="list of dicts"):
        generator.ingest(result)


@pytest.mark.parametrize("again", [copy.deepcopy, lambda generator: pickle.loads(pickle.dumps(generator))])
def test_a_copy_goes_on_alike(again):
    """Whoever runs generators may send them to another process."""
    generator = BoidsGenerator(box(4), budget=30, seed=0)
    carry_out(generator, 22)
    other = again(generator)
    assert carry_out(other, 3) == carry_out(generator, 3)
