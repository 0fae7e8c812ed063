"""Runs in a store: broken off anywhere and taken up again they are what they would have been; nothing is half done."""

import contextlib
import os
import signal
import threading
from functools import partial

import numpy as np
import pytest
from run_checks import CASES, QUICK, FakeJournal, FakeWorkers, facts, outcome, row_facts, shape, sphere

import boids
from boids import Optimizer, Result, Store, StoreError, drive, run_file
from boids.drive import StopReason
from boids.run import Run
from boids.trial_rows import Held
from boids.values import Reading


@pytest.fixture
def path(tmp_path):
    return tmp_path / "runs.db"


METHODS = {"boids": QUICK, "random": "random"}
both = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
BOX = [(-1.0, 1.0)] * 3


def carry_on(optimizer, steps=None, begun=0):
    """Go on to the end in steps of ask, hold or tell, with two trials under way; broken off after `steps` of them.

    Which step comes next depends on the trials alone.
    """
    for step in range(10**6):
        if step == steps:
            return False
        run, pending = optimizer.run, optimizer.pending
        if len(pending) < 2 and optimizer.remaining:
            optimizer.ask()
        elif not pending:
            return True
        else:
            chosen = pending[optimizer.n_told % len(pending)]
            value, more = outcome(optimizer, chosen)
            if chosen.id % 3 == 1 and chosen.id not in run.ledger.held:
                run.hold(chosen.id, Held(read(optimizer, value, more), 5.0))
            else:
                optimizer.tell(chosen, value, **more)
    return True


def read(optimizer, value, more):
    if "error" in more:
        return Reading.failed(more["error"], optimizer.n_constraints)
    noise = more.get("noise_variance")
    return Reading(value, tuple(more.get("constraints", ())), float("nan") if noise is None else noise)


@pytest.fixture(scope="module")
def uninterrupted():
    """The runs without a store, made when they are needed."""
    found = {}

    def get(case, name):
        if (case, name) not in found:
            optimizer = Optimizer(**CASES[case], budget=11, method=METHODS[name], seed=5)
            carry_on(optimizer)
            found[case, name] = facts(optimizer)
        return found[case, name]

    return get


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("case", CASES)
def test_broken_off_after_every_step(path, case, name, uninterrupted):
    optimizer = Optimizer(**CASES[case], budget=11, method=METHODS[name], seed=5, store=path, run_id="r")
    breaks = 0
    while not carry_on(optimizer, steps=1):
        optimizer.kept.let_go()  # as if the process had been killed
        copy, status = Optimizer.stored(path, "r")
        assert status == "running"
        assert facts(copy) == facts(optimizer)
        assert str(copy.run.ledger.held) == str(optimizer.run.ledger.held)
        optimizer, breaks = Optimizer.resume(path, "r"), breaks + 1
        assert facts(copy) == facts(optimizer)
    assert breaks > 22
    assert facts(optimizer) == uninterrupted(case, name)
    optimizer.close()
    assert Store(path).read("r").status == "budget"


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("after", [0, 1, 9])
def test_kept_from_the_middle_on(path, case, after, uninterrupted):
    optimizer = Optimizer(**CASES[case], budget=11, method=QUICK, seed=5)
    carry_on(optimizer, steps=after)
    name = optimizer.keep(path, problem="hill", meta={"a": [1]})
    carry_on(optimizer, steps=3)
    optimizer.close()
    again = Optimizer.resume(path, name)
    assert again.meta == {"a": [1]}
    assert Store(path).read(name).head.problem == "hill"
    carry_on(again)
    assert facts(again) == uninterrupted(case, "boids")
    with pytest.raises(StoreError, match="kept already"):
        again.keep(path)
    again.close()
    again.close()
    assert again.keep(path, run_id="copy") == "copy"
    assert facts(Optimizer.stored(path, "copy")[0]) == facts(again)


@pytest.mark.parametrize("case", CASES)
def test_the_rows_in_the_store_are_those_of_the_ledger(path, case):
    optimizer = Optimizer(**CASES[case], budget=11, method=QUICK, seed=5, store=path, run_id="r")
    carry_on(optimizer, steps=17)
    stored = Store(path).read("r")
    ledger = optimizer.run.ledger
    assert [row_facts(row) for row in stored.rows] == [row_facts(ledger.row(i)) for i in range(len(ledger))]
    snapshot = stored.snapshot
    assert (snapshot.asked, snapshot.told, snapshot.failed) == (len(ledger), ledger.n_told, ledger.n_failed)
    assert snapshot.best == (None if ledger.best is None else ledger.best.value)
    optimizer.close()


def test_a_method_of_the_users_own_must_be_handed_in(path):
    from toy_methods import Wanderer

    optimizer = Optimizer(BOX, budget=5, method=Wanderer(), seed=1, store=path, run_id="r")
    optimizer.tell(optimizer.ask(), 1.0)
    optimizer.close()
    words = r"'r' in .* cannot be used: its method 'wanderer' is not one of boids' own"
    with pytest.raises(StoreError, match=words) as caught:
        Optimizer.resume(path, "r")
    again = Optimizer.resume(path, "r", method=Wanderer())  # and the failure has not kept the lock
    assert facts(again) == facts(optimizer)
    assert caught.tb is not None  # which would hold on to whatever was not let go of
    with pytest.raises(StoreError, match="carried out by"):
        Optimizer.resume(path, "r", method=Wanderer())


def test_randomness_belongs_to_the_trial_whenever_its_outcome_comes():
    from toy_methods import Toy

    from boids.setup import TELL

    drawn = {}
    method = Toy(
        on_ask=lambda state, history, pending, rng: rng.uniform(-1, 1, 3),
        on_tell=lambda state, history, proposal, outcome, rng: drawn.update({outcome.value: rng.random()}),
    )
    optimizer = Optimizer(BOX, budget=3, method=method, seed=1)
    for trial in reversed(optimizer.ask(3)):
        optimizer.tell(trial, float(trial.id))
    assert drawn == {number: optimizer.run.setup.rng(TELL, number).random() for number in range(3)}


# --- writes that fail -------------------------------------------------------------------------------------


def state_of(optimizer):
    run = optimizer.run
    ledger = run.ledger
    rows = [row_facts(ledger.row(number)) for number in range(len(ledger))]
    history = ledger.history()
    seen = [None if a is None else a.tolist() for a in (history.units, history.constraints, history.noise)]
    values = np.nan_to_num(history.values, nan=-77).tolist()
    return rows, str(seen), values, run.snapshot(run.state).state, run.exhausted, facts(optimizer), dict(ledger.held)


@both
@pytest.mark.parametrize("case", CASES)
def test_a_step_that_cannot_be_written_has_not_happened(case, method):
    fails = FakeJournal(fails=lambda place: place % 2 == 0)
    optimizer = Optimizer(**CASES[case], budget=8, method=method, seed=5)
    plain = Optimizer(**CASES[case], budget=8, method=method, seed=5)
    optimizer.run.journal = fails

    def twice(step):
        before = state_of(optimizer)
        with pytest.raises(StoreError, match="full"):
            step(optimizer)
        assert state_of(optimizer) == before
        step(optimizer)
        assert fails.snapshot.asked == len(optimizer.run.ledger)
        step(plain)

    given = [(optimizer.space.decode(optimizer.space.snap(np.full(optimizer.space.dim, 0.6))), 2.0)]
    if optimizer.n_constraints:
        given = [(given[0][0], (2.0, [0.0] * optimizer.n_constraints))]
    for number in range(4):
        twice(lambda each: each.ask(2))
        twice(lambda each: each.run.begin_again(each.pending[-1].id))

        def end(each, hold, place=-1 if number % 2 else 0):
            trial = each.pending[place]
            value, more = outcome(each, trial)
            if hold:
                each.run.hold(trial.id, Held(read(each, value, more), 1.0))
            else:
                each.tell(trial, value, **more)

        twice(partial(end, hold=True))
        twice(partial(end, hold=False))
        twice(lambda each: each.add_trials(given))
    assert facts(optimizer) == facts(plain)
    assert fails.snapshot.added == 4
    assert len(fails.rows) == 12
    # What was written is the run.
    rows = [fails.rows[number] for number in range(12)]
    back = run_file.restored(optimizer.run.setup, rows, fails.snapshot)
    assert [row_facts(back.ledger.row(i)) for i in range(12)] == [
        row_facts(optimizer.run.ledger.row(i)) for i in range(12)
    ]
    assert back.snapshot(back.state).state == optimizer.run.snapshot(optimizer.run.state).state


def test_a_withdrawn_point_that_was_tried_before_is_not_forgotten():
    optimizer = Optimizer(BOX, budget=3, method="random", seed=1)
    trial = optimizer.ask()
    optimizer.tell(trial, 1.0)
    optimizer.run.journal = FakeJournal(fails=lambda place: True)
    with pytest.raises(StoreError):
        optimizer.add_trials([(trial.x, 2.0)])
    assert optimizer.run.ledger.tried(trial.unit)
    assert len(optimizer.trials) == 1


def test_the_end_of_a_space_is_written_down(path):
    space = boids.Space({"n": boids.Int(1, 3)})
    optimizer = Optimizer(space, budget=9, method="random", seed=1, linear_constraints="n <= 2", store=path, run_id="r")
    assert len(optimizer.ask(4)) == 2
    assert optimizer.remaining == 0
    optimizer.kept.let_go()
    again = Optimizer.resume(path, "r")
    assert again.remaining == 0
    for trial in again.pending:
        again.tell(trial, 1.0)
    again.close()
    assert Store(path).read("r").status == "space"


def full_after(writes):
    """Return the answer of a journal on a disk that is full from then on."""
    return lambda place: place >= writes


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_full_disk_ends_the_run_and_loses_nothing(asynchronous):
    whole = Optimizer(BOX, budget=8, method=QUICK, seed=5)
    drive.run(whole, workers=FakeWorkers(sphere, lambda keys: keys[-1:]), batch=3, asynchronous=asynchronous)
    for writes in range(14):
        optimizer = Optimizer(BOX, budget=8, method=QUICK, seed=5)
        journal = optimizer.run.journal = FakeJournal(fails=full_after(writes))
        workers = FakeWorkers(sphere, lambda keys: keys[-1:])
        # Without a store there is nothing to let go of, but the journal has to go.
        optimizer.give_up_store = lambda error, it=optimizer: (
            setattr(it, "trouble", error),
            setattr(it.run, "journal", None),
        )
        reason = drive.run(optimizer, workers=workers, batch=3, asynchronous=asynchronous)
        assert reason is StopReason.STORE
        assert "full" in str(optimizer.trouble)
        assert journal.attempts == writes + 1
        assert workers.cancelled
        # All that ended is known, in memory at least; and what is written down is all but the last step.
        optimizer.run.release()
        known = {trial.id for trial in optimizer.trials if trial.state == "done"}
        assert known == set(workers.ended)
        assert set(workers.begun) <= set(journal.rows)
        told = [row for row in journal.rows.values() if row.value is not None]
        assert len(told) >= len(known) - 1
        if journal.snapshot is None:
            continue
        rows = [journal.rows[number] for number in sorted(journal.rows)]
        again = Optimizer._around(run_file.restored(optimizer.run.setup, rows, journal.snapshot), {})
        more = FakeWorkers(sphere, lambda keys: keys[-1:])
        assert drive.run(again, workers=more, batch=3, asynchronous=asynchronous) is StopReason.BUDGET
        assert not {row.number for row in told} & set(more.begun)
        if not asynchronous:
            assert [shape(trial) for trial in again.trials] == [shape(trial) for trial in whole.trials]


def limit_pages(optimizer):
    """Make the store's file unable to grow."""
    db = optimizer.kept._writer._db
    pages = db.execute("PRAGMA page_count").fetchone()[0]
    db.execute(f"PRAGMA max_page_count = {pages + 2}")


def test_a_full_store(path):
    ended = []

    def fun(x):
        ended.append(sphere(x))
        return ended[-1]

    optimizer = Optimizer([(-1, 1)] * 100, budget=200, method="random", seed=1, store=path, run_id="r")
    limit_pages(optimizer)
    assert drive.run(optimizer, fun) is StopReason.STORE
    assert optimizer.kept is None
    assert optimizer.n_told == len(ended) < 200
    result = Result.of(optimizer, StopReason.STORE)
    assert result.fun == min(ended)
    assert "could not be saved" in result.message
    assert "no room left" in result.message
    stored = Store(path).read("r")
    values = [row.value for row in stored.rows if row.told is not None]
    assert values == ended[: len(values)]
    assert len(values) >= len(ended) - 1
    # There is room again.
    result = boids.minimize(fun, [(-1, 1)] * 100, 200, method="random", seed=1, store=path, run_id="r")
    assert result.status == "budget"
    alone = boids.minimize(sphere, [(-1, 1)] * 100, 200, method="random", seed=1)
    assert [shape(trial) for trial in result.trials] == [shape(trial) for trial in alone.trials]


def test_the_result_says_that_it_could_not_be_saved(path):
    def limit(optimizer, trial):
        if trial.id == 3:
            limit_pages(optimizer)

    space = [(-1, 1)] * 200
    result = boids.minimize(sphere, space, 500, method="random", seed=1, callback=limit, store=path, run_id="r")
    assert result.status == "store"
    assert "no room left" in result.message
    assert result.success
    assert 4 < result.nfev < 500


def test_when_only_the_last_word_cannot_be_written_the_result_is_not_lost(path, monkeypatch):
    def refuse(self, status):
        raise StoreError("The disk is full.")

    monkeypatch.setattr("boids.store.RunWriter.set_status", refuse)
    result = boids.minimize(sphere, BOX, 5, method="random", seed=1, store=path, run_id="r")
    assert (result.nfev, result.status) == (5, "budget")
    assert "The disk is full." in result.message
    assert not Store(path).is_active("r")


def test_errors_of_the_callback_are_the_callers(path):
    def broken(optimizer, trial):
        raise StoreError("My own file is full.")

    with pytest.raises(StoreError, match="My own"):
        boids.minimize(sphere, BOX, 5, method="random", seed=1, callback=broken, store=path, run_id="r")
    stored = Store(path).read("r")
    assert stored.status == "running"
    assert stored.snapshot.told == 1


# --- Ctrl-C -----------------------------------------------------------------------------------------------


def interrupting(journal):
    """Make Ctrl-C come after every write, before the change is made."""
    journal.before_return = lambda: signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("step", ["ask", "hold", "begin again", "tell", "add"])
def test_ctrl_c_comes_before_or_after_a_step_never_into_it(step):
    optimizer = Optimizer(BOX, budget=6, method=QUICK, seed=5)
    optimizer.ask(3)
    journal = optimizer.run.journal = FakeJournal()
    journal.rows.update({i: optimizer.run.ledger.row(i) for i in range(3)})
    interrupting(journal)
    steps = {
        "ask": lambda: optimizer.ask(2),
        "hold": lambda: optimizer.run.hold(1, Held(Reading(1.0), 1.0)),
        "begin again": lambda: optimizer.run.begin_again(1),
        "tell": lambda: optimizer.tell(1, 2.0),
        "add": lambda: optimizer.add_trials([([0.1] * 3, 2.0)]),
    }
    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        steps[step]()
    assert signal.getsignal(signal.SIGINT) is handler
    ledger = optimizer.run.ledger
    assert [row_facts(ledger.row(i)) for i in range(len(ledger))] == [
        row_facts(journal.rows[i]) for i in sorted(journal.rows)
    ]
    assert journal.snapshot.state == optimizer.run.snapshot(optimizer.run.state).state
    back = run_file.restored(optimizer.run.setup, [journal.rows[i] for i in sorted(journal.rows)], journal.snapshot)
    assert len(back.ledger) == len(ledger)


def test_other_threads_and_handlers_are_left_alone():
    optimizer = Optimizer(BOX, budget=6, method="random", seed=5)
    thread = threading.Thread(target=lambda: optimizer.tell(optimizer.ask(), 1.0))
    thread.start()
    thread.join()
    former = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        optimizer.tell(optimizer.ask(), 1.0)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        came = []
        signal.signal(signal.SIGINT, lambda number, frame: came.append(number))
        optimizer.run.journal = FakeJournal(before_return=lambda: signal.raise_signal(signal.SIGINT))
        optimizer.ask()
        assert came == [signal.SIGINT]
    finally:
        signal.signal(signal.SIGINT, former)
    assert optimizer.n_told == 2


# --- minimize ---------------------------------------------------------------------------------------------


class Counted:
    """An objective that counts its calls, and may break off."""

    def __init__(self, breaks_at=None):
        self.calls, self.breaks_at = 0, breaks_at

    def __call__(self, x):
        self.calls += 1
        if self.calls == self.breaks_at:
            raise KeyboardInterrupt
        return sphere(x)


@both
def test_the_same_call_again(path, method):
    arguments = {"method": method, "seed": 2, "store": path, "run_id": "r"}
    fun = Counted()
    first = boids.minimize(fun, BOX, 9, **arguments)
    assert fun.calls == 9
    second = boids.minimize(fun, BOX, 9, **arguments)
    assert fun.calls == 9
    assert first.times == second.times == Result.load(path, "r").times
    for other in (second, Result.load(path, "r")):
        assert list(other.trials) == list(first.trials)
        for name in ("fun", "nfev", "status", "message", "seed", "success"):
            assert other[name] == first[name]
        assert np.array_equal(other.x, first.x)
        assert np.array_equal(other.history, first.history)
    assert len(Store(path).runs()) == 1
    assert Store(path).read("r").status == "budget"


@both
@pytest.mark.parametrize("breaks", [(1,), (2, 1, 4), (9,)])
def test_the_same_call_after_an_interrupt(path, method, breaks):
    alone = boids.minimize(sphere, BOX, 9, method=method, seed=2)
    for place in breaks:
        fun = Counted(place)
        result = boids.minimize(fun, BOX, 9, method=method, seed=2, store=path, run_id="r")
        assert result.status == "interrupted"
        assert fun.calls == place
        assert Store(path).read("r").status == "interrupted"
    seen = []

    def look(optimizer, trial):
        seen.append(Result.load(path, "r"))

    result = boids.minimize(sphere, BOX, 9, method=method, seed=2, store=path, run_id="r", callback=look)
    assert [shape(trial) for trial in result.trials] == [shape(trial) for trial in alone.trials]
    assert (result.status, result.fun) == (alone.status, alone.fun)
    assert [each.status for each in seen] == ["running"] * len(seen)
    assert seen[-1].nfev == 9
    assert sum(trial.attempts - 1 for trial in result.trials) == len(breaks)


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"space": [(-1, 2)] * 3}, "space"),
        ({"budget": 10}, r"budget \(9, not 10\)"),
        ({"method": "random"}, "method"),
        ({"method": boids.algorithms.Boids(particles=7)}, "settings"),
        ({"seed": 3}, "seed"),
        ({"noisy": True}, "noisy"),
        ({"n_constraints": 1}, "number of constraints"),
        ({"linear_constraints": "x[0] <= x[1]"}, "linear constraints"),
        ({"x0": [0.1] * 3}, "x0"),
    ],
)
def test_another_run_of_the_same_name_is_refused(path, changes, word):
    first = {"space": BOX, "budget": 9, "method": QUICK, "seed": 2}
    boids.minimize(sphere, **first, target=1e9, store=path, run_id="r")
    before = path.read_bytes()
    with pytest.raises(StoreError, match=word) as caught:
        boids.minimize(sphere, **{**first, **changes}, store=path, run_id="r")
    stored = Store(path).read("r")
    assert (stored.snapshot.told, stored.status) == (1, "target")
    assert path.read_bytes() == before
    assert not Store(path).is_active("r")
    assert caught.tb is not None  # which would hold on to whatever was not let go of
    assert boids.minimize(sphere, **{**first, "seed": None}, store=path, run_id="r").nfev == 9


@pytest.mark.parametrize("case", CASES)
def test_arguments_are_recognised_in_any_space(path, case):
    def fun(x):
        return (1.0, [0.0] * count) if count else 1.0

    count = CASES[case].get("n_constraints", 0)
    for budget_so_far in ("callback", "budget"):
        result = boids.minimize(
            fun, **CASES[case], budget=6, method="random", store=path, run_id="r",
            callback=(lambda optimizer, trial: trial.id == 2) if budget_so_far == "callback" else None,
        )  # fmt: skip
        assert result.status == budget_so_far
    assert result.nfev == 6


def test_wrong_arguments_leave_no_run_behind(path):
    for wrong in ({"timeout": -1}, {"target": "x"}, {"patience": 0}, {"callback": 3}, {"lost": "x"}, {"x0": [9.0] * 3}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            boids.minimize(sphere, BOX, 9, method="random", store=path, **wrong)
    with pytest.raises(ValueError, match="names a run in a store"):
        boids.minimize(sphere, BOX, 9, method="random", run_id="r")
    assert not path.exists()


def test_a_file_without_a_byte_is_a_store_to_be(path):
    path.touch()
    assert boids.minimize(sphere, BOX, 3, method="random", store=path, run_id="r").nfev == 3


def test_a_run_that_reached_its_target_is_not_carried_on_with(path):
    fun = Counted()
    arguments = {"method": "random", "seed": 2, "store": path, "run_id": "r", "target": 1.0}
    first = boids.minimize(fun, BOX, 50, **arguments)
    assert first.status == "target"
    calls = fun.calls
    assert boids.minimize(fun, BOX, 50, **arguments).status == "target"
    assert fun.calls == calls
    assert Store(path).read("r").status == "target"


def test_an_asynchronous_run_that_reached_its_target_leaves_the_rest_alone(path):
    for times in range(2):
        optimizer = (Optimizer.resume(path, "r") if times else
                     Optimizer(BOX, budget=9, method="random", seed=2, store=path, run_id="r"))  # fmt: skip
        workers = FakeWorkers(lambda x: 0.0, sizes=[4])
        reason = drive.run(optimizer, workers=workers, asynchronous=True, target=0.5)
        assert reason is StopReason.TARGET
        assert optimizer.n_told == 1
        assert len(optimizer.pending) == 3
        assert workers.begun == ([] if times else [0, 1, 2, 3])
        assert [trial.attempts for trial in optimizer.trials] == [1] * 4
        optimizer.close(reason.value)


def test_a_noisy_run_is_listed_with_what_its_best_is_worth(path):
    optimizer = Optimizer(BOX, budget=12, method="random", seed=1, noisy=True, store=path, run_id="r")
    rng = np.random.default_rng(1)
    while optimizer.remaining:
        trial = optimizer.ask()
        optimizer.tell(trial, sphere(trial.x) + float(rng.normal()))
    lowest = min(trial.value for trial in optimizer.trials)
    assert Store(path).runs()[0].fun == lowest
    optimizer.close()
    assert Store(path).runs()[0].fun == optimizer.estimate > lowest
    assert Result.load(path, "r").fun == optimizer.estimate


def test_what_is_held_is_part_of_the_result(path):
    def fun(x):
        return sphere(x)

    optimizer = Optimizer(BOX, budget=9, method="random", seed=2, store=path, run_id="r")
    chosen = iter([[2], [1]])

    def choose(keys):
        try:
            return next(chosen)
        except StopIteration:
            raise KeyboardInterrupt from None

    assert drive.run(optimizer, workers=FakeWorkers(fun, choose), batch=3) is StopReason.INTERRUPTED
    assert optimizer.n_told == 0
    assert sorted(optimizer.run.ledger.held) == [1, 2]
    optimizer.close("interrupted")
    result = Result.load(path, "r")
    assert result.nfev == 2
    assert [trial.state for trial in result.trials] == ["pending", "done", "done"]
    again = Optimizer.resume(path, "r")
    workers = FakeWorkers(fun)
    drive.run(again, workers=workers, batch=3)
    assert workers.begun == [0, *range(3, 9)]
    assert [trial.attempts for trial in again.trials] == [2] + [1] * 8


def test_any_word_for_how_it_ended(path):
    optimizer = Optimizer(BOX, budget=4, method="random", seed=2, store=path, run_id="r")
    optimizer.tell(optimizer.ask(), 1.0)
    optimizer.close("for lunch")
    assert Optimizer.stored(path, "r")[1] == "for lunch"
    assert Result.load(path, "r").status == "running"


class Tired:
    """An objective whose values depend on how often it was called."""

    stateful = True

    def __init__(self, breaks_at=None):
        self.n, self.breaks_at = 0, breaks_at

    def __call__(self, x):
        self.n += 1
        if self.n == self.breaks_at:
            self.breaks_at = None
            raise KeyboardInterrupt
        return sphere(x) + 0.1 * self.n

    def state(self):
        return {"n": self.n}

    def restore(self, state):
        self.n = state["n"]


@pytest.mark.parametrize("same_object", [True, False])
@pytest.mark.parametrize("place", [1, 4, 8])
def test_objectives_with_a_memory(path, place, same_object):
    alone = boids.minimize(Tired(), BOX, 8, method=QUICK, seed=2)
    fun = Tired(place)
    arguments = {"method": QUICK, "seed": 2, "store": path, "run_id": "r"}
    assert boids.minimize(fun, BOX, 8, **arguments).status == "interrupted"
    fun = fun if same_object else Tired()
    result = boids.minimize(fun, BOX, 8, **arguments)
    assert [trial.value for trial in result.trials] == [trial.value for trial in alone.trials]
    assert fun.n == 8
    assert Store(path).read("r").memory == {"n": 8}
    later = Tired()
    boids.minimize(later, BOX, 8, **arguments)
    assert later.n == 8


def test_a_folder_that_is_left(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()

    def wandering(x):
        os.chdir(tmp_path / "elsewhere")
        return sphere(x)

    result = boids.minimize(wandering, BOX, 5, method="random", seed=1, store="runs.db", run_id="r")
    assert result.status == "budget"
    assert "saved" not in result.message
    assert not list((tmp_path / "elsewhere").iterdir())
    assert Store(tmp_path / "runs.db").read("r").status == "budget"


def test_runs_with_more_trials_than_their_budget_are_refused():
    optimizer = Optimizer(BOX, budget=3, method="random", seed=1)
    optimizer.add_trials([([0.1 * i] * 3, 1.0) for i in range(5)])
    optimizer.ask(3)
    run = optimizer.run
    rows = [run.ledger.row(i) for i in range(8)]
    assert len(run_file.restored(run.setup, rows, run.snapshot(run.state)).ledger) == 8
    from dataclasses import replace

    with pytest.raises(StoreError, match="more trials than its budget"):
        run_file.restored(replace(run.setup, budget=2), rows, run.snapshot(run.state))


def test_names_of_runs():
    from boids.recording import new_id

    names = [new_id("half cheetah/é", 102) for _ in range(3)]
    assert len(set(names)) == 3
    assert all("-half-cheetah-102-" in name for name in names)
    assert "-run-1-" in new_id("é", 1)


def test_what_a_run_of_this_name_is(path):
    from boids import recording

    assert recording.known(path, "r") is None
    assert not path.exists()
    boids.minimize(sphere, BOX, 2, method="random", store=path, run_id="r")
    assert recording.known(path, "r").budget == 2
    assert recording.known(path, "s") is None


def test_a_fresh_run_that_cannot_be_kept_is_still_a_run(tmp_path):
    optimizer = Optimizer(BOX, budget=3, method="random", seed=1)
    with pytest.raises(StoreError):
        optimizer.keep(tmp_path / "no" / "such" / "folder.db")
    assert optimizer.kept is None
    assert optimizer.run.journal is None
    optimizer.tell(optimizer.ask(), 1.0)
    with contextlib.suppress(StoreError):
        Optimizer.stored(tmp_path / "nothing.db", "r")
    assert not (tmp_path / "nothing.db").exists()
    assert isinstance(optimizer.run, Run)
