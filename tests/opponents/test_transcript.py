"""A library's optimiser as a function of its transcript, with a made-up library that remembers everything."""

import logging
import threading
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import ClassVar

import numpy as np
import pytest

from boids import MethodError, Optimizer
from boids.opponents import transcript
from boids.opponents.library import in_daemon_thread, quiet
from boids.opponents.transcript import LibraryMethod, Worst
from boids.settings import check_settings, setting
from boids.testing import LAWS, sphere

BUDGET = 14


class Memory:
    """Proposes points that depend on all it was ever asked and told, in order, and on NumPy's global stream."""

    made = 0

    def __init__(self, dim, seed, stride):
        type(self).made += 1
        self.dim, self.stride = dim, stride
        self.seen = blake2b(f"{seed}".encode())

    def propose(self):
        self.seen.update(b"asked")
        rng = np.random.default_rng(list(self.seen.digest()))
        return self.stride * (rng.uniform(-1, 1, self.dim) + 1e-3 * np.random.rand(self.dim))  # noqa: NPY002

    def learn(self, number, value):
        self.seen.update(f"{number} {value}".encode())

    def learn_guest(self, unit, value):
        self.seen.update(f"guest {unit.tolist()} {value}".encode())


@dataclass(frozen=True)
class Remembering(LibraryMethod):
    name: ClassVar[str] = "remembering"
    summary: ClassVar[str] = "depends on everything"
    reference: ClassVar[str] = "nobody"
    considers: ClassVar[tuple[str, ...]] = ()
    package: ClassVar[str] = "numpy"
    modules: ClassVar[tuple[str, ...]] = ("numpy",)
    stride: float = setting(0.9, "made up")

    def __post_init__(self):
        check_settings(self)

    def searcher(self, domain, budget, seed):
        return Memory(domain.dim, seed, self.stride)


def steps(optimizer, after=lambda: None):
    """A run with up to three trials under way, failures and added trials."""
    while optimizer.remaining or optimizer.pending:
        while optimizer.remaining and len(optimizer.pending) < 3:
            optimizer.ask()
            after()
        trial = optimizer.pending[optimizer.n_told % len(optimizer.pending)]
        optimizer.tell(trial, float("nan") if trial.id % 5 == 2 else sphere(trial.x))
        if trial.id % 4 == 1:
            optimizer.add_trials([(np.sin(np.arange(3.0) + trial.id), 1.0 + trial.id)])
        after()
    return np.array([trial.unit for trial in optimizer.trials])


def begun(**more):
    return Optimizer([(-1, 1)] * 3, budget=BUDGET, method=Remembering(**more), seed=4)


@pytest.mark.parametrize("law", [law for law in LAWS if law != "beats_random"])
def test_law_of_a_library_that_remembers(law):
    LAWS[law](Remembering(), BUDGET)


def test_a_run_that_goes_on_makes_one_object():
    transcript.forget()
    before = Memory.made
    steps(begun())
    assert Memory.made == before + 1


def test_losing_the_object_after_every_step_changes_nothing():
    np.testing.assert_array_equal(steps(begun()), steps(begun(), after=transcript.forget))


def test_runs_that_part_do_not_share_an_object():
    """Two runs with one beginning, then told different values."""
    runs = [begun() for _ in range(3)]
    for values in ((1.0, 2.0, 1.0), (3.0, 3.0, 3.0)):
        for optimizer, value in zip(runs, values, strict=True):
            optimizer.tell(optimizer.ask(), value)
    points = [optimizer.ask().unit for optimizer in runs]
    np.testing.assert_array_equal(points[0], points[2])
    assert not np.array_equal(points[0], points[1])


def test_settings_are_part_of_what_an_object_depends_on():
    one, other = begun(stride=0.9), begun(stride=0.1)
    one.ask()
    assert np.abs(other.ask().unit).max() <= 0.11


def test_numpys_global_stream_is_left_alone():
    before = np.random.get_state()  # noqa: NPY002
    begun().ask()
    after = np.random.get_state()  # noqa: NPY002
    np.testing.assert_array_equal(after[1], before[1])
    assert after[2:] == before[2:]


def test_another_version_of_the_library_is_refused():
    optimizer = begun()
    optimizer.tell(optimizer.ask(), 1.0)
    run = optimizer.run
    run.state = replace(run.state, version="0.1")
    transcript.forget()
    with pytest.raises(MethodError, match=r"made with numpy 0\.1 and cannot go on exactly with .*numpy==0\.1"):
        optimizer.ask()


def test_a_failure_is_worse_than_all_values():
    worst = Worst()
    assert not worst.is_known
    for value in (3.0, -1.0, 2.0):
        worst.saw(value)
    assert worst.beyond == 7.0
    flat = Worst()
    flat.saw(5.0)
    assert flat.beyond == 10.0
    huge = Worst()
    huge.saw(-1e308)
    huge.saw(1.5e308)
    assert np.isfinite(huge.beyond)


def test_loggers_speak_again_afterwards():
    logger = logging.getLogger("a library of somebody")
    logger.setLevel(logging.INFO)
    with quiet("a library of somebody"):
        assert not logger.isEnabledFor(logging.CRITICAL)
    assert logger.level == logging.INFO


def test_threads_that_are_left_behind_do_not_keep_the_program():
    def leaves_one_behind():
        thread = threading.Thread(target=threading.Event().wait, args=(0.01,))
        thread.start()
        return thread

    assert in_daemon_thread(leaves_one_behind).daemon
    with pytest.raises(ZeroDivisionError):
        in_daemon_thread(lambda: 1 // 0)
