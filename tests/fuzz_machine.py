"""A state machine that calls an `Optimizer` in any order, with good and bad arguments, and checks what always holds.

After a save it drives two optimizers at once, the original and the loaded one, which must never differ.
"""

from __future__ import annotations

import json
import math
import tempfile
from pathlib import Path

import fuzz_odd as odd
import numpy as np
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from scipy.optimize import LinearConstraint
from space import strategies

from boids import FAILED, BudgetExhausted, Measurement, Optimizer, SpaceError, SpaceExhausted, TellError, Trial
from boids.algorithms import Boids
from boids.blocks.nsga2 import NSGA2

#: Searches so small that a run takes some hundredths of a second.
SMALL = {
    "search": NSGA2(population=8, offspring=8, generations=2),
    "bandit_candidates": 40,
    "max_candidates": 20,
    "path_features": 16,
    "particles": 4,
}

METHODS = {
    "random": "random",
    "boids": Boids(n_init=3, **SMALL),
    "one-point": Boids(n_init=1, particles=1, **{key: each for key, each in SMALL.items() if key != "particles"}),
    "sweeps": Boids(sweep_from=1.0, **SMALL),
    "paper": Boids.paper(n_init=4, **SMALL),
    "fixed": Boids(
        sweep_from=None,
        n_init=4,
        initial_dim=1,
        new_bins=1,
        termination_max=1,
        failures="worst",
        acquisition="logei",
        **SMALL,
    ),
    "plain": Boids(n_init=2, embedding=False, line_optimisation=False, line_selection=False, **SMALL),
    "genetic": Boids(n_init=2, line_search="nsga2", acquisition="ucb", **SMALL),
}


@st.composite
def linear_constraints(draw, space):
    """Rows around a random point of the space, in each of the forms in which they can be written."""
    n = len(space.columns)
    if not n:
        return []
    x = space.natural(space.snap(draw(strategies.units_of(space))))
    rows = []
    for _ in range(draw(st.integers(1, 3))):
        factors = np.array(draw(st.lists(st.sampled_from([0, 0, 1, -1, 2, 0.5]), min_size=n, max_size=n)), dtype=float)
        if not factors.any():
            continue
        with np.errstate(all="ignore"):
            at = float(factors @ x)
        if not math.isfinite(at):
            continue
        room = draw(st.sampled_from([0.0, 0.0, 0.1, 1.0, math.inf]))
        lower, upper = at - draw(st.sampled_from([0.0, 0.5, math.inf])), at + room
        if draw(st.booleans()):
            rows.append(LinearConstraint(factors, lower, upper))
        else:
            named = {name: factor for name, factor in zip(space.columns, factors.tolist(), strict=True) if factor}
            ends = {"lower": lower, "upper": upper}
            rows.append({"coefficients": named, **{key: end for key, end in ends.items() if math.isfinite(end)}})
    return rows


small_spaces = strategies.named_spaces(continuous=False, max_size=2)
any_space = strategies.spaces() | strategies.spaces(extreme=True) | small_spaces


class Calls(RuleBasedStateMachine):
    """Any calls in any order."""

    @initialize(data=st.data())
    def begin(self, data):
        draw = data.draw
        self.folder = tempfile.TemporaryDirectory()
        space = draw(any_space)
        count = draw(st.sampled_from([0, 0, 1, 2]))
        arguments = {
            "budget": draw(st.integers(1, 40)),
            "method": METHODS[draw(st.sampled_from(list(METHODS)))],
            "seed": draw(st.integers(0, 2**64)),
            "noisy": draw(st.booleans()),
            "n_constraints": count,
            "penalty": draw(st.sampled_from([None, 1.0, 1e300])) if count else None,
        }
        linear = draw(st.just(()) | linear_constraints(space))
        try:
            self.optimizer = Optimizer(space, linear_constraints=linear, **arguments)
        except SpaceError as error:  # values too large for their sums, or too small for their differences
            odd.check_error(error)
            assert len(linear)
            self.optimizer = Optimizer(space, **arguments)
        self.twin = self.saved = None
        self.expected = {}

    def teardown(self):
        if hasattr(self, "folder"):
            self.folder.cleanup()

    # --- good calls ---------------------------------------------------------------------------------------

    @rule(n=st.none() | st.integers(1, 5))
    def ask(self, n):
        before, possible = self.optimizer.n_asked, self.optimizer.remaining
        try:
            asked = self.optimizer.ask() if n is None else self.optimizer.ask(n)
        except BudgetExhausted as error:
            self._check_end(error, before, possible)
            return
        trials = [asked] if n is None else asked
        assert 1 <= len(trials) <= (n or 1)
        assert [trial.id for trial in trials] == list(range(before, before + len(trials)))
        assert all(trial.state == "pending" and trial.ended is None for trial in trials)
        if self.twin is not None:
            again = self.twin.ask() if n is None else self.twin.ask(n)
            for mine, theirs in zip(trials, [again] if n is None else again, strict=True):
                assert _same_trial(mine, theirs, times=False)

    @precondition(lambda self: self.optimizer.pending)
    @rule(data=st.data(), value=odd.numbers | odd.failures)
    def tell(self, data, value):
        trial = data.draw(st.sampled_from(self.optimizer.pending))
        count = self.optimizer.n_constraints
        constraints = data.draw(st.lists(st.floats(-1, 1) | odd.scalars, min_size=count, max_size=count))
        noise = data.draw(st.sampled_from([None, None, 0.0, 0.5, 1e-300, 1e300]))
        given = [_float(each) for each in constraints]
        forms = [constraints, tuple(constraints), np.array(given), np.array(given, dtype=object)]
        container = data.draw(st.sampled_from(range(len(forms))))
        form = data.draw(st.sampled_from(["keywords", "pair", "measurement"]))
        told, how = value, {"constraints": forms[container] if count else None, "noise_variance": noise}
        if form == "pair" and count:
            told, how = (value, forms[container]), {"noise_variance": noise}
        elif form == "measurement":
            told, how = Measurement(value, forms[container] if count else (), noise), {}
        done = self._tell(trial if data.draw(st.booleans()) else trial.id, told, **how)
        good = value is not FAILED and all(map(math.isfinite, [_float(value), *given]))
        assert done.state == ("done" if good else "failed")
        if good:
            assert done.value == _float(value)
            assert done.constraints == (tuple(given) if count else None)
            assert done.noise_variance == noise

    @precondition(lambda self: self.optimizer.pending)
    @rule(data=st.data(), error=odd.exceptions | odd.texts | st.just(KeyboardInterrupt()))
    def tell_failure(self, data, error):
        trial = data.draw(st.sampled_from(self.optimizer.pending))
        told = self._tell(trial, data.draw(odd.anything).value, error=error)
        assert told.failed
        assert told.value is None

    @precondition(lambda self: self.optimizer.remaining)
    @rule(values=st.lists(st.floats(allow_infinity=False) | st.floats(-9, 9), min_size=1, max_size=9), data=st.data())
    def go_on(self, values, data):
        """Ask and tell in turn, as most people do."""
        wide = data.draw(st.booleans())
        for value in values:
            if not self.optimizer.remaining:
                break
            waiting = self.optimizer.n_asked
            self.ask(None)
            if self.optimizer.n_asked > waiting:
                bound = 1e308 if wide else 2.0
                limits = [value * 0.37 % (2 * bound) - bound if math.isfinite(value) else 0.0]
                self._tell(waiting, value, constraints=limits * self.optimizer.n_constraints or None)

    @rule()
    def look(self):
        for each in (self.optimizer, self.twin):
            if each is not None:
                json.dumps(each.diagnostics, allow_nan=False)
                assert len(repr(each)) < 200
                assert 0 <= each.ready <= each.remaining
                best, estimate = each.best, each.estimate
                assert (best is None) == (estimate is None)
                if best is not None:
                    assert math.isfinite(estimate)

    @precondition(lambda self: self.saved != (self.optimizer.n_asked, self.optimizer.n_told))
    @rule(switch=st.booleans())
    def save_and_load(self, switch):
        self.saved = (self.optimizer.n_asked, self.optimizer.n_told)
        path = Path(self.folder.name) / "run.npz"
        self.optimizer.save(path)
        loaded = Optimizer.load(path)
        assert loaded.space == self.optimizer.space
        assert loaded.linear_constraints == self.optimizer.linear_constraints
        for mine, theirs in zip(self.optimizer.trials, loaded.trials, strict=True):
            assert _same_trial(mine, theirs)
        self.twin = loaded
        if switch:
            self.optimizer, self.twin = self.twin, self.optimizer

    # --- bad calls ----------------------------------------------------------------------------------------

    @rule(n=odd.anything)
    def ask_for_nonsense(self, n):
        n = n.value
        if isinstance(n, int) and not isinstance(n, bool):
            n = -abs(n)
        if n is not None and not isinstance(n, np.integer):
            self._refuses(ValueError, self.optimizer.ask, n)

    @precondition(lambda self: self.optimizer.pending)
    @rule(data=st.data(), value=odd.anything, constraints=odd.anything, noise=odd.anything)
    def tell_nonsense(self, data, value, constraints, noise):
        """Whatever it is, it is told or refused; what is refused leaves no trace."""
        trial = data.draw(st.sampled_from(self.optimizer.pending))
        how = data.draw(st.sets(st.sampled_from(["constraints", "noise_variance"])))
        value, given = value.value, {"constraints": constraints.value, "noise_variance": noise.value}
        given = {name: given[name] for name in how}
        before = self.optimizer.trials
        try:
            self.optimizer.tell(trial, value, **given)
        except TellError as error:
            odd.check_error(error)
            assert _identical(self.optimizer.trials, before)
            if self.twin is not None:
                self._refuses(TellError, self.twin.tell, trial, value, **given)
            return
        if self.twin is not None:
            self.twin.tell(trial, value, **given)
        self.expected[trial.id] = self.optimizer.trials[trial.id]

    @precondition(lambda self: self.optimizer.pending)
    @rule(data=st.data(), error=odd.but(str, BaseException, type(None)))
    def tell_a_wrong_error(self, data, error):
        error = error.value
        trial = data.draw(st.sampled_from(self.optimizer.pending))
        self._refuses(TellError, self.optimizer.tell, trial, 1.0, error=error)

    @rule(data=st.data(), value=odd.numbers)
    def tell_what_does_not_wait(self, data, value):
        told = [trial for trial in self.optimizer.trials if trial.state != "pending"]
        stranger = Trial(0, {}, np.full(self.optimizer.space.dim, 0.123456))
        strangers = st.sampled_from([stranger, Trial(0, {}, np.zeros(99)), Trial(-1, {}, None)])
        numbers = st.integers(max_value=-1) | st.integers(min_value=self.optimizer.n_asked)
        kinds = [numbers, odd.but(int, np.integer, np.ndarray), strangers, *[st.sampled_from(told)] * bool(told)]
        trial = data.draw(st.one_of(*kinds))
        trial = trial.value if isinstance(trial, odd.Thing) else trial
        self._refuses(TellError, self.optimizer.tell, trial, value)

    # --- what always holds --------------------------------------------------------------------------------

    @invariant()
    def counts(self):
        each = self.optimizer
        states = [trial.state for trial in each.trials]
        assert [trial.id for trial in each.trials] == list(range(each.n_asked))
        assert each.n_told == len(states) - states.count("pending")
        assert each.n_failed == states.count("failed")
        assert [trial.id for trial in each.pending] == [trial.id for trial in each.trials if trial.state == "pending"]
        assert 0 <= each.remaining <= each.budget - each.n_asked
        assert sorted(self.expected) == [trial.id for trial in each.trials if trial.state != "pending"]

    @invariant()
    def points(self):
        space, linear = self.optimizer.space, self.optimizer.linear_constraints
        for trial in self.optimizer.trials:
            assert trial.unit.shape == (space.dim,)
            assert (np.abs(trial.unit) <= 1.0).all()
            assert np.array_equal(space.snap(trial.unit), trial.unit)
            assert strategies.same(trial.params, space.decode(trial.unit))
            space.encode(trial.params)  # is inside the bounds
            assert linear is None or linear.satisfied(trial.unit)
        if not self.optimizer.noisy:
            assert len({(trial.unit + 0.0).tobytes() for trial in self.optimizer.trials}) == self.optimizer.n_asked

    @invariant()
    def outcomes(self):
        for trial in self.optimizer.trials:
            assert trial.feasible is None or trial.state == "done"
            if trial.state == "done":
                assert math.isfinite(trial.value)
                assert trial.error is None
                assert len(trial.constraints or ()) == self.optimizer.n_constraints
                assert all(map(math.isfinite, trial.constraints or ()))
            else:
                assert trial.value is trial.constraints is trial.noise_variance is None
                assert bool(trial.error) == trial.failed
            if trial.id in self.expected:
                assert _same_trial(trial, self.expected[trial.id], times=False)

    @invariant()
    def incumbent(self):
        done = [trial for trial in self.optimizer.trials if trial.state == "done"]
        best = self.optimizer.best
        assert (best is None) == (not done)
        if best is None:
            return
        assert best == self.optimizer.trials[best.id]
        least = min(trial.violation for trial in done)
        assert best.violation == least
        if not self.optimizer.noisy:
            assert best == min(done, key=lambda trial: (trial.violation, trial.value, trial.id))
            assert self.optimizer.estimate == best.value

    # --- the means ----------------------------------------------------------------------------------------

    def _check_end(self, error, asked, possible):
        """The budget is at its end, or all points of a finite space have been tried, or with noise have failed."""
        odd.check_error(error)
        if isinstance(error, SpaceExhausted):
            # Linear constraints may leave but a few points of any space.
            assert self.optimizer.space.size < math.inf or self.optimizer.linear_constraints is not None
            assert not self.optimizer.noisy or self.optimizer.n_failed
        else:
            assert possible == 0
        assert self.optimizer.n_asked == asked
        assert self.optimizer.remaining == 0
        if self.twin is not None:
            self._refuses(type(error), self.twin.ask)

    def _tell(self, trial, value, **how):
        told = self.optimizer.tell(trial, value, **how)
        self.expected[told.id] = told
        assert told is self.optimizer.trials[told.id]
        assert told.ended is not None
        if self.twin is not None:
            assert _same_trial(told, self.twin.tell(trial, value, **how), times=False)
        return told

    def _refuses(self, kind, call, *given, **named):
        optimizer = call.__self__
        before, remaining = optimizer.trials, optimizer.remaining
        try:
            call(*given, **named)
        except kind as error:
            odd.check_error(error)
        else:
            raise AssertionError(f"{odd.Thing((given, named))} was accepted")
        assert _identical(optimizer.trials, before)
        assert optimizer.remaining == (0 if issubclass(kind, BudgetExhausted) else remaining)


def _float(value):
    """The number that boids should read."""
    if value is FAILED or np.ma.is_masked(value):
        return math.nan
    try:
        return float(np.asarray(value).item())
    except OverflowError:
        return math.inf


def _identical(a, b):
    return len(a) == len(b) and all(x is y for x, y in zip(a, b, strict=True))


def _same_trial(a, b, times=True):
    """Whether two trials are equal to the last bit, perhaps but for the times at which they began and ended."""
    numbers = [(a.id, a.state, a.error), (b.id, b.state, b.error)]
    floats = [np.array([each.value, each.noise_variance, *(each.constraints or ())], dtype=float) for each in (a, b)]
    clock = [(each.started, each.ended) if times else () for each in (a, b)]
    return (
        numbers[0] == numbers[1]
        and clock[0] == clock[1]
        and floats[0].tobytes() == floats[1].tobytes()
        and a.unit.tobytes() == b.unit.tobytes()
        and strategies.same(a.params, b.params)
        and json.dumps(a.info) == json.dumps(b.info)
    )
