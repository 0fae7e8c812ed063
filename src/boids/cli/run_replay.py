"""`boids replay`: make a run's proposals again, and say whether they are the same."""

from __future__ import annotations

from boids.cli import shelf
from boids.cli.output import emit, emit_json
from boids.replay import replay


def make_again(store: str, given: str | None, *, as_json: bool) -> int:
    """Write what came of it, and return the exit code: 1 if a proposal differs."""
    run_id = shelf.found_or_latest(store, given)
    stored = shelf.read(store, run_id)
    found = replay(shelf.restored(store, stored).setup, stored.rows)
    if as_json:
        emit_json(
            {
                "id": run_id,
                "proposals": found.proposals,
                "same": found.differs is None,
                "differs": found.differs,
                "distance": None if found.differs is None or found.distance == float("inf") else found.distance,
            }
        )
    elif found.differs is None:
        count = found.proposals
        emit(f"{'The one proposal was' if count == 1 else f'All {count} proposals were'} made again exactly.")
    else:
        how = "could not be made again" if found.distance == float("inf") else f"differs by {found.distance:.3g}"
        emit(
            f"The proposal of trial {found.differs} {how} (on a scale where every parameter goes from -1 to 1), after "
            f"{found.proposals} that were made again exactly; were the versions of boids, NumPy and SciPy the same?"
        )
    return 0 if found.differs is None else 1
