"""Every method of the registry under every law of `boids.testing`, with settings that make its search quick."""

import re
from dataclasses import dataclass, fields, is_dataclass, replace

import numpy as np
import pytest
from toy_methods import Toy, Wanderer

from boids import MethodError, MissingExtra, Optimizer, cite
from boids.algorithms import ALGORITHMS, RandomSearch
from boids.algorithms.protocol import CONSIDERED
from boids.blocks.nsga2 import NSGA2
from boids.records import Proposal
from boids.setup import ASK
from boids.testing import LAWS, LEARN_NOTHING, ConformanceError, beats_random, check_method

#: Smaller searches and designs, wherever a method has a setting of that name.
SMALLER = {
    "n_init": 5,
    "max_candidates": 150,
    "candidates_per_dim": 50,
    "candidates": 100,
    "nearby": 20,
    "raw_samples": 32,
    "ei_candidates": 32,
    "starts": 2,
    "ei_starts": 2,
    "max_evaluations": 30,
    "path_features": 64,
    "bandit_candidates": 100,
    "search": NSGA2(population=16, offspring=16, generations=4),
    "target_dim": 3,
}
#: What is particular to one method.
PARTICULAR = {
    "boids": {"particles": 5, "failure_tolerance": "released", "termination_max": 3},
    "pso": {"particles": 5},
    "cmaes": {"population": 5},
    "cmabo": {"population": 5},
    # One compilation for each dimension: but for the last, no law has more than 32 evaluations.
    "saasbo": {"warmup": 24, "samples": 8, "thinning": 4, "max_tree_depth": 3, "padding": 32},
}
#: Evaluations by which a method is better than random search in 10 dimensions, if 50 are too few.
EVALUATIONS = {"pso": 500, "cmaes": 300, "linebo": 150}
#: Methods that are quick with their default settings.
PLAIN = ("pso", "cmaes")
#: Budget of the other laws: past the design, past a few generations.
BUDGET = 16


def quick(name, **more):
    """The method with a quick search; skips if it cannot be had here."""
    method = ALGORITHMS[name]()
    known = {field.name for field in fields(method)}
    wanted = {**SMALLER, **PARTICULAR.get(name, {}), **more}
    method = replace(method, **{key: value for key, value in wanted.items() if key in known})
    try:
        Optimizer([(0, 1)] * 2, budget=1, method=method, seed=0)
    except MissingExtra as error:
        pytest.skip(str(error))
    return method


@pytest.mark.parametrize("law", [law for law in LAWS if law != "beats_random"])
@pytest.mark.parametrize("name", ALGORITHMS)
def test_law(name, law):
    LAWS[law](quick(name), BUDGET)


@pytest.mark.parametrize("name", [name for name in ALGORITHMS if name not in LEARN_NOTHING])
def test_better_than_random_search(name):
    """A method that is no better passes with a probability of at most 1 %; the seeds are fixed."""
    method = ALGORITHMS[name]() if name in PLAIN else quick(name, n_init=10, target_dim=10)
    beats_random(method, evaluations=EVALUATIONS.get(name, 50))


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_method_says_what_it_is_and_can_be_cited(name):
    cls = ALGORITHMS[name]
    assert cls.name == name
    assert cls.summary
    assert cls.reference
    assert cite(name).startswith("@")
    assert is_dataclass(cls)
    assert is_dataclass(cls.State)
    assert set(cls.considers) <= set(CONSIDERED)
    assert ("constraints" in cls.considers) == getattr(cls, "models_constraints", False)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_points_under_way_count_if_the_method_says_so(name):
    """Where a model-based method would go next, it does not go again while that point is being evaluated."""
    optimizer = Optimizer([(-1, 1)] * 6, budget=40, method=quick(name), seed=1)
    for _ in range(BUDGET):
        trial = optimizer.ask()
        optimizer.tell(trial, float(((trial.x - 0.3) ** 2).sum()))
    run = optimizer.run
    setup, state = run.setup, run.state

    def proposed():
        history, pending = setup.seen(run.ledger.history()), tuple(run.ledger.pending.values())
        return setup.algorithm.ask(state, history, pending, setup.rng(ASK, BUDGET))[1].unit

    alone = proposed()
    optimizer.ask()  # which is handed out just there
    assert ("pending" in ALGORITHMS[name].considers) == (not np.array_equal(alone, proposed()))


@pytest.mark.parametrize("name", [name for name in ALGORITHMS if "pending" in ALGORITHMS[name].considers])
def test_points_of_a_batch_are_apart(name):
    """At least one coordinate differs by 0.005 % of its range: a second look at one point tells nothing."""
    optimizer = Optimizer([(-1, 1)] * 6, budget=40, method=quick(name), seed=1)
    for _ in range(BUDGET):
        trial = optimizer.ask()
        optimizer.tell(trial, float(((trial.x - 0.3) ** 2).sum()))
    points = np.array([trial.x for trial in optimizer.ask(4)])
    apart = np.abs(points[:, None] - points[None]).max(axis=2)[np.triu_indices(4, 1)]
    assert apart.min() > 1e-4, apart


def test_citations_are_whole():
    for name in ALGORITHMS:
        text = cite(name)
        assert text.count("{") == text.count("}")
        entries = text.count("@")
        assert all(len(re.findall(rf"^  {word} +=", text, re.M)) == entries for word in ("title", "author", "year"))
    with pytest.raises(MethodError, match="did you mean 'turbo'"):
        cite("trubo")


def test_methods_of_others_are_checked_as_well():
    check_method(Wanderer(), budget=9, laws=["resume_is_exact", "same_seed_same_trace", "any_order_of_tells"])
    check_method("random", budget=6)


# ------------------------------------------------------------------------------ the laws find what is wrong


def toy(point):
    return Toy(on_ask=lambda state, history, pending, rng: point(state, rng))


def test_a_point_outside_is_found():
    with pytest.raises(ConformanceError, match="outside"):
        LAWS["proposals_inside_the_cube"](toy(lambda state, rng: np.full(1, 1.5)), 3)


def test_a_method_that_ignores_its_random_numbers_is_found():
    with pytest.raises(ConformanceError, match="different seeds"):
        LAWS["same_seed_same_trace"](toy(lambda state, rng: np.full(4, 0.01 * state.count)), 5)


def test_a_method_that_remembers_outside_its_state_is_found():
    count = iter(range(10_000))
    method = toy(lambda state, rng: np.full(3, next(count) / 10_000))
    with pytest.raises(ConformanceError, match="called again"):
        LAWS["calls_are_pure"](method, 5)


@dataclass
class Loose:
    count: int


@dataclass(frozen=True)
class LooseMethod(Toy):
    """Has a state that can be changed, and changes it."""

    name = "loose"
    State = Loose

    def init(self, domain, budget, rng):
        return Loose(0)

    def ask(self, state, history, pending, rng):
        state.count += 1
        return state, Proposal(rng.uniform(-1, 1, history.domain.dim))


def test_a_state_that_changes_is_found():
    with pytest.raises(ConformanceError, match="changed a state"):
        LAWS["states_are_frozen_plain_data"](LooseMethod(), 5)


def test_random_search_is_no_better_than_random_search():
    with pytest.raises(ConformanceError, match="no better than random search"):
        beats_random(RandomSearch())
