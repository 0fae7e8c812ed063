"""Runs of BOIDS that stand still in the whole space begin anew in subspaces through their best point."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from boids import FAILED, Bool, Float, Optimizer, Space, minimize
from boids.algorithms import Boids, boids, boids_beginnings
from boids.algorithms.boids_beginnings import stands_still
from boids.blocks.embedding import Embedding
from boids.blocks.standstill import Standstill
from boids.records import Domain, History, Outcome
from boids.testing import check_method

DIM = 20
BOX = [(-1.0, 1.0)] * DIM
WAIT = 8
#: Small searches, one prior, no sweeps.
QUICK = {
    "bandit_candidates": 200,
    "line_samples": 20,
    "near_samples": 20,
    "climb_evaluations": 20,
    "path_features": 64,
    "rivals": False,
    "sweep_from": None,
}
#: Two dimensions at first, the whole space soon, and little patience there.
METHOD = Boids(
    initial_dim=2,
    new_bins=9,
    n_init=6,
    particles=6,
    termination_max=2,
    renew_after=WAIT,
    renew_from=1.0,
    sweep_from=None,
)
#: What a new beginning could break; the others are about other things.
LAWS = (
    "calls_are_pure",
    "any_order_of_tells",
    "batches_of_different_points",
    "resume_is_exact",
    "failures",
    "guests",
    "mixed_and_constrained_spaces",
)


def run(count, method=METHOD, budget=200, *, values):
    """Return a run whose evaluations have these values, wherever they are made."""
    optimizer = Optimizer(BOX, budget=budget, method=method, seed=3)
    for k in range(count):
        optimizer.tell(optimizer.ask(), values(k))
    return optimizer


def falling_until(last):
    """Return values that fall until an evaluation and are constant, above the least of these, ever after."""
    return lambda k: 100.0 - k if k <= last else 100.0


def restarts(optimizer):
    return np.array([trial.info["restarts"] for trial in optimizer.trials])


def dims(optimizer):
    return np.array([trial.info["dim"] for trial in optimizer.trials])


def waits(optimizer):
    """Return how many evaluations in the whole space each run ended with."""
    runs, whole = restarts(optimizer), dims(optimizer) == DIM
    return [int(np.count_nonzero(whole & (runs == each))) for each in range(int(runs.max()))]


def test_a_run_that_stands_still_begins_anew_through_its_best_point():
    optimizer = run(60, values=falling_until(20))
    runs, d = restarts(optimizer), dims(optimizer)
    begin = int(np.argmax(runs == 1))
    assert runs[begin] == 1
    # eight evaluations in the whole space without a gain, and no more
    assert (d[begin - WAIT : begin] == DIM).all()
    assert d[begin] == 2
    best = optimizer.trials[20].x
    design = [t.x for t in optimizer.trials[begin : begin + 6]]
    # The design surrounds the best point in a subspace of two dimensions that contains it.
    offsets = np.array(design) - best
    assert np.abs(offsets).max() < 0.5
    assert np.linalg.matrix_rank(np.sign(np.round(offsets, 9))) <= 2 * 2
    assert optimizer.best.value == 80.0


def test_beginnings_in_vain_double_the_wait():
    assert waits(run(130, budget=400, values=falling_until(2)))[:3] == [WAIT, 2 * WAIT, 4 * WAIT]


def test_after_a_beginning_that_helped_the_wait_is_short_again():
    begins = np.flatnonzero(np.diff(restarts(run(80, budget=400, values=falling_until(2))))) + 1
    helped = int(begins[1]) + 3  # the second new beginning finds something, in its design
    again = run(120, budget=400, values=lambda k: 50.0 if k == helped else falling_until(2)(k))
    assert waits(again)[:3] == [WAIT, 2 * WAIT, WAIT]


@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=40))
def test_idle_are_those_that_count_since_the_last_gain(evaluations):
    standstill = Standstill()
    for gained, counts in evaluations:
        standstill = standstill.update(gained, counts)
    last = max((k for k, (gained, _) in enumerate(evaluations) if gained), default=-1)
    assert standstill.idle == sum(counts for _, counts in evaluations[last + 1 :])
    assert standstill.gained  # a first run always has
    assert standstill.renewed() == Standstill(0, 0, False)
    assert standstill.renewed().renewed() == Standstill(0, 1, False)


def test_everything_found_before_takes_part_when_the_subspaces_have_grown():
    optimizer = run(90, values=falling_until(20))
    runs, d = restarts(optimizer), dims(optimizer)
    whole = int(np.flatnonzero((runs == 1) & (d == DIM))[0])
    begin = int(np.argmax(runs == 1))
    other = run(whole + 1, values=falling_until(20))
    assert other.diagnostics["guests"] == begin
    assert other.diagnostics["evaluations_in_run"] >= whole


def test_outcomes_that_come_after_a_new_beginning_are_not_lost():
    values = falling_until(20)
    begin = int(np.argmax(restarts(run(60, values=values)) == 1))
    optimizer = run(begin - 1, values=values)
    last, late = optimizer.ask(2)
    optimizer.tell(last, 100.0)
    assert optimizer.diagnostics["restarts"] == 1
    before = optimizer.diagnostics["guests"]
    optimizer.tell(late, 70.0)
    assert optimizer.diagnostics["guests"] == before + 1
    assert optimizer.best.value == 70.0


def test_a_run_that_gains_goes_on():
    optimizer = run(60, values=lambda k: 100.0 - k)
    assert restarts(optimizer).max() == 0


def test_it_can_be_switched_off_and_published_versions_have_none():
    without = run(60, replace(METHOD, renew_from=None), values=falling_until(20))
    assert restarts(without).max() == 0
    assert Boids.paper().renew_from is Boids.released().renew_from is None


def test_not_when_the_evaluations_are_about_to_end():
    optimizer = run(60, values=falling_until(20), budget=60)
    begin = np.flatnonzero(np.diff(restarts(optimizer)))
    assert len(begin)
    assert (60 - begin >= WAIT).all()
    tight = run(44, values=falling_until(30), budget=44)
    assert restarts(tight).max() == 0


def one_outcome(domain, noise=None, value=1.0):
    return History(np.zeros((1, domain.dim)), np.array([value]), noise=noise, space=domain)


def in_the_whole_space(method, domain, budget, idle):
    """Return a state in the whole space, with one outcome and so many idle evaluations."""
    state = method.init(domain, budget, np.random.default_rng(0))
    whole = Embedding.identity(domain.dim)
    return replace(state, embedding=whole, rows=np.array([0]), owners=np.array([-1]), standstill=Standstill(idle))


@pytest.mark.parametrize(
    ("settings", "history", "budget"),
    [
        ({"embedding": False}, one_outcome(Domain(DIM)), 1000),
        ({"initial_dim": DIM}, one_outcome(Domain(DIM)), 1000),
        ({}, one_outcome(Domain(DIM, noisy=True)), 1000),
        ({}, one_outcome(Domain(DIM), noise=np.ones(1)), 1000),
        ({}, one_outcome(Domain(DIM - 1)), 1000),
        ({"renew_from": 6.0}, one_outcome(Domain(DIM)), 6 * DIM - 1),
        ({"renew_from": None}, one_outcome(Domain(DIM)), 1000),
        ({}, one_outcome(Domain(DIM), value=np.nan), 1000),
    ],
)
def test_not_without_subspaces_nor_in_noise_nor_with_few_evaluations_or_parameters(settings, history, budget):
    method = replace(METHOD, **settings)
    assert not stands_still(method, in_the_whole_space(method, history.domain, budget, 500), history)
    usual = one_outcome(Domain(DIM))
    assert stands_still(METHOD, in_the_whole_space(METHOD, Domain(DIM), budget, WAIT), usual)
    assert not stands_still(METHOD, in_the_whole_space(METHOD, Domain(DIM), budget, WAIT - 1), usual)


def test_not_before_the_whole_space_is_reached():
    state = replace(METHOD.init(Domain(DIM), 1000, np.random.default_rng(0)), rows=np.array([0]))
    assert not stands_still(METHOD, replace(state, standstill=Standstill(500)), one_outcome(Domain(DIM)))


def test_what_will_begin_anew_is_not_restarted_without_its_outcomes():
    patient = replace(METHOD, renew_after=100, termination_max=1, success_tolerance=1000)
    assert restarts(run(90, patient, values=falling_until(10))).max() == 0
    without = run(90, replace(patient, renew_from=None), values=falling_until(10))
    assert restarts(without).max() >= 1


def test_where_everything_fails_a_run_is_restarted_nonetheless():
    optimizer = Optimizer(BOX, budget=300, method=replace(METHOD, termination_max=1), seed=3)
    for _ in range(90):
        optimizer.tell(optimizer.ask(), FAILED)
    assert restarts(optimizer).max() >= 1


def test_an_outcome_that_is_no_better_than_what_was_given_up_is_no_gain():
    state = in_the_whole_space(METHOD, Domain(DIM), 1000, 0)
    state = replace(state, rows=np.array([1]), guests=np.array([0]))
    history = History(np.zeros((3, DIM)), np.array([1.0, 5.0, 3.0]), space=Domain(DIM))
    assert state.improved(history, Outcome(3.0), 0.0)
    assert not state.improved(history, Outcome(3.0), 0.0, np.array([0, 1]))


@pytest.mark.parametrize("count", [40, 47])
def test_a_run_goes_on_as_if_it_had_not_been_saved(count, tmp_path):
    values = falling_until(20)
    one = run(count, values=values)
    one.save(tmp_path / "run.boids")
    other = Optimizer.load(tmp_path / "run.boids")
    for k in range(count, count + 25):
        mine, theirs = one.ask(), other.ask()
        np.testing.assert_array_equal(mine.x, theirs.x)
        one.tell(mine, values(k))
        other.tell(theirs, values(k))


def test_mixed_spaces_constraints_and_failures():
    space = Space({"on": Bool(), "w": Float(-1, 1, shape=DIM)})

    def objective(p):
        if p["w"][0] > 0.9:
            raise ArithmeticError("beyond the edge")
        return float(np.floor(np.sum(p["w"] ** 2))) + p["on"], [p["w"][1] - 0.8]

    result = minimize(objective, space, 100, method=METHOD, seed=1, n_constraints=1, linear_constraints="w[1] <= 0.95")
    assert result.feasible
    assert max(trial.info["restarts"] for trial in result.trials) >= 1


def test_it_keeps_every_law_of_a_method(monkeypatch):
    begun = []

    def counted(*args):
        begun.append(args[1].epoch)
        return boids_beginnings.renewed(*args)

    monkeypatch.setattr(boids_beginnings, "LEAST_DIM", 0)  # the laws are checked in few dimensions
    monkeypatch.setattr(boids, "renewed", counted)
    method = replace(METHOD, initial_dim=1, new_bins=1, n_init=3, particles=4, termination_max=1, renew_after=2)
    check_method(method, laws=LAWS)
    assert len(begun) > 10
