"""The weighted Lasso, solved to rounding errors: scikit-learn finds the signs, a linear system the coefficients.

With penalties a, and n rows X, y to fit, the coefficients are

    w = argmin |y - X w|² / (2 n) + Σ_j a_j |w_j|.

Divided by their penalties, the columns have equal penalties: an ordinary Lasso, which scikit-learn solves by
coordinate descent on the Gram matrix (the data are then not looked at again). Coordinate descent has the signs s
right long before it has converged, and with these the minimiser solves, on its support S = {j : s_j ≠ 0},

    G_SS w_S = (Xᵀy)_S - n a_S s_S,        and it is the minimiser if and only if
    sign(w) = s    and    |Xᵀy - G w|_j <= n a_j    for all j.

So we descend to a coarse tolerance, solve and check; if the signs were not right yet, we descend further. This is
faster than to descend to the end, and w does not depend, but for rounding, on where the descent started.

======  =========================================================================
symbol  meaning, shape
======  =========================================================================
n, D    rows to fit, columns
G       the Gram matrix XᵀX, (D, D)
a       penalties, positive, (D,)
w, s    coefficients and their signs, (D,)
======  =========================================================================
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import final

import numpy as np
from threadpoolctl import ThreadpoolController

from boids.records import FloatArray

#: Duality gaps at which the signs are tried, relative to |y|² / n. The last one is the accuracy of w where rounding
#: hides what the signs are, as where a coefficient is just about to leave zero.
TOLERANCES = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10)

#: Sweeps to one tolerance. Thousands are needed at worst; if this many were not enough, scikit-learn warns.
MAXIMUM_SWEEPS = 1_000_000

#: By how much rounding may violate |Xᵀy - G w|_j <= n a_j, relatively.
SLACK = 1e-8


@final
@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """Rows to fit, and rows to judge the fit by.

    Attributes
    ----------
    x, y
        The n rows to fit, (n, D) in Fortran order, as scikit-learn wants it, and (n,).
    gram, moments
        XᵀX and Xᵀy, (D, D) in C order, and (D,).
    held_x, held_y
        The rows held out, (m, D) and (m,).
    start
        Coefficients for the descent to start from, (D,).
    """

    x: FloatArray
    y: FloatArray
    gram: FloatArray
    moments: FloatArray
    held_x: FloatArray
    held_y: FloatArray
    start: FloatArray

    def error(self, penalties: FloatArray) -> float:
        """Return the mean squared error, on the rows held out, of the fit with these penalties."""
        residuals = self.held_y - self.held_x @ weighted_lasso(self, penalties)
        return float(np.mean(residuals**2))


def make_fold(
    x: FloatArray, y: FloatArray, gram: FloatArray, moments: FloatArray, held_x: FloatArray, held_y: FloatArray
) -> Fold:
    """Arrange rows for `weighted_lasso`; the Gram matrix and Xᵀy are given because they often follow from others."""
    rows, columns = x.shape
    # Without penalties the coefficients solve G w = Xᵀy. The descent takes longest where penalties are small, and
    # that is where it is near these. With fewer rows than columns they are many, none of them near.
    start: FloatArray = np.zeros(columns)
    if rows >= columns:
        start[:] = np.linalg.solve(gram, moments)
    return Fold(np.asfortranarray(x), y, gram, moments, np.ascontiguousarray(held_x), held_y, start)


def weighted_lasso(fold: Fold, penalties: FloatArray) -> FloatArray:
    """Return the coefficients w (D,) that fit the rows of `fold` with these penalties (D,)."""
    from sklearn.linear_model import lasso_path

    inverse = 1.0 / penalties
    x, gram, moments = fold.x * inverse, fold.gram * np.multiply.outer(inverse, inverse), fold.moments * inverse
    scaled = fold.start * penalties
    for tolerance in TOLERANCES:
        # lasso_path, not Lasso: it takes Xᵀy as well, and does not compare the Gram matrix with the data each time.
        _, path, _ = lasso_path(
            x,
            fold.y,
            alphas=[1.0],
            precompute=gram,
            Xy=moments,
            coef_init=scaled,
            check_input=False,
            tol=tolerance,
            max_iter=MAXIMUM_SWEEPS,
        )
        scaled = path[:, 0]
        exact = coefficients_with_signs(fold, penalties, np.sign(scaled))
        if exact is not None:
            return exact
    coefficients: FloatArray = scaled * inverse
    return coefficients


def coefficients_with_signs(fold: Fold, penalties: FloatArray, signs: FloatArray) -> FloatArray | None:
    """Return the minimiser w (D,) if it has these signs (D,), else None."""
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    pull = len(fold.y) * penalties
    coefficients = np.zeros_like(penalties)
    support = np.flatnonzero(signs)
    if support.size:
        try:
            factor = cho_factor(fold.gram[np.ix_(support, support)], overwrite_a=True, check_finite=False)
        except LinAlgError:  # more columns than rows, say
            return None
        right = (fold.moments - pull * signs)[support]
        coefficients[support] = cho_solve(factor, right, overwrite_b=True, check_finite=False)
    slopes = np.abs(fold.moments - fold.gram @ coefficients)
    is_minimiser = np.array_equal(np.sign(coefficients), signs) and np.all(slopes <= (1 + SLACK) * pull)
    return coefficients if is_minimiser else None


@contextmanager
def one_thread() -> Iterator[None]:
    """Use one BLAS thread: at this size a second one brings nothing, and on a busy machine it costs dearly."""
    with _controller().limit(limits=1, user_api="blas"):
        yield


@cache
def _controller() -> ThreadpoolController:
    """Find the BLAS libraries once: the search takes milliseconds, setting a limit microseconds."""
    import scipy.linalg  # noqa: F401  (it brings a BLAS library of its own, which must be there to be found)

    return ThreadpoolController()
