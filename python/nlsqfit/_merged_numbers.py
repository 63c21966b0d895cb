"""Finds whole numbers that are too large for float64, such as times in nanoseconds since 1970."""

from __future__ import annotations

import warnings

import numpy as np

from ._scipy_words import OptimizeWarning

_FIRST = 2**53  # from here on, not all whole numbers are numbers of float64
_OF_STEP = 0.01  # smaller gaps do no harm


def warn_of_merged(values, what, stacklevel=4):
    """Warns if the gaps of float64 are not small beside the steps from one row of an integer array to the next."""
    values = np.asarray(values)
    if values.dtype.kind not in "iuO" or values.size < 2:
        return
    values = values.reshape(-1)
    if not isinstance(values[0], (int, np.integer)) or abs(int(values[0])) < _FIRST:
        return
    numbers = values.astype(float)
    step = np.abs(np.diff(numbers)).mean()
    gap = np.spacing(np.abs(numbers).max())
    if step > 0 and gap > _OF_STEP * step:
        text = (
            f"{what} has integers near {values[0]}, which float64 rounds to multiples of {gap:.0f}, and its rows are "
            f"{step:.3g} apart on average: subtract an integer from {what} first"
        )
        warnings.warn(text, OptimizeWarning, stacklevel=stacklevel)
