"""Runs in a file that survives crashes: SQLite, a row for each trial, checked whenever it is read; no pickle."""

from boids.store.following import RunNews
from boids.store.runs import RUNNING, RunHead, RunSummary, StoredRun
from boids.store.store import Store
from boids.store.writing import RunWriter

__all__ = ["RUNNING", "RunHead", "RunNews", "RunSummary", "RunWriter", "Store", "StoredRun"]
