"""What `BoidsSampler` makes of a study: parameters, outcomes, constraints, trials of others."""

import copy
import logging
import subprocess
import sys
from dataclasses import replace

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState
from optuna_studies import box, course_of, mixed, params_of, quiet, study_of  # noqa: F401 - a fixture

import boids
from boids.algorithms import ALGORITHMS
from boids.integrations.optuna import BoidsSampler

SPACE = {f"x{i}": FloatDistribution(-1.0, 1.0) for i in range(10, 22)}


def sphere(trial):
    return sum((trial.suggest_float(name, -1.0, 1.0) - 0.3) ** 2 for name in SPACE)


# --- the same as without Optuna ----------------------------------------------------------------------------


def test_a_study_makes_the_proposals_of_the_optimizer():
    """But for rounding: the sampler's points went through the user's units, and a fit makes more of the last bit."""
    study = study_of(sphere, 30, BoidsSampler(seed=3, budget=30, search_space=SPACE))
    optimizer = boids.Optimizer([(-1.0, 1.0)] * 12, budget=30, seed=3)
    for trial in study.trials:
        asked = optimizer.ask()
        np.testing.assert_allclose(list(trial.params.values()), asked.x, rtol=0, atol=1e-3)
        optimizer.tell(asked, trial.value)


@pytest.mark.parametrize("name", sorted(ALGORITHMS))
def test_every_method_also_beyond_its_budget(name):
    method = ALGORITHMS[name]()
    if name == "saasbo":  # with a chain that is short enough for a test
        pytest.importorskip("numpyro")
        method = replace(method, n_init=10, warmup=24, samples=8, thinning=4, max_tree_depth=3, padding=32)
    study = study_of(mixed, 14, BoidsSampler(method, seed=0, budget=9))
    assert [trial.state for trial in study.trials] == [TrialState.COMPLETE] * 14
    course = course_of(study)
    assert course.told == list(range(13))
    assert course.own == [False] + [True] * 12  # nobody knows the parameters of the first


def test_settings_and_unknown_methods():
    study = study_of(box, 5, BoidsSampler(boids.algorithms.Boids(particles=7), seed=0))
    assert course_of(study).setup.algorithm.particles == 7
    with pytest.raises(boids.MethodError, match="no method 'bods'; did you mean 'boids'"):
        BoidsSampler("bods")
    with pytest.raises(ValueError, match="budget must be an integer of at least 1, got 0"):
        BoidsSampler(budget=0)
    with pytest.raises(ValueError, match="search_space must map names to Optuna's distributions, got 3 for 'x'"):
        BoidsSampler(search_space={"x": 3})


def test_maximising_is_minimising_the_negative():
    low = study_of(mixed, 25)
    high = study_of(lambda trial: -mixed(trial), 25, direction="maximize")
    assert params_of(low) == params_of(high)


def test_it_learns():
    study = study_of(lambda trial: box(trial, 30), 60, BoidsSampler(seed=0, budget=60))
    by_chance = study_of(lambda trial: box(trial, 30), 60, optuna.samplers.RandomSampler(seed=0))
    assert study.best_value < 0.5 * by_chance.best_value


# --- parameters --------------------------------------------------------------------------------------------


def test_values_are_of_optunas_kinds():
    study = study_of(mixed, 25, BoidsSampler("random", seed=0))
    for trial in study.trials:
        for name, distribution in trial.distributions.items():
            assert distribution._contains(distribution.to_internal_repr(trial.params[name]))
            kind = {FloatDistribution: float, IntDistribution: int}.get(type(distribution))
            assert kind is None or type(trial.params[name]) is kind
    for name, values in {"kind": 3, "on": 2, "layers": 9, "even": 11}.items():
        assert values / 2 < len({trial.params[name] for trial in study.trials}) <= values


def test_conditional_parameters_fall_back_one_by_one(caplog):
    def objective(trial):
        value = box(trial, 4)
        if trial.suggest_categorical("deep", [True, False]):
            return value + trial.suggest_float("more", 0, 1)
        return value + trial.suggest_int("less", 0, 5)

    with caplog.at_level(logging.WARNING, "boids"):
        study = study_of(objective, 30)
    assert set(course_of(study).setup.space.parameters) == {"float-", "choice-2"}
    assert course_of(study).setup.space.dim == 5
    assert all(trial.state == TrialState.COMPLETE for trial in study.trials)
    warned = [record.getMessage() for record in caplog.records]
    assert len(warned) == len(set(warned)) <= 2
    assert all("is drawn by RandomSampler" in message for message in warned)


def test_an_independent_sampler_of_the_users_own():
    class Half(optuna.samplers.RandomSampler):
        def sample_independent(self, study, trial, param_name, param_distribution):
            return 0.5

    study = study_of(box, 3, BoidsSampler(seed=0, independent_sampler=Half(), warn_independent_sampling=False))
    assert set(study.trials[0].params.values()) == {0.5}
    assert len(set(study.trials[2].params.values())) > 1


def test_what_boids_has_no_space_for_is_left_to_the_independent_sampler():
    study = study_of(lambda trial: trial.suggest_int("huge", 0, 2**60) / 2**60 + box(trial, 3), 6)
    assert course_of(study).setup.space.dim == 3
    assert len({trial.params["huge"] for trial in study.trials}) == 6


def test_choices_of_any_kind_and_equal_ones():
    choices = [None, 1, True, "1", 1.5]
    study = study_of(
        lambda trial: float(trial.suggest_categorical("c", choices) == "1"), 25, BoidsSampler("random", seed=0)
    )
    assert {repr(trial.params["c"]) for trial in study.trials} >= {"None", "'1'", "1.5"}


def test_a_range_that_changes_takes_the_parameter_out():
    study = study_of(lambda trial: trial.suggest_float("x", 0, 1 + trial.number % 2) + box(trial, 3), 8)
    assert course_of(study).setup.space.dim == 3


def test_all_points_tried_and_the_study_goes_on():
    study = study_of(lambda trial: trial.suggest_int("a", 0, 1) + trial.suggest_int("b", 0, 1), 9)
    assert len({tuple(trial.params.items()) for trial in study.trials[:5]}) == 4
    assert len(study.trials) == 9


def test_enqueued_and_partly_fixed_trials():
    study = optuna.create_study(sampler=BoidsSampler(seed=0, budget=20))
    study.optimize(box, n_trials=3)
    study.enqueue_trial({f"x{i}": 0.3 for i in range(12)})
    study.enqueue_trial({"x0": 0.25})
    study.optimize(box, n_trials=4)
    assert study.best_trial.number == 3
    assert study.best_value == 0.0
    assert study.trials[4].params["x0"] == 0.25
    course = course_of(study)
    assert course.told == list(range(6))
    assert course.own == [False, True, True, False, False, True]


# --- outcomes ----------------------------------------------------------------------------------------------


def test_failed_and_pruned_trials_are_failures():
    def objective(trial):
        value = box(trial, 5)
        trial.report(value, 0)
        if trial.number == 4:
            raise optuna.TrialPruned
        if trial.number == 5:
            raise RuntimeError("broken")
        return {6: float("nan"), 7: float("inf")}.get(trial.number, value)

    study = optuna.create_study(sampler=BoidsSampler(seed=0, budget=20))
    study.optimize(objective, n_trials=12, catch=(RuntimeError,))
    history = course_of(study)._ledger.history()
    assert np.flatnonzero(np.isnan(history.values)).tolist() == [4, 5, 6, 7]
    assert course_of(study).own == [False] + [True] * 10


def test_a_trial_that_fails_before_its_parameters_are_known_is_no_use():
    def objective(trial):
        value = trial.suggest_float("x0", -1, 1)
        if trial.number == 2:
            raise RuntimeError("broken")
        return value + box(trial, 4)

    study = optuna.create_study(sampler=BoidsSampler(seed=0, budget=20))
    study.optimize(objective, n_trials=6, catch=(RuntimeError,))
    assert course_of(study).told == [0, 1, 3, 4]
    assert not course_of(study).open.keys() - {5}


def test_constraints_are_modelled():
    def objective(trial):
        value = box(trial, 6)
        trial.set_user_attr("c", [trial.params["x0"] + 0.5, -trial.params["x1"]])  # x0 ≤ -0.5, x1 ≥ 0
        return value

    sampler = BoidsSampler(seed=0, budget=40, constraints_func=lambda trial: trial.user_attrs["c"])
    study = study_of(objective, 40, sampler)
    assert all(len(trial.constraints) == 2 for trial in study.trials)
    history = course_of(study)._ledger.history()
    assert history.constraints.shape == (39, 2)
    feasible = [all(c <= 0 for c in trial.constraints.values()) for trial in study.trials]
    assert sum(feasible[20:]) > sum(feasible[:20])
    assert study.best_value < 1.5


def test_constraints_of_the_trial_itself_and_a_trial_without_them():
    def objective(trial):
        value = box(trial, 4)
        if trial.number != 3:
            trial.set_constraint("limit", trial.params["x0"])
        return value

    study = study_of(objective, 8)
    history = course_of(study)._ledger.history()
    assert history.constraints.shape == (7, 1)
    assert np.flatnonzero(np.isnan(history.values)).tolist() == [3]


@pytest.mark.parametrize("wrong", [3.0, ["a"], [float("nan")]])
def test_constraints_that_are_none(wrong):
    with pytest.raises(ValueError, match=r"^constraints_func must return (a list of numbers|numbers that are not nan)"):
        study_of(box, 1, BoidsSampler(constraints_func=lambda trial: wrong))


def test_several_objectives_are_refused_in_a_sentence():
    with pytest.raises(ValueError, match=r"^BoidsSampler optimises one objective, but the study has 2 directions; use"):
        study_of(lambda trial: (box(trial), 1.0), 1, directions=["minimize", "maximize"])


def test_noisy_studies_repeat_points():
    sampler = BoidsSampler(seed=0, budget=12, noisy=True)
    study = study_of(lambda trial: float(trial.suggest_int("a", 0, 1)), 12, sampler)
    assert course_of(study).setup.noisy
    assert len(study.trials) == 12


def test_hyperband_sees_all_trials():
    def objective(trial):
        value = box(trial, 4)
        for step in range(9):
            trial.report(value / (step + 1), step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return value

    study = study_of(objective, 15, pruner=optuna.pruners.HyperbandPruner(max_resource=9))
    assert course_of(study).told == list(range(14))


# --- trials under way, seeds, copies -----------------------------------------------------------------------


def test_running_trials_are_pending():
    study = study_of(box, 25)
    asked = [study.ask() for _ in range(5)]
    points = [[trial.suggest_float(f"x{i}", -1.0, 1.0) for i in range(12)] for trial in asked]
    course = course_of(study)
    assert list(course.open) == [25, 26, 27, 28, 29]
    distances = [np.abs(np.subtract(a, b)).max() for a in points for b in points if a is not b]
    assert min(distances) > 1e-3
    for trial, point in zip(reversed(asked), points, strict=True):  # in any order
        study.tell(trial, sum(point))
    study.optimize(box, n_trials=1)
    assert course_of(study).told == list(range(30))
    assert all(course_of(study).own[1:])


def test_running_trials_of_others_are_pending_too(monkeypatch):
    seen = []
    propose = boids.algorithms.RandomSearch.ask

    def watched(self, state, history, pending, rng):
        seen.append([proposal.unit.copy() for proposal in pending])
        return propose(self, state, history, pending, rng)

    monkeypatch.setattr(boids.algorithms.RandomSearch, "ask", watched)
    study = study_of(box, 3, BoidsSampler("random", seed=0))
    study.enqueue_trial({f"x{i}": 0.5 for i in range(12)})
    fixed = study.ask()
    box(fixed)
    study.optimize(box, n_trials=1)
    np.testing.assert_allclose(seen[-1], [[0.5] * 12])


def test_threads():
    study = optuna.create_study(sampler=BoidsSampler(seed=0, budget=30))
    study.optimize(box, n_trials=30, n_jobs=4)
    assert all(trial.state == TrialState.COMPLETE for trial in study.trials)
    assert len({tuple(trial.params.values()) for trial in study.trials}) == 30
    study.optimize(box, n_trials=1)
    assert sorted(course_of(study).told) == list(range(30))


def test_seeds():
    first, again = study_of(mixed, 12, BoidsSampler(seed=5)), study_of(mixed, 12, BoidsSampler(seed=5))
    other = study_of(mixed, 12, BoidsSampler(seed=6))
    assert params_of(first) == params_of(again) != params_of(other)
    one, two = BoidsSampler(), BoidsSampler()
    assert one._setup.seed != two._setup.seed


def test_reseeding_changes_what_is_drawn_independently_only():
    def drawn(sampler):
        study = optuna.create_study(sampler=sampler)
        study.add_trial(optuna.create_trial(params=dict.fromkeys(SPACE, 0.0), distributions=SPACE, value=1.0))
        trial = study.ask()
        own = trial.suggest_float("x10", -1, 1)
        return own, trial.suggest_float("new", 0, 1)

    reseeded = BoidsSampler(seed=2)
    reseeded.reseed_rng()
    (own, free), (own_again, free_again) = drawn(BoidsSampler(seed=2)), drawn(reseeded)
    assert own == own_again
    assert free != free_again


def test_one_sampler_for_two_studies():
    sampler = BoidsSampler(seed=1, budget=40)
    first = study_of(box, 6, sampler)
    second = study_of(mixed, 6, sampler)
    first.optimize(box, n_trials=2)
    assert course_of(first).told == list(range(7))
    assert course_of(first).own == [False] + [True] * 6
    assert len(second.trials) == 6


def test_a_copied_sampler_knows_its_settings():
    copied = copy.deepcopy(BoidsSampler("turbo", seed=5, budget=7))
    assert str(copied) == "BoidsSampler(turbo)"
    assert params_of(study_of(box, 5, copied)) == params_of(study_of(box, 5, BoidsSampler("turbo", seed=5, budget=7)))


def test_parameters_by_name_are_those_of_any_order():
    one = {"b": FloatDistribution(0, 1), "a": CategoricalDistribution(["x", "y"]), "fixed": IntDistribution(3, 3)}
    other = dict(reversed(one.items()))
    asked = [optuna.create_study(sampler=BoidsSampler(seed=0, search_space=each)).ask(one) for each in (one, other)]
    assert asked[0].params == asked[1].params
    assert asked[0].params["fixed"] == 3


def test_without_optuna_there_is_a_sentence():
    code = (
        "import sys; sys.modules['optuna'] = None\n"
        "try:\n    import boids.integrations.optuna\n"
        "except ImportError as error:\n    print(type(error).__name__, error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == (
        "MissingExtra boids.integrations.optuna needs the package optuna, which is not installed; "
        'run `pip install "boids-opt[optuna]"`.'
    )
