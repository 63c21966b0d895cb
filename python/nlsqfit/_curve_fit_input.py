"""Checks the arguments of `curve_fit`, in SciPy's words, and converts them before the fit."""

from __future__ import annotations

import inspect
import types
import warnings
from functools import lru_cache

import numpy as np

from ._agreement import all_finite
from ._callback import WrongSize
from ._handles import Options, same_numbers
from ._merged_numbers import warn_of_merged
from ._scipy_words import LOSSES, METHODS, SCHEMES, TR_SOLVERS, OptimizeWarning, check_scale

# SciPy's options that only choose between ways to the same minimum.
_IGNORED = ("epsfcn", "factor", "diag", "diff_step", "tr_options", "jac_sparsity")


def start(f, p0):
    """Return the start as a vector, or None if none was given, and the number of parameters."""
    if p0 is not None:
        if type(p0) is list and all(type(p) is float or type(p) is int for p in p0):
            numbers = np.array(p0, dtype=float)  # the lines below give the same, but take three times as long
            if numbers.size and all_finite(numbers):
                return numbers, numbers.size
        p0 = np.atleast_1d(p0)
        if np.iscomplexobj(p0):
            raise ValueError("`p0` must be real.")
        p0 = p0.astype(float).ravel()
        if p0.size == 0:
            raise ValueError("`p0` is empty; there must be at least one parameter.")
        if not np.isfinite(p0).all():
            raise ValueError(f"`p0` must be finite, not {p0}.")
        return p0, p0.size
    if not callable(f):
        raise TypeError(f"{f!r} is not a callable object")
    code = getattr(f, "__code__", None) if type(f) is types.FunctionType else None
    if code is not None and not hasattr(f, "__wrapped__") and not hasattr(f, "__signature__"):
        n = code.co_argcount - 1
        if n < 1:
            raise ValueError("Unable to determine number of fit parameters.")
        return None, n
    try:
        arguments = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        raise ValueError("Unable to determine number of fit parameters.") from None
    plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    n = sum(a.kind in plain for a in arguments) - 1
    if n < 1:
        raise ValueError("Unable to determine number of fit parameters.")
    return None, n


def check_method(method, jac, bounded):
    if method not in METHODS:
        raise ValueError("`method` must be 'trf', 'dogbox' or 'lm'.")
    if method == "lm" and bounded:
        raise ValueError(
            "Method 'lm' only works for unconstrained problems. Use 'trf' or 'dogbox' instead."
        )
    if jac is not None and not callable(jac) and jac not in SCHEMES:
        raise ValueError("`jac` must be '2-point', '3-point', 'cs' or callable.")


def derivatives(jac, x, rows, n, by_rows):
    """Return the user's derivatives as a function of all parameters, rows x n, or None if there are none.

    `by_rows` is true if `jac` gives n x rows, as MINPACK's ``col_deriv`` demands.
    """
    if not callable(jac):
        return None

    def jacobian(p):
        made = np.asarray(jac(x, *p))
        shape = made.shape
        if by_rows and made.ndim == 2:
            made = made.T
        if n == 1 and shape == (rows,):
            made = made[:, None]
        if made.shape != (rows, n):
            wanted = (n, rows) if by_rows else (rows, n)
            raise ValueError(
                f"The return value of `jac` has wrong shape: expected {wanted}, actual {shape}."
            )
        return made

    return jacobian


def data(xdata, ydata, sigma, check_finite, nan_policy):
    """Return x, y and sigma as arrays, and a function that checks that they are finite.

    The caller calls it before it answers. The check of many rows takes as long as a pass over them, so the
    fit begins before it. ``check(but)`` leaves out the arrays in `but`, which the library checks itself.
    """
    if nan_policy not in (None, "raise", "omit"):
        if nan_policy == "propagate":
            raise ValueError("`nan_policy='propagate'` is not supported by this function.")
        raise ValueError("nan_policy must be one of {None, 'raise', 'omit'}")
    if check_finite is None:
        check_finite = nan_policy is None
    if any(map(np.ma.is_masked, (xdata, ydata, sigma))):
        text = "what a masked array hides takes part, as in SciPy; leave it out: x[~mask], y[~mask]"
        warnings.warn(text, OptimizeWarning, stacklevel=3)
    warn_of_merged(ydata, "ydata")
    y = np.asarray(ydata, float).reshape(-1)
    checked = [y]
    x = xdata
    if isinstance(xdata, (list, tuple, np.ndarray)):
        warn_of_merged(xdata, "xdata")
        x = np.asarray(xdata, float)
        checked.append(x)
    if y.size == 0:
        raise ValueError("`ydata` must not be empty!")
    if sigma is not None:
        sigma = np.asarray(sigma, dtype=float)
        if sigma.size == 1:
            sigma = sigma.reshape(())  # one error for all rows, as in SciPy
        if sigma.shape not in ((), (y.size,), (y.size, y.size)):
            raise ValueError("`sigma` has incorrect shape.")
    if not check_finite and nan_policy is not None:
        x, y, sigma = _without_nan(x, y, sigma, nan_policy)

    def check(but=()):
        for values in checked if check_finite else ():
            if not any(values is other or same_numbers(values, other) for other in but):
                _check_finite(values)

    return x, y, sigma, check


def _check_finite(values):
    if not all_finite(values):
        raise ValueError("array must not contain infs or NaNs")


def _without_nan(x, y, sigma, nan_policy):
    bad = np.isnan(y)
    vector = hasattr(x, "__array__") and np.shape(x) == y.shape  # also of pandas
    if isinstance(x, np.ndarray) or vector:
        bad = bad | np.isnan(np.asarray(x, dtype=float)).reshape(-1, y.size).any(axis=0)
    if bad.any():
        if nan_policy == "raise":
            raise ValueError("The input contains nan values")
        keep = ~bad
        y = y[keep]
        x = x[..., keep] if isinstance(x, np.ndarray) else x[keep] if vector else x
        if sigma is not None and sigma.ndim:
            sigma = sigma[keep] if sigma.ndim == 1 else sigma[np.ix_(keep, keep)]
    return x, y, sigma


def without_weight_0(f, jac, y, sigma):
    """Leaves out the rows whose sigma is infinite.

    Return `f`, `jac`, y and sigma of the rows that are kept, and which these are: None if it is all. The functions
    still get all of x, because their values in a row may depend on others.
    """
    if sigma is None or sigma.ndim != 1 or y.size == 1 or not np.isinf(sigma).any():
        return f, jac, y, sigma, None
    kept = ~np.isposinf(sigma)
    if not kept.any():
        raise ValueError("`sigma` is infinite in every row, so no data are left.")

    def values(x, *p):
        made = f(x, *p)
        if np.size(made) == 1:  # one number for all rows
            return made
        if np.size(made) != kept.size:
            raise WrongSize(f"the model gives {np.size(made)} values for {kept.size} data values")
        return np.reshape(made, -1)[kept]

    def slopes(x, *p):
        made = np.asarray(jac(x, *p))
        along = [axis for axis, size in enumerate(made.shape) if size == kept.size]
        return np.compress(kept, made, axis=along[0]) if along else made

    return values, slopes if callable(jac) else jac, y[kept], sigma[kept], kept


@lru_cache(maxsize=1)
def plain_options():
    """Return the options of calls that set none. They are shared and must not change."""
    return Options(residuals=False)


@lru_cache(maxsize=1)
def called_options():
    """Return these for functions that are called, with SciPy's xtol, because each step costs many calls."""
    return Options(residuals=False, xtol=1e-8)


def options_of(method, kwargs, n, own):
    """Return the library's options for SciPy's keywords, which must fit `n` parameters.

    `own` is true if the caller sets more of them.
    """
    if not kwargs and method != "dogbox":
        return Options(residuals=False) if own else plain_options()
    kwargs = dict(kwargs)
    options = Options(residuals=False)
    limit = kwargs.pop("maxfev", None)
    limit = None if method == "lm" and limit == 0 else limit  # 0 means MINPACK's default
    limit = kwargs.pop("max_nfev", limit)
    if limit is not None and limit < 1:
        raise ValueError("`max_nfev` must be None or positive integer.")
    options.set("max_iterations", limit)
    tolerances = {name: kwargs.pop(name, 1e-8) for name in ("ftol", "xtol", "gtol") if name in kwargs}
    eps = np.finfo(float).eps
    if method != "lm" and len(tolerances) == 3 and all(t is None or t < eps for t in tolerances.values()):
        raise ValueError(f"At least one of the tolerances must be higher than machine epsilon ({eps:.2e}).")
    for name, value in tolerances.items():
        if value is not None and value > 0:
            options.set(name, min(float(value), 0.1))
    loss, f_scale = kwargs.pop("loss", "linear"), kwargs.pop("f_scale", 1.0)
    if loss not in LOSSES:
        raise ValueError(f"`loss` must be one of {LOSSES}; functions are not supported here, but by SciPy.")
    if method == "lm" and loss != "linear":
        raise ValueError("method='lm' supports only 'linear' loss function.")
    if loss != "linear":
        options.set("loss", loss)
        options.set("f_scale", f_scale)
    check_scale(kwargs.pop("x_scale", 1.0), n)
    if kwargs.pop("tr_solver", None) not in TR_SOLVERS:
        raise ValueError("`tr_solver` must be None, 'exact' or 'lsmr'.")
    if kwargs.pop("verbose", 0) not in (0, 1, 2):
        raise ValueError("`verbose` must be in [0, 1, 2].")
    if method == "lm":
        kwargs.pop("col_deriv", None)  # `derivatives` has used it
    if method == "dogbox":
        options.set("strategy", "dogleg")
    for name in _IGNORED:
        kwargs.pop(name, None)
    if kwargs:
        raise TypeError(f"curve_fit() got an unexpected keyword argument '{next(iter(kwargs))}'")
    return options
