"""Converts options of `fit` and `fit_many` by names of parameters, and the forms of data and starts."""

from __future__ import annotations

import difflib
import inspect
import re
import warnings
from collections.abc import Mapping

import numpy as np

from ._handles import Options
from ._merged_numbers import warn_of_merged
from ._scipy_words import OptimizeWarning, bounds_pair

# `fit` passes these options on to the library under their own names (nlsq/c/options.h).
SOLVER = (
    "tau", "max_iterations", "time_limit", "strategy", "geodesic", "nonmonotonic", "initial_lambda",
    "precision",
    "rule", "strict", "sampling", "threads", "starts", "seed", "variable_projection", "solve_linear_start",
    "differences", "xtol", "gtol", "ftol", "confidence", "in_lanes",
)  # fmt: skip


# Says what `fit` has in place of arguments of `curve_fit`, lmfit and others.
_ELSEWHERE = {
    "weights": "Give sigma, the standard deviations of y: sigma=1/weights",
    "yerr": "Give sigma, the standard deviations of y",
    "xerr": "Give sigma_x, the standard deviations of x",
    "method": "The library chooses its steps; strategy='dogleg' is another kind",
    "maxfev": "max_iterations limits the steps",
    "max_nfev": "max_iterations limits the steps",
    "nan_policy": "Leave out the rows with NaN: ok = np.isfinite(y)",
    "full_output": "The result has everything: residuals, certificate, message ...",
}


def unknown_option(name, known, others=()):
    """Return the TypeError for an option that is not `known`. It suggests the nearest name."""
    near = difflib.get_close_matches(name, (*known, *others), n=1)
    question = f" Did you mean {near[0]!r}?" if near else ""
    if name in _ELSEWHERE and "sigma" in others:
        question = f" {_ELSEWHERE[name]}."
    return TypeError(f"there is no option {name!r}.{question} The library's options: {', '.join(known)}")


def make_options(names, solver, **given):
    """Return the library's options. `names` are the parameters; `solver` holds options of the list above."""
    options = Options()
    for name, value in solver.items():
        if name not in SOLVER:
            raise unknown_option(name, SOLVER, ("sigma", "p0", "bounds", "fixed", "ties", *given))
        options.set(name, value)
    options.set("absolute_sigma", bool(given.get("absolute_sigma", False)))
    loss, f_scale = given.get("loss", "linear"), given.get("f_scale", 1.0)
    refuse_lone_scale(loss, f_scale)
    if loss != "linear":
        options.set("loss", loss)
        if loss != "poisson" or f_scale != 1.0:  # counts have no scale, so only the default is accepted
            options.set("f_scale", f_scale)
    set_bounds(options, names, given.get("bounds"))
    check_fixed(given.get("fixed"), *limits(given.get("bounds"), names), names)
    for name, value in (_fixed(given.get("fixed"))).items():
        options.set("fix", name if value is None else f"{name}={float(value)!r}")
    for tie in _listed(given.get("ties")):
        options.set("tie", tie)
    return options


def refuse_lone_scale(loss, f_scale):
    """Raises ValueError for a scale without a robust loss, which would have no effect."""
    if loss == "linear" and f_scale != 1.0:
        raise ValueError(
            "f_scale is the scale of a robust loss: give loss='soft_l1', 'huber', 'cauchy', 'arctan' or 'tukey'"
        )


def set_bounds(options, names, bounds):
    """Sets bounds: a dict {name: (low, high)}, a pair of vectors or numbers, or an object with lb and ub."""
    if bounds is None:
        return
    lower, upper = limits(bounds, names)
    options.set_array("lower", lower)
    options.set_array("upper", upper)


def _fixed(fixed):
    if fixed is None:
        return {}
    if isinstance(fixed, str):
        return {fixed: None}
    return dict(fixed) if isinstance(fixed, Mapping) else dict.fromkeys(fixed)


def check_fixed(fixed, lower, upper, names):
    """Raises ValueError for a name that is unknown, or a value outside its bounds.

    The library would complain, too, but call the value a start.
    """
    for name, value in _fixed(fixed).items():
        at = known(name, names)
        if value is not None and not lower[at] <= value <= upper[at]:
            raise ValueError(f"fixed: {name} = {value:g} is outside its bounds, {lower[at]:g} to {upper[at]:g}")


def known(name, names):
    if name not in names:
        raise ValueError(f"the model has no parameter {name!r}; it has {', '.join(names)}")
    return names.index(name)


def start_values(p0, names, fixed=None):
    """Return one value for each parameter, with NaN where none is given."""
    start = np.full(len(names), np.nan)
    if isinstance(p0, Mapping):
        for name, value in p0.items():
            start[known(name, names)] = value
    elif p0 is not None:
        values = np.atleast_1d(np.asarray(p0, dtype=float))
        if values.shape != start.shape:
            raise ValueError(
                f"p0 has {values.size} value{'s' * (values.size != 1)} for {len(names)} parameter"
                f"{'s' * (len(names) != 1)} ({', '.join(names)})"
            )
        start[:] = values
    for name, value in _fixed(fixed).items():
        at = known(name, names)
        if value is not None:
            start[at] = value
    check_starts(start, names)
    return start


def check_starts(starts, names):
    """Raises ValueError for an infinite start of one fit or (rows) of each. NaN means that none is given."""
    infinite = np.argwhere(np.isinf(starts))
    if infinite.size:
        *fit, at = infinite[0]
        whose = f"p0 of fit {fit[0]}" if fit else "p0"
        raise ValueError(f"{whose}: {names[at]} = {starts[tuple(infinite[0])]} is not finite: "
                         "give a number to start from")  # fmt: skip


def check_within(starts, lower, upper, names):
    """Raises ValueError for a start outside the bounds, in one fit or (rows) in each."""
    outside = np.argwhere((starts < lower) | (starts > upper))
    if outside.size:
        *fit, at = outside[0]
        whose = f"p0 of fit {fit[0]}" if fit else "p0"
        value, low = starts[tuple(outside[0])], starts[tuple(outside[0])] < lower[at]
        side = f"below its lower bound {lower[at]:g}" if low else f"above its upper bound {upper[at]:g}"
        raise ValueError(f"{whose}: {names[at]} = {value:g} is {side}: start within the bounds")


def tied_names(ties):
    """Return the parameters that follow from others, such as "d" in the tie "d = 2*a"."""
    return [tie.partition("=")[0].strip() for tie in _listed(ties)]


def _listed(ties):
    return [ties] if isinstance(ties, str) else list(ties or ())


def completed(start, lower, upper):
    """Return the start with NaN replaced by the library's default: 1, or a number that the bounds allow."""
    with np.errstate(invalid="ignore"):
        within = np.where(np.isinf(upper), lower + 1, 0.5 * lower + 0.5 * upper)
    within = np.where(np.isinf(lower), upper - 1, within)
    within = np.where((lower < 1) & (upper > 1), 1.0, np.clip(within, lower, upper))
    return np.where(np.isnan(start), within, start)


def parameter_names(function, p0):
    """Return the names of a function's parameters, without the first, which is x."""
    try:
        arguments = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        arguments = []
    positional = [a for a in arguments if a.kind in (a.POSITIONAL_ONLY, a.POSITIONAL_OR_KEYWORD)]
    names = [a.name for a in positional[1:]]
    if any(a.kind == a.VAR_POSITIONAL for a in arguments):
        count = 0 if p0 is None else len(p0)
        if isinstance(p0, Mapping):
            names += [name for name in p0 if name not in names]
        else:
            names += [f"p{i}" for i in range(len(names), count)]
    if not names and p0 is None and any(a.kind == a.VAR_POSITIONAL for a in arguments):
        raise ValueError("the model does not name its parameters: give p0, with a start for each")
    if not names:
        raise ValueError("the model must have parameters behind x: f(x, a, b, ...)")
    return names


def refuse_masked(values, what, instead):
    """Raises TypeError for a masked array, or a tuple, list or dict of them, whose masks would be lost."""
    parts = values.values() if isinstance(values, Mapping) else values
    several = isinstance(values, (Mapping, tuple, list))
    if any(map(np.ma.is_masked, parts)) if several else np.ma.is_masked(values):
        raise TypeError(f"{what} is a masked array; {instead}")


def refuse_other_kinds(values, what):
    """Raises TypeError for complex numbers, dates, and missing values of pandas (NA).

    As float64 a complex number would lose its imaginary part, and an unknown date would be a number.
    """
    kind = np.asarray(values).dtype.kind if hasattr(values, "dtype") or np.iscomplexobj(values) else ""
    missing = [i for i, v in enumerate(np.ravel(values)) if type(v).__name__ == "NAType"] if kind == "O" else []
    if missing:
        more = f" and in {len(missing) - 1} more" if len(missing) > 1 else ""
        raise TypeError(f"{what} is missing (NA) in row {missing[0]}{more}: leave out such rows")
    if kind == "c":
        raise TypeError(f"{what} is complex; give its real and imaginary parts side by side")
    if kind == "M":
        since = f"({what} - {what}[0]) / np.timedelta64(1, 's')"
        raise TypeError(f"{what} holds dates; give numbers, such as {since}")
    if kind == "m":
        raise TypeError(f"{what} holds times; give numbers, such as {what} / np.timedelta64(1, 's')")


def _is_table(x):
    return hasattr(x, "columns") and hasattr(x, "items")


def named_parts(x):
    """Return the predictors of a dict or of a table of pandas by their names, or None for another x."""
    if _is_table(x):
        parts = dict(x.items())
        if len(parts) < len(x.columns):
            names = list(x.columns)
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"x has several columns {twice!r}: rename one, or leave it out")
        return parts
    return x if isinstance(x, Mapping) else None


def used_columns(formula, x):
    """Return the columns of a table of pandas that a formula names, as a dict.

    Another x is returned as it is, and so is a table of which the formula names no column.
    """
    if not _is_table(x):
        return x
    words = set(re.findall(r"(?<![\w.])[^\W\d]\w*", formula))  # not the e3 of 1e3
    return {name: values for name, values in named_parts(x).items() if name in words} or x


def predictors(x):
    """Return the predictors' names (None means x, or x1, x2 ...) and their vectors."""
    parts = named_parts(x)
    if parts is not None:
        for name, values in parts.items():
            if not isinstance(name, str):
                raise TypeError(f"a formula cannot name the column {name!r} of x: give texts as names, or x.T as an array")
            refuse_other_kinds(values, f"x[{name!r}]")
            warn_of_merged(values, f"x[{name!r}]", stacklevel=6)
        return list(parts), [np.asarray(v).reshape(-1) for v in parts.values()]
    if isinstance(x, tuple) or isinstance(x, list) and x and np.ndim(x[0]) > 0:
        for number, values in enumerate(x):
            refuse_other_kinds(values, f"x{number + 1}")
            warn_of_merged(values, f"x{number + 1}", stacklevel=6)
        return None, [np.asarray(v).reshape(-1) for v in x]
    refuse_other_kinds(x, "x")
    warn_of_merged(x, "x", stacklevel=6)
    x = np.asarray(x)
    if x.ndim <= 1:
        return None, [x.reshape(-1)]
    return None, list(x.reshape(x.shape[0], -1))


def refuse_columns(x, rows):
    """Raises ValueError for an array that has a column for each predictor of a formula, not a row."""
    shape = np.shape(x) if isinstance(x, np.ndarray) else ()
    if len(shape) == 2 and shape[0] == rows != shape[1]:
        count = f"{shape[1]} predictor{'s' if shape[1] != 1 else ''} of {rows} rows"
        raise ValueError(f"x has shape {shape}, and a row for each predictor is wanted: for {count} give x.T")


def warn_of_unit_errors(absolute_sigma, sigma, loss):
    """Warns of standard errors that are absolute although no sigma was given."""
    if absolute_sigma and sigma is None and loss != "poisson":
        text = "absolute_sigma without sigma: errors of 1 are assumed, in units of y; give sigma"
        warnings.warn(text, OptimizeWarning, stacklevel=3)


def own_data(x):
    """Return data with copies of the caller's arrays, because a `Fit` computes from them again later.

    Arrays of files (`numpy.memmap`) are not copied.
    """
    if isinstance(x, np.ndarray):
        return x if isinstance(x, np.memmap) else x.copy()
    if isinstance(x, list) and x and isinstance(x[0], np.ndarray):
        return [own_data(part) for part in x]
    return with_parts(x, own_data)


def function_data(x):
    """Return a function's x, with arrays and lists as arrays of float64.

    This also holds for those in a tuple or dict, but integers there stay integers, because they may be
    indices.
    """
    if not isinstance(x, (list, np.ndarray)):
        return with_parts(x, _part)
    refuse_other_kinds(x, "x")
    warn_of_merged(x, "x", stacklevel=6)
    return np.asarray(x, dtype=float)


def _part(x):
    if isinstance(x, list):
        try:
            np.asarray(x, dtype=float)
        except (ValueError, TypeError):  # the parts have different lengths, or are not numbers
            return x
        x = np.asarray(x)
    if isinstance(x, np.ndarray):
        return np.asarray(x, dtype=float) if x.dtype.kind == "f" else x
    return with_parts(x, _part)


def with_parts(x, change):
    """Return x with ``change(part)`` in place of each part, if it is a tuple or dict."""
    if isinstance(x, Mapping):
        parts = {k: change(v) for k, v in x.items()}
        return x if all(parts[k] is v for k, v in x.items()) else parts
    if isinstance(x, tuple):
        parts = [change(v) for v in x]
        if all(new is old for new, old in zip(parts, x)):
            return x
        return x._make(parts) if hasattr(x, "_make") else tuple(parts)  # with names, or without
    return x


def _with_infinities(bounds):
    """Return a pair of bounds with infinities in place of None, which a dict may contain."""
    if not isinstance(bounds, (tuple, list)) or len(bounds) != 2:
        return bounds

    def side(values, none):
        if isinstance(values, (tuple, list)):
            return [none if v is None else v for v in values]
        return none if values is None else values

    return side(bounds[0], -np.inf), side(bounds[1], np.inf)


def limits(bounds, names):
    """Return lower and upper bounds of all parameters as two vectors. Raises ValueError if they are wrong."""
    lower, upper = np.full(len(names), -np.inf), np.full(len(names), np.inf)
    if bounds is None:
        return lower, upper
    if isinstance(bounds, Mapping):
        for name, pair in bounds.items():
            at = known(name, names)
            if not isinstance(pair, (tuple, list, np.ndarray)) or len(pair) != 2:
                wanted = "no pair of a lower and an upper bound, such as (0, None)"
                raise ValueError(f"bounds of {name}: {pair!r} is {wanted}")
            low, high = pair
            lower[at] = -np.inf if low is None else low
            upper[at] = np.inf if high is None else high
    else:
        lower, upper = bounds_pair(_with_infinities(bounds), len(names))
        if lower.shape != (len(names),) or upper.shape != lower.shape:
            given = f"bounds have {lower.size} and {upper.size} values"
            raise ValueError(f"{given} for {len(names)} parameters ({', '.join(names)})")
    for name, low, high in zip(names, lower, upper):  # they are checked here, so that starts are not compared with such bounds
        if np.isnan(low) or np.isnan(high):
            which = "lower" if np.isnan(low) else "upper"
            raise ValueError(f"bounds: the {which} one of {name} is NaN: an infinity is no bound")
        if low > high:
            given = f"the lower one of {name}, {low:g}, is above the upper one, {high:g}"
            raise ValueError(f"bounds: {given}: exchange them")
    return lower, upper
