"""Computes confidence intervals of a fit by profile likelihood, and derived quantities."""

from __future__ import annotations

import warnings
from ctypes import byref, c_void_p
from dataclasses import dataclass
from math import isfinite, nan

import numpy as np

from ._handles import Result
from ._library import check, lib
from ._scipy_words import OptimizeWarning


@dataclass(frozen=True)
class ProfileInterval:
    """The confidence interval of a parameter by profile likelihood, in units of the parameter.

    Attributes
    ----------
    name : str
    value, low, high : float
        The estimate and the ends of the interval.
    ends : tuple of str
        How each end was determined: 'found', 'at_bound' (a bound of the parameter comes first), 'unbounded'
        (infinite: the cost never rises enough) or 'failed' (NaN: the other parameters could not be fitted).
    fits : int
        Number of fits made for the interval.
    """

    name: str
    value: float
    low: float
    high: float
    ends: tuple[str, str]
    fits: int


@dataclass(frozen=True)
class Quantity:
    """A quantity derived from parameters.

    Attributes
    ----------
    name : str
    value, stderr : float
    ci : tuple of float
        Confidence interval.
    """

    name: str
    value: float
    stderr: float
    ci: tuple[float, float]


def _profile(fit, names, confidence):
    """Return the library's table of intervals."""
    return fit._model.solve(
        lib.nlsq_model_profile_intervals, fit._solved().handle, ",".join(names).encode(),
        nan if confidence is None else confidence, options=fit._options, fits=12 * len(fit.params),
    )  # fmt: skip


def _ends(fit, table):
    """Return the estimate with one parameter moved to an end of its interval, for each finite end."""
    for column in ("ci_low", "ci_high"):
        for name, end in zip(table.text("parameter_names").split(), table.array(column)):
            if isfinite(end):
                yield np.where([other == name for other in fit.params], end, fit.x)


def profile_intervals(fit, parameters, confidence):
    """Does the work of `Fit.profile_intervals`."""
    names = [parameters] if isinstance(parameters, str) else list(parameters or ())
    table = _profile(fit, names, confidence)
    if fit._model.call_unless_right(_ends(fit, table)):
        table = _profile(fit, names, confidence)
    if table.array("better").size:
        better = ", ".join(f"{name} = {p:.6g}" for name, p in zip(fit.params, table.array("better")))
        text = f"a fit for the intervals has a lower cost, at {better}: fit again from there"
        warnings.warn(text, OptimizeWarning, stacklevel=3)
    ends = zip(table.text("ends_low").split(), table.text("ends_high").split())
    numbers = zip(*(table.array(column).tolist() for column in ("estimate", "ci_low", "ci_high", "fits")))
    return {
        name: ProfileInterval(name, value, low, high, both, int(fits))
        for name, (value, low, high, fits), both in zip(table.text("parameter_names").split(), numbers, ends)
    }


def derive(fit, quantities, confidence):
    """Does the work of `Fit.derive`."""
    handle = c_void_p()
    confidence = nan if confidence is None else confidence
    check(lib.nlsq_result_derive(fit._solved().handle, "\n".join(quantities).encode(), confidence, byref(handle)))
    table = Result(handle)
    names = table.text("names").split("\n")
    for name, note in zip(names, table.text("notes").split("\n")):
        if note:
            warnings.warn(f"{name}: {note}", OptimizeWarning, stacklevel=3)
    numbers = zip(*(table.array(column).tolist() for column in ("value", "std_error", "ci_low", "ci_high")))
    return {
        name: Quantity(name, value, error, (low, high))
        for name, (value, error, low, high) in zip(names, numbers)
    }
