"""Libraries of others: whether they are here, how to get them, and how to keep them quiet."""

from __future__ import annotations

import logging
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module, metadata
from importlib.util import find_spec
from typing import Any, TypeVar

import numpy as np

from boids.errors import MissingExtra

T = TypeVar("T")

#: The extra that brings all of them.
EXTRA = "bench"


def installed(modules: tuple[str, ...]) -> bool:
    """Return whether all modules can be found, without the seconds that importing some of them takes."""
    return all(find_spec(module) is not None for module in modules)


def require(method: str, modules: tuple[str, ...]) -> None:
    """Raise a `MissingExtra` that says how to get what is missing of the modules."""
    if missing := [module for module in modules if find_spec(module) is None]:
        raise MissingExtra(
            f"The method {method!r} needs the package{'s' * (len(missing) > 1)} {', '.join(missing)}, which "
            f"{'are' if len(missing) > 1 else 'is'} not installed; run `{how_to_get()}`."
        )


def loaded(module: str) -> Any:
    """Return a module of a library, imported only now."""
    try:
        with quiet():
            return import_module(module)
    except ImportError as error:
        raise MissingExtra(f"Importing {module} failed ({error}); run `{how_to_get()}`.") from error


def how_to_get() -> str:
    """Return the command that installs all of them."""
    return f'pip install "boids-opt[{EXTRA}]"'


def version(package: str) -> str:
    """Return the installed version of a package, empty if it is not known."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


@contextmanager
def quiet(*loggers: str) -> Iterator[None]:
    """Keep warnings, the remarks of some loggers and those of NumPy about huge values away from the user."""
    names = [logging.getLogger(name) for name in loggers]
    before = [logger.level for logger in names]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for logger in names:
            logger.setLevel(logging.CRITICAL + 1)
        try:
            yield
        finally:
            for logger, level in zip(names, before, strict=True):
                logger.setLevel(level)


def in_daemon_thread(work: Callable[[], T]) -> T:
    """Return what a function returns; threads that it starts and leaves behind do not keep the program from ending.

    A thread is a daemon if the one that starts it is, and Nevergrad's, which wait for values, are not otherwise.
    """
    done: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            done.append(work())
        except BaseException as error:  # raised below, where somebody waits for it
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return done[0]


@contextmanager
def own_random_numbers(state: np.random.RandomState) -> Iterator[None]:
    """Let a library that draws from NumPy's global stream draw from this one, and the caller's stream be."""
    before = np.random.get_state()  # noqa: NPY002 - the global stream is what must be kept
    np.random.set_state(state.get_state())  # noqa: NPY002
    try:
        yield
    finally:
        state.set_state(np.random.get_state())  # noqa: NPY002
        np.random.set_state(before)  # noqa: NPY002
