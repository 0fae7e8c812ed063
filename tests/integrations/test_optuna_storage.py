"""Studies in a storage: resumed, and carried out by several samplers and processes."""

import logging
import subprocess
import sys
from pathlib import Path

import optuna
import pytest
from optuna.trial import TrialState
from optuna_postgres import server
from optuna_studies import box, course_of, mixed, params_of, quiet, study_of  # noqa: F401 - a fixture
from optuna_worker import opened

from boids.integrations.optuna import BoidsSampler

WORKER = Path(__file__).parent / "optuna_worker.py"


@pytest.fixture
def storage():
    """Where nothing is slow; what a database makes of the same is tried where it matters."""
    return optuna.storages.InMemoryStorage()


@pytest.fixture
def file(tmp_path):
    with opened(f"sqlite:///{tmp_path / 'study.db'}") as storage:
        yield storage


def loaded(storage, **options):
    """The study as a new process would find it: with a sampler that knows nothing."""
    study = optuna.load_study(study_name="s", storage=storage, sampler=BoidsSampler(seed=1, budget=40, **options))
    study.sampler._independent.reseed_rng()
    return study


def test_a_study_resumed_from_a_file_is_exact(file):
    straight = study_of(mixed, 10)
    study_of(mixed, 5, storage=file, study_name="s")
    loaded(file).optimize(mixed, n_trials=5)
    assert params_of(loaded(file)) == params_of(straight)


@pytest.mark.parametrize("objective", [box, mixed])
@pytest.mark.parametrize("method", ["boids", "turbo", "cmaes", "linebo"])
def test_a_resumed_study_goes_on_as_if_there_had_been_no_break(objective, method, storage):
    straight = study_of(objective, 26, BoidsSampler(method, seed=1, budget=40))
    study_of(objective, 9, BoidsSampler(method, seed=1, budget=40), storage=storage, study_name="s")
    for n_trials in (1, 12, 4):
        loaded(storage, method=method).optimize(objective, n_trials=n_trials)
    assert params_of(loaded(storage)) == params_of(straight)


def test_it_does_not_matter_which_process_asks(storage):
    straight = study_of(mixed, 24)
    study_of(mixed, 1, storage=storage, study_name="s")
    processes = [loaded(storage) for _ in range(3)]
    for number in range(1, 24):
        processes[number % 3].optimize(mixed, n_trials=1)
    assert params_of(processes[0]) == params_of(straight)


def test_trials_under_way_elsewhere_are_the_methods_own(storage):
    here = study_of(box, 8, storage=storage, study_name="s")
    there = loaded(storage)
    trial = there.ask()
    value = box(trial)
    here.optimize(box, n_trials=1)
    assert list(course_of(here).open) == [8, 9]
    there.tell(trial, value)
    here.optimize(box, n_trials=1)
    assert course_of(here).told == list(range(10))
    assert course_of(here).own[1:] == [True] * 9


def test_a_process_that_was_slower_thinks_again(storage, monkeypatch):
    here, there = study_of(box, 6, storage=storage, study_name="s"), loaded(storage)
    others = []
    propose = type(course_of(here)).propose

    def overtaken(course, number, pending):
        made = propose(course, number, pending)
        if course is course_of(here) and not others:  # while this proposal is made, another process makes one
            others.append(there.ask())
            others[0].suggest_float("x0", -1.0, 1.0)
        return made

    monkeypatch.setattr(type(course_of(here)), "propose", overtaken)
    here.optimize(box, n_trials=1)
    assert others[0].number == 7
    assert sorted(course_of(here).open) == [6, 7]
    assert here.trials[6].params["x0"] != here.trials[7].params["x0"]


def test_other_settings_and_other_seeds(storage):
    study_of(box, 6, storage=storage, study_name="s")
    other_seed = optuna.load_study(study_name="s", storage=storage, sampler=BoidsSampler(seed=99, budget=40))
    other_seed.optimize(box, n_trials=1)
    assert course_of(other_seed).own == [False] + [True] * 5  # the same course, with other random numbers
    other_method = optuna.load_study(study_name="s", storage=storage, sampler=BoidsSampler("turbo", seed=1))
    other_method.optimize(box, n_trials=1)
    assert course_of(other_method).own == [False] * 7  # earlier evaluations to this one


@pytest.mark.parametrize("harm", ["cut", "letters", "foreign", "number"])
def test_a_damaged_state_is_begun_anew(storage, harm, caplog):
    study = study_of(box, 6, storage=storage, study_name="s")
    token, count, purpose, text = study._storage.get_study_system_attrs(study._study_id)["boids:course:0"]
    piece = {
        "cut": [token, count, purpose, text[: len(text) // 8 * 4]],
        "letters": [token, count, purpose, "?" + text[1:]],
        "foreign": [token, count + 1, purpose, text],
        "number": 7,
    }[harm]
    study._storage.set_study_system_attr(study._study_id, "boids:course:0", piece)
    with caplog.at_level(logging.WARNING, "boids"):
        again = loaded(storage)
        again.optimize(box, n_trials=3)
    assert course_of(again).told == list(range(8))
    assert course_of(again).own == [False] * 6 + [True] * 2
    messages = [record.getMessage() for record in caplog.records]
    assert all("cannot be used" in message for message in messages)
    assert bool(messages) == (harm == "cut")


def test_nothing_is_pickled(storage):
    study = study_of(mixed, 6, storage=storage, study_name="s")
    attributes = study._storage.get_study_system_attrs(study._study_id)
    assert set(attributes) == {"boids:course:0"}
    assert all(isinstance(part, (str, int)) for part in attributes["boids:course:0"])
    kept = {key for trial in study.trials for key in trial.system_attrs}
    assert kept == {"boids:aim", "boids:point"}


def test_a_long_state_is_kept_in_pieces(storage, monkeypatch):
    monkeypatch.setattr("boids.integrations.optuna.shelf._PIECE", 300)
    straight = study_of(box, 12)
    study_of(box, 6, storage=storage, study_name="s")
    again = loaded(storage)
    again.optimize(box, n_trials=6)
    assert params_of(again) == params_of(straight)
    assert len(again._storage.get_study_system_attrs(again._study_id)) > 3


def carried_out(url, processes, trials, dim):
    """Let processes carry a study out at the same time, and look at what they have done."""
    with opened(url) as storage:
        optuna.create_study(study_name="s", storage=storage)
    commands = [[sys.executable, str(WORKER), url, "s", str(seed), str(trials), str(dim)] for seed in range(processes)]
    running = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for command in commands]
    errors = [process.communicate(timeout=300)[1] for process in running]
    assert [process.returncode for process in running] == [0] * processes, errors
    with opened(url) as storage:
        study = loaded(storage)
        assert [trial.state for trial in study.trials] == [TrialState.COMPLETE] * (processes * trials)
        points = {tuple(trial.params.values()) for trial in study.trials}
        assert len(points) == processes * trials
        trial = study.ask()
        trial.suggest_float("x0", -1.0, 1.0)
        course = course_of(study)
        assert sorted(course.told) == list(range(processes * trials))
        # The first of each process know no parameters yet, and on a busy machine many write at the same moment.
        assert sum(course.own) > 0.1 * processes * trials


def test_several_processes_on_sqlite(tmp_path):
    carried_out(f"sqlite:///{tmp_path / 'study.db'}", processes=3, trials=8, dim=6)


def test_two_hundred_parameters_on_postgresql_with_four_processes():
    with server() as url:
        carried_out(url, processes=4, trials=4, dim=200)
