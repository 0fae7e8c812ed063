import numpy as np
import pytest

from boids.gp.additive import AdditivePosterior, Components, log_likelihood

N, D = 23, 5


@pytest.fixture
def case():
    rng = np.random.default_rng(3)
    components = Components(
        singles=np.array([1, 4]),
        pairs=np.array([[0, 2], [2, 3]]),
        lengthscales=rng.uniform(0.1, 0.6, D),
        amplitudes=rng.uniform(0.4, 2.0, D),
    )
    return components, rng.random((N, D)), rng.standard_normal(N), rng.uniform(0.05, 0.2, N)


def kernels(components, a, b):
    """One dense matrix per component, written down plainly."""
    found = []
    for group in [[int(i)] for i in components.singles] + components.pairs.tolist():
        scaled = (a[:, None, group] - b[None, :, group]) / components.lengthscales[group]
        variance = np.sqrt(np.sum(components.amplitudes[group] ** 2))
        found.append(variance * np.exp(-0.5 * np.sum(scaled**2, axis=-1)))
    return found


def test_covariance_against_dense_sums(case, monkeypatch):
    components, x, _, _ = case
    dense = np.tril(sum(kernels(components, x, x)))
    np.testing.assert_allclose(np.tril(components.covariance(x)), dense, rtol=1e-13)
    monkeypatch.setattr("boids.gp.additive._BLOCK", 3 * N)
    np.testing.assert_allclose(np.tril(components.covariance(x)), dense, rtol=1e-13)
    assert components.total_variance == pytest.approx(dense[0, 0])


def test_likelihood_against_dense_algebra(case):
    components, x, y, noise = case
    k = sum(kernels(components, x, x)) + np.diag(noise)
    expected = -0.5 * y @ np.linalg.solve(k, y) - 0.5 * np.linalg.slogdet(k)[1]
    assert log_likelihood(components, x, y, noise)[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("block", [3 * N, 32_768])
def test_gradients_against_differences(case, monkeypatch, block):
    monkeypatch.setattr("boids.gp.additive._BLOCK", block)
    components, x, y, noise = case
    _, in_lengthscales, in_amplitudes = log_likelihood(components, x, y, noise)

    def value(lengthscales, amplitudes):
        moved = Components(components.singles, components.pairs, lengthscales, amplitudes)
        return log_likelihood(moved, x, y, noise)[0]

    ls, v, h = components.lengthscales, components.amplitudes, 1e-6
    for i, step in enumerate(h * np.eye(D)):
        slope = (value(ls + step, v) - value(ls - step, v)) / (2 * h)
        assert in_lengthscales[i] == pytest.approx(slope, rel=1e-6, abs=1e-7)
        slope = (value(ls, v + step) - value(ls, v - step)) / (2 * h)
        assert in_amplitudes[i] == pytest.approx(slope, rel=1e-6, abs=1e-7)


def test_components_against_dense_algebra_and_their_means_add_up(case):
    components, x, y, noise = case
    posterior = AdditivePosterior.condition(components, x, y, noise)
    inverse = np.linalg.inv(sum(kernels(components, x, x)) + np.diag(noise))
    values = np.random.default_rng(0).random((D, 3))
    single, pair = posterior.on_grid(values)
    for a in range(3):
        for b in range(3):
            # Coordinate 2 is in both pairs, at its value number b; all others are at number a.
            point = values[:, a].copy()
            point[2] = values[2, b]
            cross = kernels(components, point[None], x)
            means = [k[0] @ inverse @ y for k in cross]
            variances = [
                s - k[0] @ inverse @ k[0] for k, s in zip(cross, np.concatenate(components.variances), strict=True)
            ]
            np.testing.assert_allclose(single[0][:, a], means[:2], rtol=1e-9)
            np.testing.assert_allclose(single[1][:, a], variances[:2], rtol=1e-9)
            np.testing.assert_allclose([pair[0][0, a, b], pair[0][1, b, a]], means[2:], rtol=1e-9)
            np.testing.assert_allclose([pair[1][0, a, b], pair[1][1, b, a]], variances[2:], rtol=1e-9)
            assert posterior.mean(point[None])[0] == pytest.approx(sum(means), rel=1e-9)


def test_fantasies_change_no_mean(case):
    components, x, y, noise = case
    posterior = AdditivePosterior.condition(components, x, y, noise)
    rng = np.random.default_rng(1)
    points, others = rng.random((2, D)), rng.random((4, D))
    fantasy = posterior.fantasise(points, 0.1)
    np.testing.assert_allclose(fantasy.mean(others), posterior.mean(others), rtol=1e-9)
    assert (fantasy.on_grid(others.T)[0][1] < posterior.on_grid(others.T)[0][1]).all()
    assert posterior.fantasise(points[:0], 0.1) is posterior


def test_without_pairs_and_without_singles():
    rng = np.random.default_rng(2)
    x, y = rng.random((6, 2)), rng.standard_normal(6)
    none, ones = np.empty(0, dtype=np.int64), np.ones(2)
    for components in (
        Components(np.array([0, 1]), none.reshape(0, 2), ones, ones),
        Components(none, np.array([[0, 1]]), ones, ones),
    ):
        posterior = AdditivePosterior.condition(components, x, y, np.full(6, 0.1))
        single, pair = posterior.on_grid(rng.random((2, 4)))
        assert single[0].shape == (len(components.singles), 4)
        assert pair[0].shape == (len(components.pairs), 4, 4)
