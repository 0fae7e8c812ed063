"""Checks that every method must pass, one function per law; importable, so that methods of others can pass them too.

    from boids.testing import check_method
    check_method(MyMethod())

A law is a function of a method that raises a `ConformanceError` where it is broken. `LAWS` has all of them by name. The
laws need no test framework; each takes about as long as the method needs for a few dozen proposals in a few dimensions,
so give a method whose search is costly settings that make it quick, and an initial design that is over early.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import FrozenInstanceError, fields, is_dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from boids import packing, plain
from boids.algorithms import METHODS, Algorithm, find
from boids.errors import BudgetExhausted
from boids.optimizer import Optimizer
from boids.records import Domain, FloatArray, History, Outcome, Proposal
from boids.space import Bool, Categorical, Float, Int, Space

Law: TypeAlias = Callable[[Any, int], None]

#: Evaluations of one run of a law, unless told otherwise.
BUDGET = 26
#: Names of settings that are a dimension to search in, which a space may not have.
TARGET_DIMENSIONS = ("target_dim", "initial_dim", "embedding_dim")
#: Methods that no value ever teaches anything; all others must be better than random search.
LEARN_NOTHING = ("random", "sobol")


class ConformanceError(AssertionError):
    """A method breaks a law."""


def check_method(
    method: Any, *, budget: int = BUDGET, evaluations: int = 80, laws: Iterable[str] | None = None
) -> None:
    """Check all laws, or those named; except that a method of `LEARN_NOTHING` need not beat random search.

    Parameters
    ----------
    method
        An algorithm, or the name of one.
    budget
        Evaluations of a run of each law.
    evaluations
        Those after which the method must be better than random search.
    """
    algorithm = find(method)
    for name in LAWS if laws is None else laws:
        if name != "beats_random":
            LAWS[name](algorithm, budget)
        elif algorithm.name not in LEARN_NOTHING:
            beats_random(algorithm, evaluations=evaluations)


def sphere(point: Any) -> float:
    """Return the squared distance from a point that is no centre of anything."""
    x = np.asarray(point, dtype=float)
    return float(np.sum((x - np.linspace(-0.55, 0.7, len(x))) ** 2))


# ------------------------------------------------------------------------------------------ the bare method, no shell


def proposals_inside_the_cube(method: Any, budget: int = BUDGET) -> None:
    """Without the shell, which would repair it: every proposal is a finite point of the signed cube."""
    for dim in (1, 5):
        for proposal, _ in _bare_run(find(method), Domain(dim), budget):
            unit = np.asarray(proposal.unit)
            _demand(unit.shape == (dim,), f"proposes the shape {unit.shape} in {dim} dimensions")
            _demand(bool(np.isfinite(unit).all()), "proposes a point that is not finite")
            _demand(float(np.abs(unit).max()) <= 1.0 + 1e-12, f"proposes {unit}, outside of the signed cube")


def states_are_frozen_plain_data(method: Any, budget: int = BUDGET) -> None:
    """A state is a frozen dataclass of its class `State` that can be saved, and no call ever changes an old one."""
    algorithm = find(method)
    earlier: list[tuple[Any, bytes]] = []
    for _, state in _bare_run(algorithm, Domain(4), budget):
        _demand(type(state) is algorithm.State and is_dataclass(state), f"has a {type(state).__name__} as its state")
        earlier.append((state, _saved(algorithm, state)))
    for state, saved in earlier:
        _demand(_saved(algorithm, state) == saved, "has changed a state after it was returned")
    _demand(_is_frozen(earlier[0][0]), "has a state whose fields can be set")
    _demand(_is_frozen(algorithm), "has settings that can be set after it was made")


def calls_are_pure(method: Any, budget: int = BUDGET) -> None:
    """The same call with the same random numbers gives the same, also after other calls."""
    algorithm, domain = find(method), Domain(3)
    first = list(_bare_run(algorithm, domain, budget, repeat=True))
    second = list(_bare_run(algorithm, domain, budget))
    for (one, mine), (other, yours) in zip(first, second, strict=True):
        _demand(np.array_equal(one.unit, other.unit), "proposes something else when it is called again")
        _demand(_saved(algorithm, mine) == _saved(algorithm, yours), "has another state when it is called again")


# ------------------------------------------------------------------------------------------------ orders and budgets


def any_order_of_tells(method: Any, budget: int = BUDGET) -> None:
    """Outcomes may come late and in any order, with few or many trials under way."""
    for waiting in (2, 7, budget):
        optimizer = Optimizer([(-1, 1)] * 4, budget=budget, method=find(method), seed=waiting)
        chance = np.random.default_rng(waiting)
        while optimizer.remaining or optimizer.pending:
            while optimizer.remaining and len(optimizer.pending) < waiting:
                optimizer.ask()
            trial = optimizer.pending[int(chance.integers(len(optimizer.pending)))]
            optimizer.tell(trial, sphere(trial.x))
        _demand(optimizer.n_told == budget, f"made {optimizer.n_told} instead of {budget} evaluations")


def batches_of_different_points(method: Any, budget: int = BUDGET) -> None:
    """Trials of a batch, and those that are pending at the same time, are different points."""
    optimizer = Optimizer([(-1, 1)] * 4, budget=budget, method=find(method), seed=1)
    while optimizer.remaining:
        for trial in optimizer.ask(4):
            optimizer.tell(trial, sphere(trial.x))
    points = {trial.unit.tobytes() for trial in optimizer.trials}
    _demand(len(points) == budget, f"proposed only {len(points)} different points of {budget}")
    _demand(optimizer.algorithm.ready(optimizer.run.state) >= 1, "is ready for less than one proposal")


def exact_budgets(method: Any, budget: int = BUDGET) -> None:
    """Any budget is used to the last evaluation and not beyond, also one smaller than an initial design."""
    for size in (1, 2, 5, budget):
        optimizer = _run(find(method), [(-1, 1)] * 4, size)
        _demand(optimizer.n_told == size and optimizer.best is not None, f"does not use a budget of {size}")
        try:
            optimizer.ask()
        except BudgetExhausted:
            continue
        raise ConformanceError(f"goes on after a budget of {size}.")


def same_seed_same_trace(method: Any, budget: int = BUDGET) -> None:
    """A seed decides everything; another one leads to other points."""
    one, same, other = (_run(find(method), [(-1, 1)] * 4, budget, seed=seed) for seed in (3, 3, 4))
    _demand(_trace(one) == _trace(same), "makes different runs of the same seed")
    _demand(_trace(one)[0] != _trace(other)[0], "makes the same run of different seeds")


def resume_is_exact(method: Any, budget: int = BUDGET) -> None:
    """Run 2N ≡ run N, save, load, run N, bit for bit: broken off after every single step, with trials under way."""
    algorithm = find(method)
    own = None if METHODS.get(algorithm.name) is type(algorithm) else algorithm

    def steps(optimizer: Optimizer, broken_off: Callable[[Optimizer], Optimizer]) -> Optimizer:
        while optimizer.remaining or optimizer.pending:
            while optimizer.remaining and len(optimizer.pending) < 3:
                optimizer.ask()
                optimizer = broken_off(optimizer)
            trial = optimizer.pending[optimizer.n_told % len(optimizer.pending)]
            optimizer.tell(trial, error="crash" if trial.id % 6 == 4 else None, value=sphere(trial.x))
            optimizer = broken_off(optimizer)
        return optimizer

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run"

        def reloaded(optimizer: Optimizer) -> Optimizer:
            optimizer.save(path)
            return Optimizer.load(path, method=own)

        begun = [Optimizer([(-1, 1)] * 4, budget=budget, method=algorithm, seed=5) for _ in range(2)]
        whole, parts = steps(begun[0], lambda optimizer: optimizer), steps(begun[1], reloaded)
    _demand(_trace(whole) == _trace(parts), "goes on differently after it was saved and loaded")


# ------------------------------------------------------------------------------------------- spaces and objectives


def small_dimensions(method: Any, budget: int = BUDGET) -> None:
    """One, two and three parameters are enough."""
    for dim in (1, 2, 3):
        _run(find(method), [(-1, 1)] * dim, budget, seed=dim)


def target_dimension_above_the_input(method: Any, budget: int = BUDGET) -> None:
    """A dimension to search in that is higher than the space's is cut to it."""
    algorithm = find(method)
    for name in TARGET_DIMENSIONS:
        if is_dataclass(algorithm) and name in {field.name for field in fields(algorithm)}:
            larger: Any = replace(algorithm, **{name: 9})
            _run(larger, [(-1, 1)] * 3, budget)


def failures(method: Any, budget: int = BUDGET) -> None:
    """Evaluations may fail: some, the first ones, or all of them."""
    for fails in (lambda i: i % 3 == 1, lambda i: i < budget // 2, lambda _: True):
        optimizer = Optimizer([(-1, 1)] * 4, budget=budget, method=find(method), seed=2)
        while optimizer.remaining:
            trial = optimizer.ask()
            optimizer.tell(trial, float("nan") if fails(trial.id) else sphere(trial.x))
        _demand(optimizer.n_told == budget, "does not come to the end when evaluations fail")


def odd_values(method: Any, budget: int = BUDGET) -> None:
    """Values may be all the same, huge or tiny."""
    for objective in (lambda x: 7.0, lambda x: 1e300 * sphere(x), lambda x: 1e-300 * sphere(x), lambda x: -1e9 + x[0]):
        _run(find(method), [(-1, 1)] * 4, budget, objective=objective)


def guests(method: Any, budget: int = BUDGET) -> None:
    """The user's own points, evaluated before, first or meanwhile, failed ones and bounds among them."""
    optimizer = Optimizer([(-1, 1)] * 4, budget=budget, method=find(method), seed=6, x0=[[1.0] * 4, [0.1] * 4])
    optimizer.add_trials([([0.5, -1.0, 0.0, 0.2], 3.0), ([-1.0] * 4, float("nan"))])
    first = optimizer.ask(3)  # the last one with both of the user's own pending
    for trial in reversed(first):
        optimizer.tell(trial, sphere(trial.x))
    while optimizer.remaining:
        trial = optimizer.ask()
        if trial.id % 5 == 0:
            optimizer.add_trials([(np.sin(np.arange(4.0) + trial.id), 1.0 + trial.id)])
        optimizer.tell(trial, sphere(trial.x))
    _demand(optimizer.n_told == budget, f"made {optimizer.n_told} instead of {budget} evaluations")


def mixed_and_constrained_spaces(method: Any, budget: int = BUDGET) -> None:
    """Integers, categories and logarithms, linear constraints, equations among parameters, black-box constraints."""
    space = Space(
        {
            "rate": Float(1e-4, 1, log=True),
            "n": Int(1, 9),
            "kind": Categorical(["a", "b", "c"]),
            "on": Bool(),
            "w": Float(-1, 1, shape=3),
        }
    )
    cases: tuple[dict[str, Any], ...] = (
        {},
        {"linear_constraints": ["w[0] + w[1] <= 0.4", "n >= 3"]},
        {"linear_constraints": "sum(w) == 0.5"},
        {"n_constraints": 2},
        {"n_constraints": 2, "penalty": 3.0},
    )
    for case in cases:
        optimizer = Optimizer(space, budget=budget, method=find(method), seed=8, **case)
        while optimizer.remaining:
            trial = optimizer.ask()
            x: Any = trial.params
            more: dict[str, Any] = {}
            if optimizer.n_constraints:
                more["constraints"] = [x["n"] - 6.0, 0.1 - float(x["w"][0])]
            optimizer.tell(trial, sphere(x["w"]) + x["n"] / 9 + x["on"] + np.log10(x["rate"]) ** 2, **more)
        _demand(optimizer.n_told == budget, f"made {optimizer.n_told} instead of {budget} evaluations")


def noisy_objectives(method: Any, budget: int = BUDGET) -> None:
    """Values may be noisy, with variances that are known for some of them."""
    optimizer = Optimizer([(-1, 1)] * 4, budget=budget, method=find(method), seed=9, noisy=True)
    while optimizer.remaining:
        trial = optimizer.ask()
        noise = 0.3 * np.random.default_rng(trial.id).normal()
        optimizer.tell(trial, sphere(trial.x) + noise, noise_variance=0.09 if trial.id % 2 else None)
    _demand(optimizer.best is not None, "finds no best trial of a noisy objective")


def beats_random(
    method: Any, budget: int = BUDGET, *, evaluations: int = 80, runs: int = 4, dim: int = 10, level: float = 0.01
) -> None:
    """Better than random search on a shifted sphere, by a one-sided rank test (Mann & Whitney, 1947).

    A method that is no better than random search passes with a probability of at most `level`; with fixed seeds, a
    method that has passed once always does.

    Parameters
    ----------
    evaluations
        Of every run; `budget` is not used, for here it matters how many there are.
    runs
        Of the method; random search gets ten times as many.
    """
    from scipy.stats import mannwhitneyu

    algorithm = find(method)
    mine = np.array([_run(algorithm, [(-1, 1)] * dim, evaluations, seed).estimate for seed in range(runs)], dtype=float)
    rng = np.random.default_rng(1)
    theirs = [min(map(sphere, rng.uniform(-1.0, 1.0, (evaluations, dim)))) for _ in range(10 * runs)]
    p = float(mannwhitneyu(mine, theirs, alternative="less", method="exact").pvalue)
    _demand(
        p <= level,
        f"is no better than random search on a sphere of {dim} dimensions after {evaluations} evaluations: medians "
        f"{np.median(mine):.3g} and {np.median(theirs):.3g}, p = {p:.2g}",
    )


LAWS: Mapping[str, Law] = MappingProxyType(
    {
        law.__name__: law
        for law in (
            proposals_inside_the_cube,
            states_are_frozen_plain_data,
            calls_are_pure,
            any_order_of_tells,
            batches_of_different_points,
            exact_budgets,
            same_seed_same_trace,
            resume_is_exact,
            small_dimensions,
            target_dimension_above_the_input,
            failures,
            odd_values,
            guests,
            mixed_and_constrained_spaces,
            noisy_objectives,
            beats_random,
        )
    }
)


# ------------------------------------------------------------------------------------------------------------- tools


def _demand(holds: bool, complaint: str) -> None:
    if not holds:
        raise ConformanceError(f"The method {complaint}.")


def _run(
    method: Algorithm[Any], space: Any, budget: int, seed: int = 0, objective: Callable[[Any], float] = sphere
) -> Optimizer:
    """Return the optimizer of a whole run, one trial after the other."""
    optimizer = Optimizer(space, budget=budget, method=method, seed=seed)
    while optimizer.remaining:
        trial = optimizer.ask()
        optimizer.tell(trial, float(objective(trial.x)))
    return optimizer


def _trace(optimizer: Optimizer) -> list[Any]:
    """Return all that must be equal in equal runs."""
    facts = {name: value for name, value in optimizer.diagnostics.items() if name != "times"}
    trials = [(trial.unit.tobytes(), trial.value, trial.error, json.dumps(trial.info)) for trial in optimizer.trials]
    return [trials, json.dumps(facts), _saved(optimizer.algorithm, optimizer.run.state)]


def _saved(method: Algorithm[Any], state: Any) -> bytes:
    arrays: list[plain.AnyArray] = []
    return packing.pack(plain.encode(state, method.State, arrays, "state"), arrays)


def _is_frozen(record: Any) -> bool:
    names = [field.name for field in fields(record)]
    if not names:
        return bool(record.__dataclass_params__.frozen)
    try:
        setattr(record, names[0], getattr(record, names[0]))
    except FrozenInstanceError:
        return True
    return False


def _bare_run(
    method: Algorithm[Any], domain: Domain, budget: int, repeat: bool = False
) -> Iterable[tuple[Proposal, Any]]:
    """Yield the proposals of a run without the shell, and the states after them; with two proposals under way.

    With `repeat` every call is made twice, and what the first one returned is thrown away.
    """

    def called(function: Callable[..., Any], key: tuple[int, int], *arguments: Any) -> Any:
        if repeat:
            function(*arguments, np.random.default_rng(key))
        return function(*arguments, np.random.default_rng(key))

    units: FloatArray = np.empty((0, domain.dim))
    values: FloatArray = np.empty(0)
    pending: list[Proposal] = []
    state = called(method.init, (0, 0), domain, budget)
    for number in range(budget):
        history = History(units, values, space=domain)
        state, proposal = called(method.ask, (1, number), state, history, tuple(pending))
        yield proposal, state
        pending.append(proposal)
        if len(pending) > 1:
            told = pending.pop(number % 2)
            units = np.vstack([units, told.unit])
            values = np.append(values, sphere(told.unit) if number % 7 else np.nan)
            history = History(units, values, space=domain)
            state = called(method.tell, (2, number), state, history, told, Outcome(float(values[-1])))
