"""Statistics against SciPy, published tables and examples worked by hand."""

import itertools

import numpy as np
import pytest
from bench.made_runs import write_run
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from boids.bench import compare, load
from boids.bench import statistics as s
from boids.bench.comparison import needed
from boids.bench.table import ResultsError

# Demšar (2006), Table 6: AUC of C4.5, C4.5+m, C4.5+cf and C4.5+m+cf on 14 data sets. The paper's ranks set apart the
# last two of the 13th row, which are equal as printed.
DEMSAR = np.array(
    [
        [0.763, 0.768, 0.771, 0.798],
        [0.599, 0.591, 0.590, 0.569],
        [0.954, 0.971, 0.968, 0.967],
        [0.628, 0.661, 0.654, 0.657],
        [0.882, 0.888, 0.886, 0.898],
        [0.936, 0.931, 0.916, 0.931],
        [0.661, 0.668, 0.609, 0.685],
        [0.583, 0.583, 0.563, 0.625],
        [0.775, 0.838, 0.866, 0.875],
        [1.000, 1.000, 1.000, 1.000],
        [0.940, 0.962, 0.965, 0.962],
        [0.619, 0.666, 0.614, 0.669],
        [0.972, 0.981, 0.97501, 0.975],
        [0.957, 0.978, 0.946, 0.970],
    ]
)


def test_the_example_of_demsar():
    found = s.rank(-DEMSAR)
    np.testing.assert_allclose(found.average, [3.143, 2.000, 2.893, 1.964], atol=5e-4)
    assert found.difference == pytest.approx(1.25, abs=0.01)  # at 0.05: 2.569 √(4·5 / 6·14)
    assert found.blocks == 14
    assert found.are_different
    assert found.groups() == [(3, 1, 2, 0)]  # 3.143 - 1.964 < 1.25: none apart at 0.05
    assert found.statistic == pytest.approx(stats.friedmanchisquare(*DEMSAR.T).statistic)
    assert found.p == pytest.approx(stats.friedmanchisquare(*DEMSAR.T).pvalue)
    # C4.5 against C4.5+m+cf: significant in the paper's Bonferroni-Dunn test at 0.10, z = 2.416, p = 0.016
    z = (found.average[0] - found.average[3]) / np.sqrt(4 * 5 / (6 * 14))
    assert z == pytest.approx(2.416, abs=2e-3)


def test_critical_values_of_the_literature():
    """Demšar (2006), Table 5 (a): critical values of the Nemenyi test at 0.05."""
    published = [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164]
    for k, q in enumerate(published, start=2):
        assert s.critical_difference(k, 6) / np.sqrt(k * (k + 1) / 36) == pytest.approx(q, abs=1.1e-3)
    assert np.isnan(s.critical_difference(1, 5))


def test_groups_are_the_largest_sets_within_reach():
    ranks = s.Ranks(np.array([4.0, 1.0, 1.5, 2.6, 6.0]), 10, 9.0, 0.01, 1.2)
    assert ranks.groups() == [(1, 2), (2, 3)]
    ranks = s.Ranks(np.array([1.0, 2.0, 3.0]), 10, 9.0, 0.01, 9.0)
    assert ranks.groups() == [(0, 1, 2)]


def test_ranks_with_ties_gaps_and_infinities():
    found = s.rank([[1.0, 1.0, 2.0], [np.inf, 3.0, np.inf], [np.nan, 0.0, 0.0]])
    np.testing.assert_allclose(found.average, [(1.5 + 2.5) / 2, (1.5 + 1) / 2, (3 + 2.5) / 2])
    assert found.blocks == 2
    assert s.rank(np.full((3, 2), np.nan)).blocks == 0
    equal = s.rank(np.ones((4, 3)))
    assert (equal.statistic, equal.p) == (0.0, 1.0)


@given(arrays(np.float64, st.tuples(st.integers(2, 9), st.integers(3, 6)), elements=st.integers(0, 6).map(float)))
def test_friedman_is_scipys(values):
    if (values == values[:, :1]).all():
        assert s.friedman(values) == (0.0, 1.0)
        return
    expected = stats.friedmanchisquare(*values.T)
    assert s.friedman(values) == pytest.approx((expected.statistic, expected.pvalue))


def test_mean_and_error():
    x = np.array([[1.0, np.nan, np.nan], [3.0, 2.0, np.nan], [8.0, 4.0, np.nan], [0.0, np.nan, np.nan]])
    mean, error = s.mean_and_error(x)
    np.testing.assert_allclose(mean, [3.0, 3.0, np.nan])
    np.testing.assert_allclose(error, [stats.sem(x[:, 0]), stats.sem([2.0, 4.0]), np.nan])


@given(arrays(np.float64, st.tuples(st.integers(1, 8), st.integers(1, 3)), elements=st.floats(-1e6, 1e6)))
def test_quartiles_are_numpys(x):
    expected = np.quantile(x, [0.25, 0.5, 0.75], axis=0)
    np.testing.assert_allclose(np.array(s.quartiles(x)), expected, rtol=1e-9, atol=1e-6)


def test_quartiles_with_infinities():
    low, median, high = s.quartiles(np.array([[1.0], [2.0], [np.inf], [np.inf], [np.nan]]))
    assert low[0] == 1.75
    assert median[0] == high[0] == np.inf


def by_enumeration(differences):
    """Two-sided p-value of the signed-rank test with Pratt's zeros, over all signs."""
    d = np.asarray(differences)
    ranks = stats.rankdata(np.abs(d))[d != 0]
    observed = ranks[d[d != 0] > 0].sum()
    sums = np.array(
        [
            sum(r for r, up in zip(ranks, signs, strict=True) if up)
            for signs in itertools.product([0, 1], repeat=len(ranks))
        ]
    )
    return min(1.0, 2 * min((sums <= observed + 1e-9).mean(), (sums >= observed - 1e-9).mean()))


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=9))
def test_signed_rank_over_all_signs(differences):
    if not any(differences):
        assert s.signed_rank(differences).p == 1.0
        return
    assert s.signed_rank(differences).p == pytest.approx(by_enumeration(differences))


def test_signed_rank_without_ties_is_scipys():
    rng = np.random.default_rng(0)
    for n in (5, 12, 40):
        d = rng.normal(0.4, 1.0, n)
        expected = stats.wilcoxon(d, method="exact")
        found = s.signed_rank(d)
        assert found.p == pytest.approx(expected.pvalue)
        assert found.effect == pytest.approx((2 * stats.rankdata(np.abs(d))[d > 0].sum()) / (n * (n + 1) / 2) - 1)
        assert (found.pairs, found.better, found.worse) == (n, (d < 0).sum(), (d > 0).sum())
    d = rng.normal(0.05, 1.0, 500)
    assert s.signed_rank(d).p == pytest.approx(stats.wilcoxon(d, method="asymptotic").pvalue, rel=1e-6)


def test_signed_rank_with_infinities_and_gaps():
    found = s.signed_rank([-np.inf, -1.0, -2.0, np.nan, -np.inf, -3.0])
    assert found.pairs == 5
    assert found.p == pytest.approx(2 / 32)
    assert found.p == found.smallest
    assert found.effect == -1.0
    assert np.isnan(s.signed_rank([]).p)


def test_how_many_pairs_it_takes():
    assert s.pairs_needed() == 6  # five repetitions never reach 0.05: 2/32
    assert s.smallest_p(5) > 0.05 > s.smallest_p(6)
    assert s.pairs_needed(11) == 9
    assert 11 * s.smallest_p(9) < 0.05 < 11 * s.smallest_p(8)


def test_holm_by_hand():
    # Holm (1979), Example: .01, .04, .03, .005 -> the third is not smaller than the second
    np.testing.assert_allclose(s.holm([0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02])
    np.testing.assert_allclose(s.holm([0.5, np.nan, 0.9]), [1.0, np.nan, 1.0])
    assert s.holm([]).shape == (0,)


def test_profiles_by_hand():
    slow = np.array([10.0, 8.0, 6.0, 2.0, 2.0])
    fast = np.array([10.0, 1.0, 0.0, 0.0, 0.0])
    stuck = np.array([np.nan, 10.0, 10.0, 10.0, 10.0])
    np.testing.assert_array_equal(s.evaluations_needed([slow, fast, stuck], 0.2), [4, 2, np.inf])
    np.testing.assert_array_equal(s.evaluations_needed([slow, fast, stuck], 0.0), [np.inf, 3, np.inf])
    np.testing.assert_array_equal(s.evaluations_needed([np.empty(0), fast], 0.0), [np.nan, 3])
    np.testing.assert_array_equal(s.evaluations_needed([np.full(3, np.nan), np.empty(0)], 0.1), [np.inf, np.nan])
    t = np.array([[4.0, 2.0, np.nan], [3.0, np.inf, np.nan]])
    np.testing.assert_array_equal(s.data_profile(t, [1, 2, 3, 4]), [[0, 0, 0.5, 1], [0, 0.5, 0.5, 0.5], [np.nan] * 4])
    np.testing.assert_array_equal(s.performance_profile(t, [1, 2]), [[0.5, 1.0], [0.5, 0.5], [np.nan] * 2])


@pytest.fixture
def table(tmp_path):
    for r in range(6):
        write_run(tmp_path, "p", "good", r, [9.0, 5.0, 1.0 + r])
        write_run(tmp_path, "p", "bad", r, [9.0, 8.0, 4.0 + 2 * r])
        write_run(tmp_path, "p", "short", r, [9.0, 6.0], budget=3, status="time limit")
        write_run(tmp_path, "p", "slow", r, [9.0, 7.0], budget=3, status=None)
    write_run(tmp_path, "q", "good", 0, [100.0, 50.0])
    write_run(tmp_path, "q", "bad", 0, [None, None])
    return load(tmp_path)


def test_compare(table):
    both = compare(table)
    assert both.at == {"p": 3, "q": 2}
    assert both.methods == ("bad", "good", "short", "slow")
    p = both.on("p")
    np.testing.assert_array_equal(p.values[0], [4.0, 1.0, 6.0, np.nan])
    np.testing.assert_array_equal(p.carried[0], [False, False, True, False])
    np.testing.assert_array_equal(both.on("q").values, [[np.inf, 50.0, np.nan, np.nan]])
    # earlier, the unfinished runs count as well
    np.testing.assert_array_equal(compare(table, at=2).on("p").values[0], [8.0, 5.0, 6.0, 7.0])
    with pytest.raises(ResultsError, match="at least 1"):
        compare(table, at=0)


def test_ranking_leaves_out_who_has_not_run(table):
    methods, ranks = compare(table).ranking()
    assert methods == ("bad", "good", "short")  # `slow` has no run of that length
    assert ranks.blocks == 6
    assert ranks.average.argmin() == 1


def test_tests_against_a_reference(table):
    found = {label: (test, p) for label, test, p in compare(table).against("good")}
    test, p = found["bad"]
    assert (test.pairs, test.better, test.worse) == (7, 0, 7)
    assert test.p == pytest.approx(2 / 128)
    assert p == pytest.approx(2 * 2 / 128)
    assert found["slow"][0].pairs == 0
    assert np.isnan(found["slow"][1])
    with pytest.raises(ResultsError, match="did you mean 'good'"):
        compare(table).against("goood")


def test_by_problem_repetitions_are_not_new_problems(tmp_path):
    # Ten repetitions on each of three problems, always worse: plenty of blocks, few problems.
    for problem in "pqr":
        for repetition in range(10):
            write_run(tmp_path, problem, "good", repetition, [1.0 + repetition])
            write_run(tmp_path, problem, "bad", repetition, [2.0 + repetition])
    both = compare(load(tmp_path))
    ((_, blocks, _),) = both.against("good")
    ((_, problems, _),) = both.against("good", by_problem=True)
    assert (blocks.pairs, problems.pairs) == (30, 3)
    assert blocks.p < 1e-8
    assert problems.p == pytest.approx(2 / 2**3)
    assert problems.worse == 3


def test_problems_that_methods_share(table):
    both = compare(table)
    assert both.shared_by(("bad", "good")) == ("p", "q")
    assert both.shared_by(("good", "short")) == ("p",)
    assert both.shared_by(both.ranking()[0]) == ("p",)


def test_needed(table):
    comparison = compare(table)
    found = needed(table, comparison, 0.5)
    assert found.shape == (7, 4)
    np.testing.assert_array_equal(found[0], [3, 2, np.inf, np.nan])
    np.testing.assert_array_equal(found[6], [np.inf, 2, np.nan, np.nan])
