"""Where a run was made: versions, machine, threads, commit."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from boids import __version__

#: Whose versions may decide results, if they are installed.
PACKAGES = (
    "numpy", "scipy", "cma", "numpyro", "jax", "scikit-learn", "gymnasium", "mujoco", "coco-experiment",
    "optuna", "cmaes", "torch", "gpytorch", "botorch", "nevergrad", "smac", "ConfigSpace",
)  # fmt: skip
#: The variables that limit the threads of linear algebra libraries, and of joblib, which SMAC3 uses.
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "LOKY_MAX_CPU_COUNT",
)


def environment() -> dict[str, Any]:
    """Return what there is to know, JSON-able."""
    limits = {os.environ.get(name) for name in THREAD_VARIABLES} - {None}
    return {
        "at": now(),
        "versions": _versions(),
        "machine": {
            "system": f"{platform.system()} {platform.release()}",
            "processor": _processor(),
            "cores": os.cpu_count(),
            "memory": _memory(),
        },
        "threads": limits.pop() if len(limits) == 1 else None,
    }


def now() -> str:
    """Return the time in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def commit() -> str | None:
    """Return the commit that boids runs from, with "+changes" if there are any; None if it was installed."""
    git, folder = shutil.which("git"), Path(__file__).parents[1]
    if git is None or not (folder.parent.parent / ".git").exists():
        return None

    def ask(*words: str) -> str:
        done = subprocess.run([git, "-C", os.fspath(folder), *words], capture_output=True, text=True, timeout=10)  # noqa: S603 - our own words
        return done.stdout.strip() if done.returncode == 0 else ""

    try:
        found = ask("rev-parse", "HEAD")
        return found + "+changes" * bool(ask("status", "--porcelain", "--", ".")) if found else None
    except (OSError, subprocess.SubprocessError):
        return None


def _versions() -> dict[str, str]:
    found = {"boids": __version__, "python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _memory() -> int | None:
    """Return the bytes of memory, None where the system does not say."""
    if sys.platform == "win32" or "SC_PHYS_PAGES" not in os.sysconf_names:
        return None
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
