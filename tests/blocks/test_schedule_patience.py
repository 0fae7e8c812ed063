import pytest
from hypothesis import given
from hypothesis import strategies as st

from boids.blocks import schedule
from boids.blocks.patience import Patience, PatienceRules

RELEASED = PatienceRules()
PAPER = PatienceRules(exceed=True)


def tolerance(dim, input_dim, total):
    start, splits = schedule.initial_dimension(input_dim, 3)
    return schedule.baxus_failure_tolerance(dim, input_dim, start, splits, 3, total)


@pytest.mark.parametrize(
    ("input_dim", "dim", "budget", "tau"),
    [
        (100, 2, 11.65, 1),
        (100, 8, 46.6, 4),
        (100, 32, 186.4, 14),
        (180, 3, 11.65, 1),
        (180, 12, 46.6, 4),
        (180, 48, 186.4, 14),
        (500, 2, 2.90, 1),
        (500, 8, 11.6, 1),
        (500, 32, 46.5, 4),
        (500, 128, 185.8, 14),
        (1000, 1, 0.73, 1),
        (1000, 4, 2.9, 1),
        (1000, 16, 11.6, 1),
        (1000, 64, 46.4, 4),
        (1000, 256, 185.7, 14),
    ],
)
def test_budget_and_tolerance_are_the_tabulated_ones(input_dim, dim, budget, tau):
    start, splits = schedule.initial_dimension(input_dim, 3)
    assert schedule.subspace_budget(dim, start, splits, 3, 990) == pytest.approx(budget, abs=0.06)
    assert tolerance(dim, input_dim, 990) == tau


def test_tolerance_in_the_input_space():
    assert tolerance(100, 100, 980) == 100
    assert tolerance(2, 2, 980) == 4
    assert schedule.unit_failure_tolerance(100, 100) == 100
    assert schedule.unit_failure_tolerance(1, 1) == 4
    assert {schedule.unit_failure_tolerance(d, 100) for d in (1, 2, 8, 32, 99)} == {1}


@given(st.integers(1, 2000), st.integers(1, 6), st.integers(1, 5000))
def test_the_subspace_budgets_add_up_to_the_whole(input_dim, new_bins, total):
    start, splits = schedule.initial_dimension(input_dim, new_bins)
    dims = [start * (new_bins + 1) ** i for i in range(splits + 1)]
    parts = [schedule.subspace_budget(d, start, splits, new_bins, total) for d in dims]
    assert sum(parts) == pytest.approx(total)
    assert 1 <= start <= input_dim


def test_halvings_constant():
    assert abs(schedule.HALVINGS - 13.356) < 1e-3


def scripted(script, rules, tau=1):
    """Run S(uccess) and F(ailure) letters and return K after each."""
    patience = Patience.fresh(rules)
    factors = []
    for letter in script:
        patience = patience.update(letter == "S", tau, rules)
        factors.append(patience.factor)
    return patience, factors


def test_seven_failures_end_a_fresh_subspace():
    patience, factors = scripted("FFFFFFF", RELEASED)
    assert factors == [2, 3, 4, 5, 6, 7, 8]
    assert patience.exhausted(RELEASED)
    assert not scripted("FFFFFF", RELEASED)[0].exhausted(RELEASED)


def test_three_successes_lower_the_factor_and_an_interrupted_row_does_not():
    assert scripted("SSS", RELEASED)[1] == [1, 1, 0]
    assert scripted("SSF", RELEASED)[1] == [1, 1, 2]
    assert scripted("SSFSSS", RELEASED)[1] == [1, 1, 2, 2, 2, 1]


def test_the_factor_stays_above_its_minimum_and_counters_reset():
    patience, factors = scripted("SSSSSSSSS", RELEASED)
    assert factors[-1] == 0
    assert (patience.successes, patience.failures) == (0, 0)


def test_exceeding_needs_one_more_than_reaching():
    assert scripted("SSS", PAPER)[1] == [1, 1, 1]
    assert scripted("SSSS", PAPER)[1] == [1, 1, 1, 0]
    assert scripted("FFFF", PAPER, tau=1)[1] == [1, 2, 2, 3]
    assert scripted("F" * 14, PAPER, tau=1)[0].exhausted(PAPER)


def test_a_success_breaks_a_row_of_failures():
    patience, factors = scripted("FFFSFFFF", RELEASED, tau=4)
    assert factors == [1, 1, 1, 1, 1, 1, 1, 2]
    assert patience.failures == 0
