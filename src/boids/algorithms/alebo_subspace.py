"""The linear subspace of ALEBO: points of the box that a random projection leaves where they are.

Letham, Calandra, Rai & Bakshy, NeurIPS 2020, section 4.

Notation
--------
B       Gaussian with columns of unit length                        (d, D)
B⁺      its pseudo-inverse                                          (D, d)
y       point of the subspace; its image is u = B⁺y, and B u = y    (d,)
reach   max_i |B⁺y|_i; the image lies in the box where it is ≤ 1
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np

from boids.records import BoolArray, FloatArray

#: The side of the first, much too large box of `sample`, over that of the box itself (original).
WIDEST = 16.0
#: How far from its projection a point may be, in any coordinate, and still belong to the subspace.
TOLERANCE = 1e-6


@final
@dataclass(frozen=True, slots=True)
class LinearSubspace:
    """B and B⁺."""

    down: FloatArray
    up: FloatArray

    @classmethod
    def random(cls, input_dim: int, dim: int, rng: np.random.Generator) -> LinearSubspace:
        """Draw B; with d ≥ D the subspace is the input space, for which no map is needed."""
        if dim >= input_dim:
            return cls(np.eye(input_dim), np.eye(input_dim))
        down = rng.standard_normal((dim, input_dim))
        down /= np.linalg.norm(down, axis=0)
        return cls(down, np.ascontiguousarray(np.linalg.pinv(down)))

    @property
    def dim(self) -> int:
        """d."""
        return len(self.down)

    @property
    def input_dim(self) -> int:
        """D."""
        return len(self.up)

    def project(self, units: FloatArray) -> FloatArray:
        """Return B u for points (q, D) of the box."""
        return np.asarray(units @ self.down.T)

    def lift(self, y: FloatArray) -> FloatArray:
        """Return the images (q, D) of points (q, d), clipped to the box."""
        return np.clip(y @ self.up.T, -1.0, 1.0)

    def reach(self, y: FloatArray) -> FloatArray:
        """Return how far towards the walls of the box the images go (q,): to them at 1."""
        return np.asarray(np.abs(y @ self.up.T).max(axis=1))

    def holds(self, unit: FloatArray) -> bool:
        """Return whether a point (D,) is an image."""
        image = self.lift(self.project(unit[None, :]))[0]
        return bool(np.abs(image - unit).max() <= TOLERANCE)

    def sample(
        self,
        count: int,
        rng: np.random.Generator,
        draws: int,
        allowed: Callable[[FloatArray], BoolArray] | None = None,
    ) -> FloatArray:
        """Return random points (count, d) with images in the box.

        Uniform points of [-b, b]^D are projected, from b = 16 on and with b halved until enough of them have images in
        the box (original). Halving b halves the projections, so that one draw tells for all b. Points that linear
        constraints forbid do not count, if that leaves any.
        """
        y = self.project(rng.uniform(-1.0, 1.0, (max(draws, count), self.input_dim)))
        reach = self.reach(y)
        box = WIDEST
        while np.count_nonzero(box * reach <= 1.0) < count:
            box *= 0.5
        y = box * y[box * reach <= 1.0]
        if allowed is not None:
            good = allowed(self.lift(y))
            y = np.vstack([y[good], y[~good]]) if good.any() else y
        return y[:count].copy()

    def triangle(self, rng: np.random.Generator) -> FloatArray:
        """Return the U (d, d) of a kernel with unit length scales along d random directions of the input space.

        Its Γ = UᵀU is (A B⁺)ᵀ (A B⁺) for A with orthonormal rows (original); the triangle of a QR decomposition is
        such a U.
        """
        directions, _ = np.linalg.qr(rng.standard_normal((self.input_dim, self.dim)))
        return np.ascontiguousarray(np.linalg.qr(directions.T @ self.up, mode="r"))
