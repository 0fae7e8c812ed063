import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from boids.blocks.trust_region import (
    RegionRules,
    Rounds,
    TrustRegion,
    is_success,
    region_failure_tolerance,
    side_weights,
)

RULES = RegionRules()


def test_the_constants_of_both_papers():
    assert (RULES.initial, RULES.largest, RULES.smallest, RULES.success_tolerance) == (0.8, 1.6, 2.0**-7, 3)


def test_seven_halvings_end_a_region():
    region, halvings = TrustRegion.fresh(RULES), 0
    while not region.exhausted(RULES):
        region, halvings = region.update(False, 1, 1, RULES), halvings + 1
    assert halvings == 7


def test_three_successes_double_the_side_up_to_the_largest():
    region = TrustRegion.fresh(RULES)
    for _ in range(2):
        region = region.update(True, 1, 4, RULES)
    assert (region.length, region.successes) == (0.8, 2)
    region = region.update(True, 1, 4, RULES)
    assert region == TrustRegion(1.6)
    for _ in range(3):
        region = region.update(True, 1, 4, RULES)
    assert region == TrustRegion(1.6)


def test_a_failure_forgets_successes_and_a_success_failures():
    region = TrustRegion(0.8, successes=2).update(False, 1, 4, RULES)
    assert (region.successes, region.failures) == (0, 1)
    region = region.update(True, 1, 4, RULES)
    assert (region.successes, region.failures) == (1, 0)


@given(dim=st.integers(1, 60), batch=st.integers(1, 20))
def test_counting_points_is_the_papers_tolerance_in_rounds(dim, batch):
    rounds = int(np.ceil(max(4.0 / batch, dim / batch)))
    region = TrustRegion.fresh(RULES)
    for _ in range(rounds - 1):
        region = region.update(False, batch, region_failure_tolerance(dim, 1), RULES)
    assert region.length == 0.8
    assert region.update(False, batch, region_failure_tolerance(dim, 1), RULES).length == 0.4


def test_several_regions_tolerate_five_at_least():
    assert [region_failure_tolerance(dim, 3) for dim in (1, 5, 9)] == [5, 5, 9]


@given(st.lists(st.floats(0.005, 10.0), min_size=1, max_size=30))
def test_weights_have_geometric_mean_one_and_are_those_of_the_definition(lengthscales):
    lengthscales = np.array(lengthscales)
    weights = side_weights(lengthscales)
    w = lengthscales / lengthscales.mean()
    w = w / np.prod(np.power(w, 1.0 / len(w)))
    np.testing.assert_allclose(weights, w, rtol=1e-9)
    np.testing.assert_allclose(np.log(weights).sum(), 0.0, atol=1e-9)


def test_the_same_share_of_both_cubes():
    lengthscales, unit = np.array([0.5, 1.0, 2.0]), np.array([0.3, 0.9, 0.5])
    low, high = TrustRegion(0.4).box(unit, lengthscales, 0.0, 1.0)
    np.testing.assert_allclose(low, [0.2, 0.7, 0.1])
    np.testing.assert_allclose(high, [0.4, 1.0, 0.9])
    signed_low, signed_high = TrustRegion(0.4).box(2.0 * unit - 1.0, lengthscales, -1.0, 1.0)
    np.testing.assert_allclose(signed_low, 2.0 * low - 1.0)
    np.testing.assert_allclose(signed_high, 2.0 * high - 1.0)


@pytest.mark.parametrize(
    ("value", "best", "expected"),
    [
        (0.998, 1.0, True),
        (0.9995, 1.0, False),
        (-1.002, -1.0, True),
        (-1.0005, -1.0, False),
        (-1e-9, 0.0, True),
        (0.0, 0.0, False),
        (np.nan, 1.0, False),
        (np.nan, np.inf, False),
        (5.0, np.inf, True),
    ],
)
def test_success_is_better_by_a_thousandth(value, best, expected):
    assert is_success(value, best) is expected


def test_a_round_is_judged_when_it_is_complete():
    rounds = Rounds.none().asked(10).asked(10).asked(12)
    rounds, size, _ = rounds.told(10, True)
    assert size == 0
    rounds, size, success = rounds.told(12, False)
    assert (size, success) == (1, False)
    rounds, size, success = rounds.told(10, False)
    assert (size, success) == (2, True)
    assert len(rounds.known) == 0
    assert rounds.told(99, True)[1] == 0  # of a round that is not kept: nothing happens
