"""Provides fit, which fits a formula, a built-in model, a sum of models or a function."""

from __future__ import annotations

import re
import warnings

import numpy as np

from ._band import Noise
from ._fit_models import FunctionModel, TextModel
from ._fit_options import (
    completed, function_data, limits, make_options, named_parts, own_data, parameter_names, refuse_columns,
    refuse_masked, refuse_other_kinds, start_values, tied_names, used_columns, warn_of_unit_errors,
)  # fmt: skip
from ._fit_result import Fit
from ._merged_numbers import warn_of_merged
from ._scipy_words import OptimizeWarning


def fit(
    model,
    x,
    y,
    *,
    sigma=None,
    p0=None,
    bounds=None,
    fixed=None,
    ties=None,
    absolute_sigma=False,
    loss="linear",
    f_scale=1.0,
    sigma_x=None,
    jac=None,
    **solver,
):
    """Fit a model to data, and certify the answer.

    Parameters
    ----------
    model : str or callable
        A formula (``"a*exp(-b*x)+c"``), a built-in model (``"gaussian"``), a sum of them
        (``"gaussian + linear"``), or a function ``f(x, a, b, ...)``.
    x : array_like, shape (M,) or (k, M), or tuple or dict of arrays
        Predictors. A formula calls them x, or x1 ... xk; the keys of a dict are names. A function gets
        `x` as it is, with arrays of float64 for arrays and lists; in a tuple or dict, integers stay integers.
    y : array_like, shape (M,)
        The data.
    sigma : array_like, shape (M,) or (M, M), or float, optional
        Standard deviations of `y` in its units, or its covariance matrix.
    p0 : dict or array_like, optional
        Starting values in units of the parameters, by name or all in order. Built-in models and their
        sums guess what is missing; other parameters start at 1, or within bounds that leave out 1,
        and linear ones are solved for. If a formula, or a function that is recorded, then explains less
        than 95 % of `y`, starts are looked for in the ranges of the data.
    bounds : dict, 2-tuple or Bounds, optional
        ``{"a": (0, 10), "b": (None, 5)}``, or lower and upper bounds of all parameters.
    fixed : dict or list of str, optional
        Parameters that are not fitted: ``{"c": 0}``, or names.
    ties : list of str, optional
        Tied parameters: ``["d = 2*a"]``.
    absolute_sigma : bool
        Whether `sigma` has the units of `y`. If not, errors are scaled by the scatter of the fit.
    loss, f_scale : str, float
        'linear', 'soft_l1', 'huber', 'cauchy', 'arctan', 'tukey' or 'poisson', and its scale in
        units of the weighted residuals.
    sigma_x : array_like, list of array_like, or dict, optional
        Standard deviations of the predictors, in their units: of the first one, of several in their order (None
        for an exact one), or by the names that `x` has. Of a table, the predictors are the columns that a
        formula names. Not available for functions that are not recorded, nor for functions that combine
        numbers of x of several rows, as ``x - x.mean()`` does.
    jac : callable, optional
        ``jac(x, a, b, ...)`` gives derivatives, shape (M, n), of a function that is not recorded.
    **solver
        Options of the library by name, such as `precision`, `threads`, `starts`, `max_iterations`,
        `time_limit`, `confidence`: docs/command-line.md describes them.

    Returns
    -------
    Fit

    Examples
    --------
    >>> import numpy as np, nlsqfit as nf
    >>> x = np.linspace(0, 4, 50)
    >>> result = nf.fit("a*exp(-b*x)+c", x, 2.5 * np.exp(-1.3 * x) + 0.5)
    >>> print(round(result.params["b"].value, 6), result.success)
    1.3 True
    """
    y = _real_data(y)
    y = y.reshape(-1) if y.dtype.kind in "fiub" else np.asarray(y, dtype=float).reshape(-1)
    for values, what in ((x, "x"), (sigma, "sigma"), (sigma_x, "sigma_x")):
        refuse_masked(values, what, "leave out the rows that it hides")
    refuse_other_kinds(sigma, "sigma")
    refuse_masked(p0, "p0", "give NaN where a parameter has no start")
    x, y, sigma, sigma_x = map(own_data, (x, y, sigma, sigma_x))
    given = dict(
        absolute_sigma=absolute_sigma, loss=loss, f_scale=f_scale, bounds=bounds, fixed=fixed, ties=ties
    )
    warn_of_unit_errors(absolute_sigma, sigma, loss)
    if isinstance(model, str):
        if jac is not None:
            raise TypeError("jac is for functions; formulas are differentiated by the library")
        return _fit_text(model, used_columns(model, x), y, sigma, p0, sigma_x, solver, given)
    if not callable(model):
        raise TypeError(f"a model is a text or a function, not {type(model).__name__}")
    return _fit_function(model, x, y, sigma, p0, sigma_x, jac, solver, given)


def _real_data(y):
    """Return the data as an array. Raises TypeError for data that would lose something silently."""
    refuse_other_kinds(y, "y")
    warn_of_merged(y, "y", stacklevel=5)
    if np.ma.is_masked(y):
        raise TypeError("y is a masked array; leave out what it hides: x[~y.mask], y.compressed()")
    return np.asarray(y)


def _listed(sigma_x, x, rows):
    """Return a list with an error, an array of errors, or None, for each of the first predictors."""
    if sigma_x is None:
        return []
    of_names = named_parts(sigma_x)
    if of_names is not None:
        parts = named_parts(x)
        if parts is None:
            raise ValueError("sigma_x has names, and x has none: give the errors in the order of x")
        for name in of_names:
            if name not in parts:
                raise ValueError(f"sigma_x has {name!r}; the predictors are {', '.join(map(str, parts))}")
        several = [of_names.get(name) for name in parts]
        while several and several[-1] is None:
            several.pop()
        return several
    if isinstance(sigma_x, (list, tuple)):
        numbers = all(v is not None and np.ndim(v) == 0 for v in sigma_x)
        return [sigma_x] if numbers and len(sigma_x) in (1, rows) else list(sigma_x)
    return list(sigma_x) if np.ndim(sigma_x) == 2 else [sigma_x]


def _errors(options, sigma, sigma_x, rows, loss):
    """Sets the errors of y, and those of predictors as `_listed` gives them. Returns sigma as an array."""
    if sigma is not None:
        sigma = np.asarray(sigma, dtype=float)
        if sigma.shape not in ((), (1,), (rows,), (rows, rows)):
            wanted = f"a number, ({rows},) or {(rows, rows)} is wanted"
            raise ValueError(f"sigma has shape {sigma.shape}; {wanted}")
        if sigma.ndim == 2:
            if sigma_x:
                raise ValueError("sigma is a matrix, which is all that is known of the errors: leave sigma_x out")
            if loss != "linear":
                raise ValueError(f"sigma is a matrix, and loss {loss!r} is of rows that are independent: leave one of them out")
            options.set_matrix("sigma_matrix", sigma)
        else:
            options.set_column("sigma", np.broadcast_to(sigma, (rows,)))
    for number, values in enumerate(sigma_x):
        if values is None:
            continue
        values = np.asarray(values, dtype=float)
        if values.shape not in ((), (1,), (rows,)):
            wanted = f"a number or ({rows},) is wanted"
            raise ValueError(f"sigma_x of predictor {number + 1} has shape {values.shape}; {wanted}")
        options.set_column(f"sigma_x{number}", np.broadcast_to(values, (rows,)))
    return sigma


def _warn_of_unused(text, formula, predictors, parameters):
    """Warns of a formula that uses no predictor, perhaps because it names x by another name.

    The name of a built-in model is not a formula.
    """
    used = any(re.search(rf"\b{name}\b", formula) for name in predictors)
    if parameters and not used and not text.strip().isidentifier():
        unused, names = ", ".join(predictors), ", ".join(parameters)
        name_it = f"x={{{parameters[-1]!r}: ...}}"
        text = f"{formula!r} does not use {unused}; its parameters are {names}. If one of them is your predictor,"
        warnings.warn(f"{text} name it: {name_it}", OptimizeWarning, stacklevel=4)


def _fit_text(text, x, y, sigma, p0, sigma_x, solver, given):
    sigma_x = _listed(sigma_x, x, y.size)
    refuse_columns(x, y.size)
    made = TextModel(text, x, y)
    model = made.model
    parameters = model.names
    _warn_of_unused(text, model.formula, made.names, parameters)
    options = make_options(parameters, solver, **given)
    sigma = _errors(options, sigma, sigma_x, y.size, given["loss"])
    start = start_values(p0, parameters, given["fixed"])
    result = made.fit(options, start)
    noise = Noise(sigma, given["absolute_sigma"], given["loss"], bool(sigma_x))
    return Fit(result, parameters, model.formula, "formula", made, options, (start,), x, y, noise)


def _fit_function(function, x, y, sigma, p0, sigma_x, jac, solver, given):
    sigma_x = _listed(sigma_x, x, y.size)
    parameters = parameter_names(function, p0)
    options = make_options(parameters, solver, **given)
    start = start_values(p0, parameters, given["fixed"])
    unstarted = np.isnan(start)
    if given["ties"] and p0 is not None and not isinstance(p0, dict):
        raise ValueError("with ties, give the starting values by name: p0={'a': 1}")
    x = function_data(x)
    lower, upper = limits(given["bounds"], parameters)
    start = completed(start, lower, upper)
    options.set("residuals", False)  # the function itself computes them
    made = FunctionModel(function, x, np.asarray(y, dtype=float), parameters, jac, lower, upper)
    begin = start.copy()
    for name in tied_names(given["ties"]):  # a tied parameter follows from others and has no start of its own
        if name in parameters and (p0 is None or name not in p0):
            start[parameters.index(name)] = np.nan
    sigma = _errors(options, sigma, sigma_x, y.size, given["loss"])
    begun = (start, begin, unstarted, len(sigma_x))
    result = made.fit(options, *begun)
    curve = made.curve
    formula = "" if curve.reason else curve.model.formula
    noise = Noise(sigma, given["absolute_sigma"], given["loss"], bool(sigma_x))
    return Fit(result, parameters, formula, curve.evaluator, made, options, begun, x, y, noise, curve.fitted)
