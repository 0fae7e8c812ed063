"""How runs of BOIDS begin: in the first subspace, in the input space, after a restart, a standstill, a sweep given up.

A run is what a restart ends: the data that the models are made of, the swarm, and the subspace they are in.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from boids.algorithms import boids_guests, boids_sweeps
from boids.algorithms.boids_design import initial_design, laid_through
from boids.algorithms.boids_models import Fits
from boids.algorithms.boids_settings import BoidsSettings
from boids.algorithms.boids_state import BoidsState
from boids.algorithms.boids_sweeps import LEAST_DIM
from boids.blocks import schedule
from boids.blocks.embedding import Embedding
from boids.blocks.patience import Patience, PatienceRules
from boids.blocks.standstill import Standstill
from boids.blocks.sweep import Sweep, Turns
from boids.records import Domain, History


def patience_rules(settings: BoidsSettings) -> PatienceRules:
    """Return the constants of the termination factor."""
    return PatienceRules(
        initial=settings.termination_initial,
        minimum=settings.termination_min,
        maximum=settings.termination_max,
        success_tolerance=settings.success_tolerance,
        exceed=settings.counters == "exceeded",
    )


def first_run(
    settings: BoidsSettings, domain: Domain, budget: int, rng: np.random.Generator, sweeping: bool
) -> dict[str, Any]:
    """Return the fields of a state that begins in the first subspace, or in the input space."""
    dim = domain.dim
    if not settings.embedding or domain.repairing is not None or sweeping:
        # Equations between the parameters: a random subspace has hardly a point in common with them.
        start, splits = dim, 0
    elif settings.initial_dim is not None:
        start = min(settings.initial_dim, dim)
        splits = schedule.splits_from(start, dim, settings.new_bins)
    else:
        start, splits = schedule.initial_dimension(dim, settings.new_bins)
    embedding = Embedding.random(dim, start, rng)
    fresh = _fresh_run(settings, embedding, domain, budget, rng, sweeping)
    return {"initial_dim": start, "splits": splits, "embedding": embedding, **fresh}


def restarted(settings: BoidsSettings, state: BoidsState, domain: Domain, rng: np.random.Generator) -> BoidsState:
    """Begin again in the input space, without the outcomes of the run that ends; the history stays."""
    embedding, remaining = Embedding.identity(state.input_dim), state.budget - state.asked
    fresh = _fresh_run(settings, embedding, domain, remaining, rng, state.sweep is not None, again=True)
    epoch = state.epoch + 1
    return replace(state, epoch=epoch, kept_from=epoch, embedding=embedding, probe=None, **fresh)


def in_subspaces(settings: BoidsSettings, state: BoidsState, history: History, rng: np.random.Generator) -> BoidsState:
    """Give up the sweep that was begun; what it has found takes part when the subspace has grown to hold it."""
    first = first_run(settings, history.domain, state.budget - state.asked, rng, sweeping=False)
    epoch, guests = state.epoch + bool(state.asked), np.union1d(state.guests, state.rows)
    return boids_guests.invited(replace(state, epoch=epoch, guests=guests, probe=None, **first), history)


def without_sweeps(
    settings: BoidsSettings, state: BoidsState, history: History, rng: np.random.Generator
) -> BoidsState:
    """Leave all to the lines: in noise that was told, which nobody knew of, a single coordinate's step is lost.

    A sweep that was only a probe, or has not begun, makes room for subspaces; else the lines go on where it has led.
    """
    if state.probe is not None or not state.asked:
        return in_subspaces(settings, state, history, rng)
    return replace(state, sweep=None, turns=Turns())


def renews(settings: BoidsSettings, state: BoidsState, history: History) -> bool:
    """Whether a run in the whole space that comes to a standstill will begin anew, and so is never restarted.

    Not in noise, told or not, in which a gain is hard to see, nor with sweeps, which go on in a way of their own, nor
    where everything has failed, so that there is no point to begin from.
    """
    per_parameter = settings.renew_from
    if per_parameter is None or state.budget < per_parameter * state.input_dim or state.input_dim < LEAST_DIM:
        return False
    if history.domain.noisy or history.noise is not None:
        return False
    if state.sweep is not None or state.initial_dim >= state.input_dim or state.embedding.splittable:
        return False
    return not np.isnan(history.values[state.rows]).all()


def stands_still(settings: BoidsSettings, state: BoidsState, history: History) -> bool:
    """Whether a run in the whole space has gained nothing for long, and there is time for another in subspaces."""
    patience = settings.renew_after
    if not state.standstill.is_over(patience) or state.budget - state.asked < patience:
        return False
    return renews(settings, state, history)


def renewed(settings: BoidsSettings, state: BoidsState, history: History, rng: np.random.Generator) -> BoidsState:
    """Begin anew in small subspaces, laid through the best point; all else takes part when they have grown."""
    best = int(state.rows[np.nanargmin(state.data(history).ranked())])
    first = first_run(settings, history.domain, state.budget - state.asked, rng, sweeping=False)
    centre, count = np.array(history.units[best]), first["design_size"]
    embedding, queue = laid_through(settings, first["embedding"], centre, history.domain, count, rng)
    first |= {"embedding": embedding, "queue": queue, "standstill": state.standstill.renewed()}
    guests = np.union1d(state.guests, state.rows)
    return boids_guests.invited(replace(state, epoch=state.epoch + 1, guests=guests, **first), history)


def around_guests(settings: BoidsSettings, state: BoidsState, history: History, rng: np.random.Generator) -> BoidsState:
    """Begin at a point that the user knows: no probe, but sweeps with plenty of evaluations, else subspaces."""
    if state.probe is None:
        return state
    return replace(state, probe=None) if state.probe.plenty else in_subspaces(settings, state, history, rng)


def _fresh_run(
    settings: BoidsSettings,
    embedding: Embedding,
    domain: Domain,
    remaining: int,
    rng: np.random.Generator,
    sweeping: bool,
    again: bool = False,
) -> dict[str, Any]:
    """Return the fields of a state whose run has only an initial design to begin with."""
    count = min(boids_sweeps.DESIGN_POINTS if sweeping else settings.n_init, max(remaining, 0))
    near_middle = boids_sweeps.DESIGN_EXTENTS[:count, None] if sweeping and not again else 1.0
    return {
        "design_size": count,
        "queue": initial_design(settings, embedding, domain, count, rng, near_middle),
        "rows": np.empty(0, dtype=np.int64),
        "owners": np.empty(0, dtype=np.int64),
        "homes": np.empty(0, dtype=np.int64),
        "swarm": None,
        "moves": np.empty(0, dtype=np.int64),
        "patience": Patience.fresh(patience_rules(settings)),
        "standstill": Standstill(),
        "fits": Fits(),
        "to_beat": np.inf,
        "sweep": Sweep.first(embedding.dim, rng) if sweeping else None,
        "turns": Turns(),
    }
