"""Finds whole numbers that are too large for float64, such as times in nanoseconds since 1970."""

from __future__ import annotations

import warnings

import numpy as np

from ._scipy_words import OptimizeWarning

_FIRST = 2**53  # from here on, not all whole numbers are numbers of float64
_OF_STEP = 0.01  # smaller gaps do no harm


def warn_of_merged(values, what, stacklevel=4):
    """Warns if the gaps of float64 are not small beside the steps of integers from one row to the next.

    In an array of two dimensions, rows follow each other along the last one.
    """
    if not _begins_large(values):
        return
    values = np.asarray(values)
    if values.dtype.kind not in "iuO" or values.ndim == 0:
        return
    for vector in values.reshape(-1, values.shape[-1]) if values.size else ():
        text = _what_is_lost(vector)
        if text:
            text = f"{what} has {text}: subtract an integer from {what} first"
            return warnings.warn(text, OptimizeWarning, stacklevel=stacklevel)


def _begins_large(values):
    """Return False if a list begins with a number that needs no look, so that it is not converted in vain."""
    if not isinstance(values, (list, tuple)):
        return True
    if len(values) > 0 and isinstance(values[0], (list, tuple, np.ndarray)):
        return any(map(_begins_large, values))
    return len(values) > 0 and isinstance(values[0], (int, np.integer)) and abs(int(values[0])) >= _FIRST


def _what_is_lost(vector):
    if not isinstance(vector[0], (int, np.integer)) or abs(int(vector[0])) < _FIRST:
        return ""
    numbers = vector.astype(float)
    steps = np.abs(np.diff(numbers))
    steps = steps[steps > 0]  # without those of rows that are equal, perhaps by rounding
    gap = np.spacing(np.abs(numbers).max())
    if steps.size == 0 or gap <= _OF_STEP * np.median(steps):
        return ""
    return (
        f"integers near {vector[0]}, which float64 rounds to multiples of {gap:.0f}, and its rows are "
        f"{np.median(steps):.3g} apart"
    )
