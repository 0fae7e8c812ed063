"""`scipy_method`: boids as a method of `scipy.optimize.minimize`, in SciPy's protocol for methods of one's own."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from scipy.optimize import LinearConstraint, NonlinearConstraint, OptimizeResult

from boids.algorithms import Algorithm
from boids.drive import Lost
from boids.errors import SpaceError, did_you_mean, shown
from boids.optimizer import Optimizer
from boids.records import BoolArray, FloatArray, Trial
from boids.result import Result
from boids.scipy_style import minimize
from boids.stopping import Callback

# The number of evaluations if nobody says: some for every parameter, within limits.
_PER_PARAMETER, _FEWEST, _MOST = 10, 100, 1000
# What SciPy's own methods call the things that these options do.
_SYNONYMS = {
    "maxfev": "budget",
    "maxfun": "budget",
    "maxiter": "budget",
    "tol": "target, patience or timeout",
    "ftol": "target, patience or timeout",
    "xtol": "target, patience or timeout",
    "rng": "seed",
    "workers": "n_workers",
}


def scipy_method(
    fun: Callable[..., Any],
    x0: Any,
    args: tuple[Any, ...] = (),
    *,
    bounds: Any = None,
    constraints: Any = (),
    callback: Callable[..., Any] | None = None,
    jac: Any = None,
    hess: Any = None,
    hessp: Any = None,
    budget: int | None = None,
    method: str | Algorithm[Any] = "boids",
    seed: int | None = None,
    n_workers: int = 1,
    executor: Any = None,
    asynchronous: bool = False,
    noisy: bool = False,
    penalty: float | None = None,
    trials: Any = None,
    eval_timeout: float | None = None,
    lost: Lost = "retry",
    timeout: float | None = None,
    target: float | None = None,
    patience: int | None = None,
    store: Any = None,
    run_id: str | None = None,
    disp: bool = False,
    **unknown: Any,
) -> Result:
    """Pass this to `scipy.optimize.minimize` as ``method``, and what begins with ``budget`` here in its ``options``.

    Parameters
    ----------
    fun, args
        The function and further arguments of it.
    x0
        The point to evaluate first; must lie within the bounds.
    bounds
        A `scipy.optimize.Bounds` or (low, high) pairs, all of them finite.
    constraints
        `LinearConstraint`, which every evaluated point satisfies; `NonlinearConstraint` or a dict of the type "ineq",
        which are black-box constraints; or a list of these. Nonlinear equations are refused.
    callback
        Called after every evaluation with the best point so far: ``callback(xk)`` or
        ``callback(intermediate_result=...)``. Raising StopIteration ends the run.
    jac, hess, hessp
        Not used; a warning says so, as it does for SciPy's own methods.
    budget
        Number of evaluations; None means 10 for every parameter, but at least 100 and at most 1000.
    disp
        Whether to show a live line.
    method, seed, n_workers, noisy, store
        These and all further options are those of `boids.minimize`.

    Examples
    --------
    >>> import scipy.optimize
    >>> result = scipy.optimize.minimize(
    ...     scipy.optimize.rosen,
    ...     [0.0] * 20,
    ...     method=scipy_method,
    ...     bounds=[(-2, 2)] * 20,
    ...     options={"budget": 25, "seed": 0},
    ... )
    >>> result.nfev, bool(result.fun <= scipy.optimize.rosen([0.0] * 20))
    (25, True)
    """
    for name in unknown:
        hint = f"use {_SYNONYMS[name]}." if name in _SYNONYMS else did_you_mean(name, _OPTIONS, "see its docstring.")
        raise ValueError(f"boids.scipy_method has no option {name!r}; {hint}")
    for name, given in (("jac", jac), ("hess", hess), ("hessp", hessp)):
        if given is not None:
            warnings.warn(f"boids.scipy_method does not use derivatives ({name}).", RuntimeWarning, stacklevel=3)
    start = np.atleast_1d(np.asarray(x0))
    linear, limits = _sorted_out(constraints, start)
    return minimize(
        _Objective(fun, args if isinstance(args, tuple) else (args,), tuple(limits)),
        _pairs(bounds, start.size),
        min(max(_PER_PARAMETER * start.size, _FEWEST), _MOST) if budget is None else budget,
        method=method,
        seed=seed,
        n_workers=n_workers,
        executor=executor,
        asynchronous=asynchronous,
        noisy=noisy,
        n_constraints=sum(limit.count for limit in limits),
        linear_constraints=linear,
        penalty=penalty,
        x0=start,
        trials=trials,
        eval_timeout=eval_timeout,
        lost=lost,
        timeout=timeout,
        target=target,
        patience=patience,
        callback=None if callback is None else _as_scipy_calls(callback),
        store=store,
        run_id=run_id,
        progress=bool(disp),
    )


_PARAMETERS = list(inspect.signature(scipy_method).parameters)
_OPTIONS = _PARAMETERS[_PARAMETERS.index("budget") : -1]


@final
@dataclass(frozen=True, eq=False)
class _Limits:
    """A function of the point whose values (m,) have limits: low ≤ value ≤ high, where these are finite."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    low: FloatArray
    high: FloatArray

    @property
    def count(self) -> int:
        """How many numbers `violations` returns."""
        return int(np.isfinite(self.low).sum() + np.isfinite(self.high).sum())

    def violations(self, x: FloatArray) -> FloatArray:
        """Return numbers that are ≤ 0 where the limits are kept."""
        values = np.atleast_1d(np.asarray(self.function(x.copy(), *self.args), dtype=float))
        has_low: BoolArray = np.isfinite(self.low)
        has_high: BoolArray = np.isfinite(self.high)
        return np.concatenate([(self.low - values)[has_low], (values - self.high)[has_high]])


@final
@dataclass(frozen=True, eq=False)
class _Objective:
    """What `boids.minimize` evaluates: SciPy's function with its arguments and the black-box constraints."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    limits: tuple[_Limits, ...]

    def __call__(self, x: FloatArray) -> Any:
        value = self.function(x.copy(), *self.args)
        if not any(each.count for each in self.limits):
            return value
        return value, np.concatenate([each.violations(x) for each in self.limits])


def _pairs(bounds: Any, size: int) -> FloatArray:
    """Return finite bounds (D, 2)."""
    if bounds is None:
        raise SpaceError("boids.scipy_method searches a box; give bounds=[(low, high), …] for all parameters.")
    if hasattr(bounds, "lb") and hasattr(bounds, "ub"):
        pairs = np.array([np.broadcast_to(each, size) for each in (bounds.lb, bounds.ub)], dtype=float).T
    else:
        try:
            pairs = np.array(list(bounds), dtype=float)  # None becomes nan
        except (TypeError, ValueError):
            raise SpaceError(f"bounds must be a list of (low, high) pairs, got {shown(bounds)}.") from None
    if pairs.shape != (size, 2):
        raise SpaceError(f"bounds must be one (low, high) pair for each of {size} parameters, got {shown(bounds)}.")
    endless = np.flatnonzero(~np.isfinite(pairs).all(axis=1))
    if endless.size:
        raise SpaceError(
            f"bounds[{endless[0]}] must be two finite numbers, got {shown(pairs[endless[0]].tolist())}; "
            "boids.scipy_method searches a box."
        )
    return pairs


def _sorted_out(constraints: Any, x0: FloatArray) -> tuple[list[LinearConstraint], list[_Limits]]:
    """Return the linear and the other constraints; functions of unknown length are called once, at x0."""
    is_one = isinstance(constraints, Mapping) or not isinstance(constraints, Iterable)
    linear, limits = list[LinearConstraint](), list[_Limits]()
    for place, each in enumerate([constraints] if is_one else constraints):
        label = "constraints" if is_one else f"constraints[{place}]"
        if isinstance(each, LinearConstraint):
            linear.append(each)
        elif isinstance(each, NonlinearConstraint):
            limits.append(_limits(each.fun, (), each.lb, each.ub, x0, label))
        elif isinstance(each, Mapping) and "fun" in each and str(each.get("type")).lower() in ("ineq", "eq"):
            high = np.inf if str(each["type"]).lower() == "ineq" else 0.0
            limits.append(_limits(each["fun"], tuple(each.get("args", ())), 0.0, high, x0, label))
        else:
            raise ValueError(
                f"{label} must be a LinearConstraint, a NonlinearConstraint or a dict with type and fun, "
                f"got {shown(each)}."
            )
    return linear, limits


def _limits(function: Any, args: tuple[Any, ...], low: Any, high: Any, x0: FloatArray, label: str) -> _Limits:
    lows, highs = np.atleast_1d(np.asarray(low, dtype=float)), np.atleast_1d(np.asarray(high, dtype=float))
    size = max(lows.size, highs.size)
    if size == 1:
        size = np.size(function(x0.astype(float), *args))
    try:
        lows, highs = np.broadcast_to(lows, size).copy(), np.broadcast_to(highs, size).copy()
    except ValueError:
        raise ValueError(
            f"{label} has {lows.size} lower and {highs.size} upper limits; give as many of both."
        ) from None
    if (lows == highs).any():
        raise ValueError(
            f"{label} is a nonlinear equation, which no evaluated point would satisfy; give it some room, such as "
            "NonlinearConstraint(fun, -0.01, 0.01)."
        )
    return _Limits(function, args, lows, highs)


def _as_scipy_calls(callback: Callable[..., Any]) -> Callback:
    """Return a callback of boids that calls one of SciPy's with the best point so far."""
    try:
        names: Sequence[str] = list(inspect.signature(callback).parameters)
    except (TypeError, ValueError):  # some functions written in C
        names = ()

    def called(optimizer: Optimizer, trial: Trial) -> Any:
        best = optimizer.best
        if best is None:
            return None
        if names == ["intermediate_result"]:
            make: Any = OptimizeResult  # a dict, which SciPy's type stubs do not show
            return callback(intermediate_result=make(x=best.x.copy(), fun=optimizer.estimate, nfev=optimizer.n_told))
        return callback(best.x.copy())

    return called
