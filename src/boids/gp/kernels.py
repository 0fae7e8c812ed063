"""Stationary kernels as functions of the scaled squared distance.

Rasmussen & Williams, *Gaussian Processes for Machine Learning*, chapter 4; spectral densities as in Rahimi & Recht,
*Random Features for Large-Scale Kernel Machines*, 2007.

Notation
--------
a       x / lengthscales, a scaled point                                      (n, d)
q       ‖a - a'‖², the scaled squared distance                                 any shape
k(q)    correlation, k(0) = 1; the covariance is signal_variance * k
k'(q)   dk/dq, the one derivative from which every gradient follows: in hyper-parameters and in x
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal, Protocol, final

import numpy as np
from numpy.typing import NDArray

from boids.records import FloatArray

KernelName = Literal["matern52", "rbf"]
_SQRT5 = math.sqrt(5.0)


class Kernel(Protocol):
    """A stationary correlation function; keeps the floating-point type of its input."""

    def value(self, q: NDArray[Any]) -> NDArray[Any]:
        """Return k(q)."""

    def value_and_slope(self, q: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return k(q) and dk/dq."""

    def frequencies(self, rng: np.random.Generator, count: int, dim: int) -> FloatArray:
        """Draw `count` angular frequencies (count, dim) from the spectral density."""


@final
class Matern52:
    """k(q) = (1 + √5 r + 5/3 r²) exp(-√5 r), r = √q."""

    name: ClassVar[KernelName] = "matern52"

    def value(self, q: NDArray[Any]) -> NDArray[Any]:
        """Return k(q)."""
        return self._parts(q)[0]

    def value_and_slope(self, q: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return k(q) and dk/dq = -5/6 (1 + √5 r) exp(-√5 r)."""
        k, linear, decay = self._parts(q)
        linear *= decay
        linear *= -5.0 / 6.0
        return k, linear

    @staticmethod
    def _parts(q: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Return k, 1 + √5 r and exp(-√5 r), with few passes over memory: this is the inner loop of everything."""
        root: NDArray[Any] = np.sqrt(q)
        root *= _SQRT5
        decay: NDArray[Any] = np.exp(-root)
        root += 1.0
        k: NDArray[Any] = q * (5.0 / 3.0)
        k += root
        k *= decay
        return k, root, decay

    def frequencies(self, rng: np.random.Generator, count: int, dim: int) -> FloatArray:
        """Draw from the spectral density of the Matérn family: a multivariate t with 2ν = 5 degrees of freedom."""
        chi2 = rng.chisquare(5.0, size=(count, 1))
        return rng.standard_normal((count, dim)) * np.sqrt(5.0 / chi2)


@final
class RBF:
    """k(q) = exp(-q/2)."""

    name: ClassVar[KernelName] = "rbf"

    def value(self, q: NDArray[Any]) -> NDArray[Any]:
        """Return k(q)."""
        k: NDArray[Any] = q * -0.5
        np.exp(k, out=k)
        return k

    def value_and_slope(self, q: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return k(q) and dk/dq = -k/2."""
        k = self.value(q)
        return k, k * -0.5

    def frequencies(self, rng: np.random.Generator, count: int, dim: int) -> FloatArray:
        """Draw from the spectral density: a standard normal."""
        return rng.standard_normal((count, dim))


KERNELS: dict[KernelName, Kernel] = {"matern52": Matern52(), "rbf": RBF()}
