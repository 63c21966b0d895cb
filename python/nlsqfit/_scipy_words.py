"""Provides what SciPy's users expect of arguments, warnings and results, with NumPy alone."""

from __future__ import annotations

import warnings

import numpy as np

try:
    from scipy.optimize import OptimizeWarning
except ImportError:  # the package works without SciPy

    class OptimizeWarning(UserWarning):  # type: ignore[no-redef]
        """Warns that a result is of limited use."""


METHODS = ("lm", "trf", "dogbox")
SCHEMES = ("2-point", "3-point", "cs")
TR_SOLVERS = (None, "exact", "lsmr")
LOSSES = ("linear", "soft_l1", "huber", "cauchy", "arctan")

MESSAGES = {
    0: "The maximum number of function evaluations is exceeded.",
    1: "`gtol` termination condition is satisfied.",
    2: "`ftol` termination condition is satisfied.",
    3: "`xtol` termination condition is satisfied.",
    4: "Both `ftol` and `xtol` termination conditions are satisfied.",
}


_NEAR = 0.1  # an end by the caller's tolerance within so many standard errors of the optimum needs no warning


def warn_if_doubtful(result, certified, stacklevel):
    """Warns of an answer that is not certified, unless it met a tolerance and is near the optimum."""
    near = result.text("status") == "tolerance" and result.number("decrement_sigma") <= _NEAR
    if not certified and not near:
        words = "The answer is not certified as a minimum: " + result.text("message")
        warnings.warn(words, OptimizeWarning, stacklevel=stacklevel + 1)


def ended_by_rounding(result):
    """Return True if the gradient at the answer is a rounding error; float64 allows no better answer."""
    return result.text("message").startswith("as far as float64 can see")


def status_of(result, certified):
    """Return SciPy's status: 0 without a certificate, a tolerance met, or an end by rounding."""
    return 1 if certified else 2 if result.text("status") == "tolerance" else 3 if ended_by_rounding(result) else 0


def bounds_pair(bounds, n):
    """Return lower and upper bounds as two vectors, from a pair or from an object with lb and ub."""
    if hasattr(bounds, "lb") and hasattr(bounds, "ub"):
        lower, upper = bounds.lb, bounds.ub
    else:
        try:
            lower, upper = bounds
        except (TypeError, ValueError):
            raise ValueError(
                "`bounds` must contain 2 elements: all lower bounds, then all upper ones."
            ) from None
    lower, upper = np.asarray(lower, dtype=float), np.asarray(upper, dtype=float)
    return (
        np.full(n, lower[()]) if lower.ndim == 0 else lower,
        np.full(n, upper[()]) if upper.ndim == 0 else upper,
    )


def check_bounds(lower, upper, x0):
    """Raises ValueError, in SciPy's words, for bounds that are wrong or exclude the start."""
    if lower.shape != x0.shape or upper.shape != x0.shape:
        raise ValueError("Inconsistent shapes between bounds and `x0`.")
    if np.any(lower >= upper):
        first = int(np.argmax(lower >= upper))
        which = f"Those of parameter {first} are {lower[first]:g} and {upper[first]:g}."
        raise ValueError("Each lower bound must be strictly less than each upper bound. " + which)
    if not np.all((x0 >= lower) & (x0 <= upper)):  # this is false for NaN, so NaN is refused
        raise ValueError("Initial guess is outside of provided bounds: `x0` is infeasible.")


def check_scale(x_scale, n):
    """Raises ValueError, in SciPy's words, for an `x_scale` that is not a valid scale of n parameters."""
    if isinstance(x_scale, str) and x_scale == "jac":
        return
    try:
        scale = np.asarray(x_scale, dtype=float)
        good = np.all(np.isfinite(scale)) and np.all(scale > 0)
    except (TypeError, ValueError):
        good = False
    if not good:
        raise ValueError("`x_scale` must be 'jac' or array_like with positive numbers.")
    if scale.ndim and scale.shape != (n,):
        raise ValueError("Inconsistent shapes between `x_scale` and `x0`.")


def feasible_start(lower, upper):
    """Return a start of ones, or one within the bounds, as SciPy chooses it."""
    start = np.ones_like(lower)
    below, above = np.isfinite(lower), np.isfinite(upper)
    both = below & above
    start[both] = 0.5 * (lower[both] + upper[both])
    only = below & ~above
    start[only] = lower[only] + 1
    only = ~below & above
    start[only] = upper[only] - 1
    return start


def pivoted_qr(J):
    """Return (R, pivots, Q) with J[:, pivots] = Q R, by Householder QR with column pivoting as in MINPACK."""
    R = np.array(J, dtype=float)
    m, n = R.shape
    pivots = np.arange(n)
    Q = np.eye(m, min(m, n))
    vectors = []
    for k in range(min(m, n)):
        best = k + int(np.argmax((R[k:, k:] ** 2).sum(axis=0)))
        if best != k:
            R[:, [k, best]] = R[:, [best, k]]
            pivots[[k, best]] = pivots[[best, k]]
        v = R[k:, k].copy()
        size = np.linalg.norm(v)
        v[0] += np.copysign(size, v[0])
        length = np.linalg.norm(v)
        if length > 0:
            v /= length
            R[k:, k:] -= 2.0 * np.outer(v, v @ R[k:, k:])
        vectors.append(v)
    for k in reversed(range(len(vectors))):
        v = vectors[k]
        Q[k:, :] -= 2.0 * np.outer(v, v @ Q[k:, :])
    return np.triu(R[: min(m, n)]), pivots, Q


def pseudo_inverse_covariance(J):
    """Return (JᵀJ)⁺ by singular values, without those that are zero except for rounding.

    Columns have the units of their parameters, so J is scaled first. If it does not have full rank then, the
    smallest singular values of J without scales are left out, as SciPy does.
    """
    size = np.linalg.norm(J, axis=0)
    if np.all(np.isfinite(size) & (size > 0)):
        inverse, rank = _normal_inverse(J / size)
        if rank == size.size:
            return inverse / size / size[:, None]
    return _normal_inverse(J)[0]


def _normal_inverse(J):
    """Return the pseudo-inverse of JᵀJ, and the rank of J."""
    _, s, vt = np.linalg.svd(J, full_matrices=False)
    kept = s > np.finfo(float).eps * max(J.shape) * s[0]
    vt, s = vt[kept], s[kept]
    return (vt.T / s**2) @ vt, s.size
