"""The book of a run against a plain list of its trials, in any order of entries; as rows; and what it costs."""

import math
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from run_checks import row_facts

from boids import Optimizer, Space, StoreError, TellError
from boids.ledger import Ledger, merit, protected
from boids.records import Domain, Proposal, Trial
from boids.trial_rows import Held, TrialColumns
from boids.values import Reading

SPACE = Space.of([(-1, 1), (0, 10)])

#: What happens next: a word, and a number from which everything else about it is made.
WORDS = ["open", "open", "open two", "close", "close", "hold", "begin again", "withdraw", "look", "add"]
step = st.tuples(st.sampled_from(WORDS), st.integers(0, 2**32 - 1))
#: Few, and so many that the columns have to grow.
steps = st.lists(step, max_size=8) | st.lists(step, min_size=40, max_size=70)


class Model:
    """Trials as dicts, and the order in which they were told."""

    def __init__(self, n_constraints, noisy):
        self.trials, self.told, self.events = [], [], 0
        self.n_constraints, self.noisy = n_constraints, noisy

    @property
    def pending(self):
        return [trial for trial in self.trials if trial["told"] is None]

    def open(self, unit, aimed, attempts, now):
        made = {"number": len(self.trials), "unit": unit, "aimed": aimed, "attempts": attempts, "started": now}
        self.trials.append({**made, "asked": self.events, "told": None, "held": None})
        self.events += 1

    def close(self, trial, held):
        trial.update(held=held, told=self.events)
        self.told.append(trial)
        self.events += 1

    def best(self):
        good = [t for t in self.told if t["held"].reading.error is None]

        def judged(trial):
            reading = trial["held"].reading
            return sum(max(0.0, c) for c in reading.constraints), reading.value, trial["number"]

        return min(good, key=judged)["number"] if good else None


def make(n_constraints=0, noisy=False):
    return Ledger(SPACE, Domain(2, n_constraints, noisy)), Model(n_constraints, noisy)


def an_outcome(rng, n_constraints):
    if rng.random() < 0.3:
        return Held(Reading.failed(f"crash {rng.integers(9)}", n_constraints), float(rng.integers(1, 100)))
    constraints = tuple((rng.integers(-2, 3, n_constraints) / 2).tolist())
    noise = float(rng.random()) if rng.random() < 0.3 else math.nan
    # Few different values, so that equals are met.
    return Held(Reading(float(rng.integers(-3, 4)), constraints, noise), float(rng.integers(1, 100)))


def a_proposal(rng):
    unit = protected(rng.integers(-2, 3, 2) / 2.0)  # few different points, so that equals are met
    aimed = unit + 0.01 if rng.random() < 0.2 else None
    info = {"k": int(rng.integers(3))} if rng.random() < 0.5 else {}
    return Proposal(unit, {"z": rng.random(2)}, info, aimed=aimed)


def take(ledger, model, word, number):
    """Do one step on both."""
    rng = np.random.default_rng(number)
    pending = model.pending
    if word.startswith("open"):
        proposals = [a_proposal(rng) for _ in range(1 + (word == "open two"))]
        drafts = ledger.drafts(proposals, float(number))
        trials = ledger.open(proposals, float(number))
        for proposal, trial, draft in zip(proposals, trials, drafts, strict=True):
            assert trial.id == len(model.trials)
            model.open(proposal.unit, proposal.aimed, 1, float(number))
            assert row_facts(ledger.row(trial.id)) == row_facts(draft)
    elif word == "withdraw" and model.trials:
        # What `Run.add` does when an outcome cannot be written down.
        before = [row_facts(ledger.row(i)) for i in range(len(ledger))], ledger.n_points
        ledger.open([Proposal(a_proposal(rng).unit, info={"phase": "added"})], 1.0, attempts=0)
        ledger.preview(len(ledger) - 1, an_outcome(rng, model.n_constraints).reading)
        ledger.withdraw()
        assert before == ([row_facts(ledger.row(i)) for i in range(len(ledger))], ledger.n_points)
    elif word == "add":
        proposal, held = Proposal(a_proposal(rng).unit, info={"phase": "added"}), an_outcome(rng, model.n_constraints)
        ledger.open([proposal], 1.0, attempts=0)
        model.open(proposal.unit, None, 0, 1.0)
        ledger.close(len(ledger) - 1, held)
        model.close(model.trials[-1], held)
    elif word == "look":
        assert [trial.id for trial in ledger.trials] == list(range(len(model.trials)))
    elif pending:
        trial = pending[rng.integers(len(pending))]
        place = trial["number"]
        held = trial["held"] or an_outcome(rng, model.n_constraints)
        if word == "begin again":
            draft = ledger.row(place, more_attempts=1)
            ledger.begin_again(place)
            trial["attempts"] += 1
        elif word == "hold":
            draft = ledger.row(place, held=held)
            ledger.held[place] = held
            trial["held"] = held
        else:
            draft, finished = ledger.row(place, held=held, told=True), ledger.finished(place, held)
            shown = ledger.preview(place, held.reading)
            done = ledger.close(place, held)
            assert done == finished
            assert same_history(shown, ledger.history())
            model.close(trial, held)
        assert row_facts(ledger.row(place)) == row_facts(draft)


def columns(history):
    parts = (history.units, history.values, history.constraints, history.noise, history.aims)
    return [None if part is None else part.copy() for part in parts]


def same(one, other):
    return all(
        (a is None and b is None) or np.array_equal(a, b, equal_nan=True) for a, b in zip(one, other, strict=True)
    )


def same_history(one, other):
    return same(columns(one), columns(other))


def check(ledger, model):
    """Compare all that can be asked."""
    told = model.told
    assert len(ledger) == len(model.trials)
    assert ledger.n_told == len(told)
    assert ledger.n_failed == sum(t["held"].reading.error is not None for t in told)
    assert ledger.n_added == sum(t["attempts"] == 0 for t in told)
    assert ledger.n_added_failed == sum(t["attempts"] == 0 and t["held"].reading.error is not None for t in told)
    assert ledger.n_points == len({tuple(t["unit"]) for t in model.trials})
    assert list(ledger.pending) == [i for i, t in enumerate(model.trials) if t["told"] is None]
    assert ledger.held == {i: t["held"] for i, t in enumerate(model.trials) if t["held"] and t["told"] is None}
    assert (None if ledger.best is None else ledger.best.id) == model.best()
    history = ledger.history()
    assert len(history) == len(told)
    if told:
        assert np.array_equal(history.units, [t["unit"] for t in told])
        assert np.array_equal(history.values, [t["held"].reading.value for t in told], equal_nan=True)
        assert np.array_equal(history.aims, [t["unit"] if t["aimed"] is None else t["aimed"] for t in told])
        noise = [t["held"].reading.noise_variance for t in told]
        if all(map(math.isnan, noise)):
            assert history.noise is None
        else:
            assert np.array_equal(history.noise, noise, equal_nan=True)
        if model.n_constraints:
            assert np.array_equal(history.constraints, [t["held"].reading.constraints for t in told], equal_nan=True)
        else:
            assert history.constraints is None
    for part in (history.units, history.values, history.constraints, history.noise, history.aimed):
        assert part is None or not part.flags.writeable
    failed = {tuple(t["unit"]) for t in told if t["held"].reading.error is not None}
    seen = {tuple(t["unit"]) for t in model.trials}
    for point in np.stack(np.meshgrid([-1, -0.5, 0, 0.5, 1], [-1, -0.5, -0.0, 0.5, 1]), -1).reshape(-1, 2):
        assert ledger.tried(point) == (tuple(point) in (failed if model.noisy else seen))
    for number, expected in enumerate(model.trials):
        check_trial(ledger.trial(number), number, expected, model)


def check_trial(trial, number, expected, model):
    assert trial.id == number
    assert np.array_equal(trial.unit, expected["unit"])
    assert np.allclose(trial.x, SPACE.decode(expected["unit"]))
    assert not trial.unit.flags.writeable
    assert not trial.x.flags.writeable
    assert (trial.attempts, trial.started) == (expected["attempts"], expected["started"])
    if expected["told"] is None:
        assert trial.state == "pending"
        assert trial.value is None
        assert trial.ended is None
        return
    reading = expected["held"].reading
    assert trial.ended == expected["held"].ended
    if reading.error is not None:
        assert (trial.state, trial.error, trial.value, trial.constraints) == ("failed", reading.error, None, None)
    else:
        assert (trial.state, trial.error, trial.value) == ("done", None, reading.value)
        assert trial.constraints == (reading.constraints if model.n_constraints else None)
        assert trial.noise_variance == (None if math.isnan(reading.noise_variance) else reading.noise_variance)


@given(steps, st.integers(0, 2), st.booleans())
@settings(max_examples=150)
def test_entries_in_any_order(script, n_constraints, noisy):
    ledger, model = make(n_constraints, noisy)
    earlier = []
    for word, number in script:
        take(ledger, model, word, number)
        history = ledger.history()
        earlier.append((history, columns(history)))
    check(ledger, model)
    for history, as_it_was in earlier:
        assert same(columns(history), as_it_was)


@given(steps, st.integers(0, 2), st.booleans(), st.booleans())
@settings(max_examples=100)
def test_rows_say_all(script, n_constraints, noisy, in_columns):
    ledger, model = make(n_constraints, noisy)
    for word, number in script:
        take(ledger, model, word, number)
    rows = [ledger.row(number) for number in range(len(ledger))]
    kept = TrialColumns.of(rows, 2, n_constraints).rows() if in_columns else rows
    back = Ledger.restore(SPACE, kept, Domain(2, n_constraints, noisy))
    check(back, model)
    assert [row_facts(back.row(number)) for number in range(len(back))] == [row_facts(row) for row in rows]
    assert [trial.info for trial in back.trials] == [trial.info for trial in ledger.trials]
    assert back.trials == ledger.trials
    assert [hash(trial) for trial in back.trials] == [hash(trial) for trial in ledger.trials]
    for one, other in zip(ledger.pending.values(), back.pending.values(), strict=True):
        assert np.array_equal(one.memo["z"], other.memo["z"]) if one.memo else not other.memo
        assert np.array_equal(one.aim, other.aim)
        assert (one.aimed is None) == (other.aimed is None)
    # Both go on in the same way.
    for word, number in [("close", 5), ("open", 6), ("add", 7), ("close", 8), ("hold", 9)]:
        copy = Model(n_constraints, noisy)
        copy.trials, copy.told, copy.events = [dict(t) for t in model.trials], [], model.events
        order = sorted((t for t in copy.trials if t["told"] is not None), key=lambda t: t["told"])
        copy.told = order
        take(back, copy, word, number)
        take(ledger, model, word, number)
        check(back, model)


def some_rows():
    ledger, model = make(1)
    for word, number in [("open", 1), ("open", 2), ("close", 3), ("open", 4), ("close", 1), ("open", 8)]:
        take(ledger, model, word, number)
    return [ledger.row(number) for number in range(len(ledger))]


def change(rows, number, **changes):
    return [replace(row, **changes) if row.number == number else row for row in rows]


@pytest.mark.parametrize(
    "damage",
    [
        lambda rows: rows[1:],
        lambda rows: [*rows[:-1], replace(rows[-1], number=9)],
        lambda rows: change(rows, 0, unit=np.zeros(3)),
        lambda rows: change(rows, 0, aimed=np.zeros(1)),
        lambda rows: change(rows, 0, asked=rows[0].told or rows[1].told, told=0),
        lambda rows: change(rows, 0, asked=0, told=0),
        lambda rows: change(rows, 1, asked=77),
        lambda rows: [replace(row, value=None, error=None) for row in rows],
        lambda rows: [replace(row, ended=None) for row in rows],
        lambda rows: [replace(row, constraints=(1.0, 2.0), value=1.0, error=None) for row in rows],
        lambda rows: [replace(row, constraints=None, value=1.0, error=None) for row in rows],
    ],
)
def test_rows_that_do_not_fit_together(damage):
    rows = some_rows()
    assert len(Ledger.restore(SPACE, rows, Domain(2, 1))) == 4
    with pytest.raises(StoreError):
        Ledger.restore(SPACE, damage(rows), Domain(2, 1))


def test_an_outcome_before_its_question_is_refused_however_many_trials_there_are():
    ledger, _ = make()
    ledger.open([Proposal(np.zeros(2)) for _ in range(17)], 0.0)
    for number in range(16):
        ledger.close(number, Held(Reading(1.0), 1.0))
    rows = [ledger.row(number) for number in range(17)]
    swapped = [replace(row, asked=row.asked + 1) if row.number == 16 else row for row in rows]
    swapped = [replace(row, told=16) if row.told == 17 else row for row in swapped]
    swapped[16] = replace(swapped[16], told=16, asked=17, value=1.0, ended=1.0, state="done")
    with pytest.raises(StoreError):
        Ledger.restore(SPACE, swapped)


def test_which_trial_is_meant():
    ledger, _ = make()
    first, second = ledger.open([Proposal(np.zeros(2)), Proposal(np.ones(2))], 0.0)
    assert ledger.find(first) == 0
    assert ledger.find(np.int64(1)) == 1
    for wrong, words in (
        (2, "never asked"),
        (-1, "never asked"),
        ("x", "Expected a trial"),
        (replace(second, id=0), "another optimizer"),
    ):
        with pytest.raises(TellError, match=words):
            ledger.find(wrong)
    ledger.close(1, Held(Reading(4.5), 1.0))
    with pytest.raises(TellError, match=r"already told the value 4\.5"):
        ledger.find(second)


def test_equal_trials():
    unit = np.array([0.5, -0.5])
    one = Trial(3, unit * 2, unit, value=1.0, state="done", started=1.0, ended=2.0)
    same_one = Trial(3, unit * 2, unit.copy(), value=1.0, state="done", started=1.0, ended=2.0)
    assert one == same_one
    assert hash(one) == hash(same_one)
    assert len({one, same_one}) == 1
    for changes in ({"id": 4}, {"value": 2.0}, {"state": "failed"}, {"attempts": 2}, {"ended": 3.0}, {"unit": -unit}):
        assert one != replace(one, **changes)
    assert one != 3
    assert merit(one) == (0.0, 1.0, 3)


def test_the_oldest_of_equals_is_the_best_whenever_it_is_told():
    ledger, _ = make()
    ledger.open([Proposal(np.full(2, 0.1 * i)) for i in range(3)], 0.0)
    for number, best in ((1, 1), (2, 1), (0, 0)):
        ledger.close(number, Held(Reading(2.5), 1.0))
        assert ledger.best.id == best


def test_a_cheap_trial_costs_little_more_than_its_point():
    dim, n = 20, 4000
    optimizer = Optimizer([(-1, 1)] * dim, budget=2 * n, method="random", seed=1)

    def go(count):
        for _ in range(count):
            optimizer.tell(optimizer.ask(), 1.0)

    go(96)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        go(n)  # 4096 in all, so that there is no room to spare
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert len(optimizer.run.ledger.history()) == 4096
    assert grown / n < 8 * (dim + 7) + 160
