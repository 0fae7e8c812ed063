"""A swarm of points with memory: positions, last displacements, personal incumbents and the leader.

Kennedy & Eberhart, *Particle Swarm Optimization*, ICNN 1995; Shi & Eberhart, *A Modified Particle Swarm Optimizer*,
CEC 1998 (inertia); Ngo, Ha, Chan & Zhang (BOIDS), AAAI 2025, Eq. 1.

Notation
--------
x_i     position of particle i                        rows of `positions`        (m, d)
x̄_i     its displacement at its last move             rows of `displacements`    (m, d)
p_i     its personal incumbent, with its value        rows of `best_positions`   (m, d), (m,)
g       the leader: the global incumbent              `leader`                   (d,)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

import numpy as np

from boids.records import FloatArray, IntArray


@final
@dataclass(frozen=True, slots=True)
class Swarm:
    """Plain data; every move returns a new swarm. A value of +inf stands for "not known to work"."""

    positions: FloatArray
    displacements: FloatArray
    best_positions: FloatArray
    best_values: FloatArray
    leader: FloatArray
    leader_value: float

    @classmethod
    def at(cls, positions: FloatArray, values: FloatArray, displacements: FloatArray) -> Swarm:
        """Start a swarm at evaluated points; nan values (failures) are allowed."""
        known = np.where(np.isnan(values), np.inf, values)
        first = int(np.argmin(known))
        return cls(positions, displacements, positions, known, positions[first], float(known[first]))

    def __len__(self) -> int:
        return len(self.positions)

    def velocities(self, inertia: float, cognitive: float, social: float, rng: np.random.Generator) -> FloatArray:
        """Return v_i = w x̄_i + c1 r1 ∘ (p_i - x_i) + c2 r2 ∘ (g - x_i), with fresh r1, r2 ~ U[0, 1]^d (Eq. 1)."""
        r1 = rng.random(self.positions.shape)
        r2 = rng.random(self.positions.shape)
        return (
            inertia * self.displacements
            + cognitive * r1 * (self.best_positions - self.positions)
            + social * r2 * (self.leader - self.positions)
        )

    def move(self, i: int, z: FloatArray, value: float) -> Swarm:
        """Move particle i to the evaluated point z; incumbents change on any decrease."""
        better = value < self.best_values[i]
        moved = replace(
            self,
            positions=_with_row(self.positions, i, z),
            displacements=_with_row(self.displacements, i, z - self.positions[i]),
            best_positions=_with_row(self.best_positions, i, z) if better else self.best_positions,
            best_values=_with_row(self.best_values, i, value) if better else self.best_values,
        )
        return moved.follow(z, value)

    def join(self, z: FloatArray, value: float, displacement: FloatArray) -> Swarm:
        """Add a particle at an evaluated point."""
        known = np.inf if np.isnan(value) else value
        joined = replace(
            self,
            positions=np.vstack([self.positions, z]),
            displacements=np.vstack([self.displacements, displacement]),
            best_positions=np.vstack([self.best_positions, z]),
            best_values=np.append(self.best_values, known),
        )
        return joined.follow(z, known)

    def follow(self, z: FloatArray, value: float) -> Swarm:
        """Take z as the leader if it is better than the present one."""
        return replace(self, leader=z, leader_value=value) if value < self.leader_value else self

    def judged(self, points: FloatArray, merits: FloatArray, homes: IntArray, owners: IntArray) -> Swarm:
        """Return the swarm with its incumbents chosen anew, for merits that change as more is learnt.

        Parameters
        ----------
        points, merits
            All evaluated points (n, d) and what they are judged by (n,), lower is better, nan: failed.
        homes
            The point where each particle began (m,).
        owners
            The particle that moved to each point (n,), -1 for none.
        """
        known = np.where(np.isnan(merits), np.inf, merits)
        best = homes.copy()
        for row in np.flatnonzero(owners >= 0):
            i = owners[row]
            if known[row] < known[best[i]]:
                best[i] = row
        first = int(np.argmin(known))
        return replace(
            self,
            best_positions=points[best],
            best_values=known[best],
            leader=points[first],
            leader_value=float(known[first]),
        )

    def reindex(self, parent: IntArray) -> Swarm:
        """Carry everything into a split subspace: coordinate k repeats the old coordinate parent[k]."""
        return replace(
            self,
            positions=self.positions[:, parent],
            displacements=self.displacements[:, parent],
            best_positions=self.best_positions[:, parent],
            leader=self.leader[parent],
        )


def _with_row(array: FloatArray, i: int, row: FloatArray | float) -> FloatArray:
    changed = array.copy()
    changed[i] = row
    return changed
