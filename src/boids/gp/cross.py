"""Correlations between new points and the training inputs, laid out once for many calls in one precision.

In single precision a squared distance from a matrix product loses digits with the norms of the points, so the origin
can be moved to where accuracy matters: to the incumbent, around which a search spends its time.

Notation
--------
Z       points                                   (q, d)
a       (z - origin) / ℓ                         (q, d)
B       (X - origin) / ℓ                         (n, d)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import DTypeLike, NDArray

from boids.gp.kernels import Kernel
from boids.records import FloatArray


@final
@dataclass(frozen=True)
class CrossCorrelation:
    """Z -> k(Z, X), in the precision of its arrays."""

    kernel: Kernel
    origin: NDArray[Any]
    inverse_lengthscales: NDArray[Any]
    scaled_inputs: NDArray[Any]
    norms: NDArray[Any]

    @classmethod
    def of(
        cls,
        kernel: Kernel,
        lengthscales: FloatArray,
        inputs: FloatArray,
        dtype: DTypeLike,
        centre: FloatArray | None = None,
    ) -> CrossCorrelation:
        """Lay out the training inputs around `centre` (the cube's centre if not given)."""
        origin = np.zeros_like(lengthscales) if centre is None else np.asarray(centre, dtype=np.float64)
        # Inputs may take a hundred megabytes: no more copies of them than needed.
        scaled = inputs / lengthscales if centre is None else inputs - origin
        if centre is not None:
            scaled /= lengthscales
        scaled = scaled.astype(dtype, copy=False)
        return cls(
            kernel=kernel,
            origin=origin.astype(dtype),
            inverse_lengthscales=(1.0 / lengthscales).astype(dtype),
            scaled_inputs=scaled,
            norms=np.einsum("ij,ij->i", scaled, scaled),
        )

    def scale(self, points: NDArray[Any]) -> NDArray[Any]:
        """Return the points in length scales from the origin."""
        scaled: NDArray[Any] = np.asarray(points, dtype=self.origin.dtype) - self.origin
        scaled *= self.inverse_lengthscales
        return scaled

    def between(self, scaled: NDArray[Any]) -> NDArray[Any]:
        """Return the squared distances (q, n) from scaled points to the training inputs."""
        q: NDArray[Any] = scaled @ self.scaled_inputs.T
        q *= -2.0
        q += np.einsum("ij,ij->i", scaled, scaled)[:, None]
        q += self.norms
        np.maximum(q, 0.0, out=q)
        return q

    def along(
        self, origins: NDArray[Any], directions: NDArray[Any], t: NDArray[Any]
    ) -> Iterator[tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]]:
        """Yield, line by line, the scaled origin and direction, the parameters t (k,), and k(x + t v, X) (k, n).

        On a line the squared distance to an input is a quadratic in t, so the cost of many points on a few lines does
        not grow with the dimension.
        """
        starts = self.scale(origins)
        ways = np.asarray(directions, dtype=self.origin.dtype) * self.inverse_lengthscales
        constant = self.between(starts)
        linear = 2.0 * (np.einsum("ij,ij->i", starts, ways)[:, None] - ways @ self.scaled_inputs.T)
        quadratic = np.einsum("ij,ij->i", ways, ways)
        for i, parameters in enumerate(np.asarray(t, dtype=self.origin.dtype)):
            q = np.multiply.outer(parameters, linear[i])
            q += constant[i]
            q += (quadratic[i] * parameters**2)[:, None]
            np.maximum(q, 0.0, out=q)
            yield starts[i], ways[i], parameters, self.kernel.value(q)

    def __call__(self, scaled: NDArray[Any]) -> NDArray[Any]:
        """Return the correlations (q, n) of scaled points with the training inputs."""
        return self.kernel.value(self.between(scaled))
