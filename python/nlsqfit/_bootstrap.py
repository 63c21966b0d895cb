"""Computes standard errors and intervals of a fit from fits to resampled data."""

from __future__ import annotations

import operator
import warnings
from dataclasses import dataclass
from math import nan

import numpy as np

from ._library import lib
from ._scipy_words import OptimizeWarning


@dataclass(frozen=True)
class BootstrapEstimate:
    """What the samples say about one parameter or derived quantity, in its units.

    Attributes
    ----------
    name : str
    value : float
        The estimate of the fit.
    stderr, bias : float
        Standard deviation of the samples, and their mean minus `value`.
    ci : tuple of float
        Percentiles of the samples.
    """

    name: str
    value: float
    stderr: float
    bias: float
    ci: tuple[float, float]


@dataclass(frozen=True)
class Bootstrap:
    """The result of `Fit.bootstrap`. ``boot["b"]`` is the estimate of b.

    Attributes
    ----------
    estimates : dict of str to BootstrapEstimate
        Parameters, then derived quantities.
    values : ndarray, shape (samples - failures, len(estimates))
        These numbers for each sample.
    method : str
        'residual', 'case' or 'parametric'.
    samples, failures : int
        How many were drawn, and how many of these fits found no minimum. Those are left out.
    seed : int
    """

    estimates: dict[str, BootstrapEstimate]
    values: np.ndarray
    method: str
    samples: int
    failures: int
    seed: int

    def __getitem__(self, name):
        return self.estimates[name]

    def __repr__(self):
        inside = ", ".join(f"{e.name} = {e.value:.6g} ± {e.stderr:.2g}" for e in self.estimates.values())
        return f"<Bootstrap of {self.samples} samples by {self.method}, {self.failures} failed: {inside}>"


def _outermost(values):
    """Return those samples in which a quantity is least or greatest."""
    return values[np.unique(np.r_[values.argmin(axis=0), values.argmax(axis=0)])] if len(values) else values


def bootstrap(fit, samples, method, derive, seed, confidence):
    """Does the work of `Fit.bootstrap`."""
    quantities = [derive] if isinstance(derive, str) else list(derive)
    samples, seed = operator.index(samples), operator.index(seed)
    if not (0 <= samples < 2**31 and 0 <= seed < 2**63):
        raise ValueError(f"samples = {samples}, seed = {seed}: use whole numbers below 2**31 and 2**63, not negative")

    def draw():
        return fit._model.solve(
            lib.nlsq_model_bootstrap, fit._solved().handle, samples, seed, (method or "").encode(),
            "\n".join(quantities).encode(), nan if confidence is None else confidence, options=fit._options, fits=samples,
        )  # fmt: skip

    table = draw()
    values = _values(table)
    if fit._model.call_unless_right(_outermost(values[:, : fit.x.size])):
        table = draw()
        values = _values(table)
    for line in filter(None, table.text("warnings").split("\n")):
        warnings.warn(line, OptimizeWarning, stacklevel=3)
    columns = (table.array(name).tolist() for name in ("estimate", "std_error", "bias", "ci_low", "ci_high"))
    estimates = {
        name: BootstrapEstimate(name, value, error, bias, (low, high))
        for name, value, error, bias, low, high in zip(table.text("names").split("\n"), *columns)
    }
    counts = (int(table.number(name)) for name in ("samples", "failures"))
    return Bootstrap(estimates, values, table.text("method"), *counts, seed)


def _values(table):
    """Return the samples as a matrix, also of one quantity."""
    values = table.array("values")
    return np.array(values.reshape(len(values), len(table.text("names").split("\n"))))
