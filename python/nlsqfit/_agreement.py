"""Compares a recording with its callable. A recording is used only if both give the same on every row."""

from __future__ import annotations

from functools import lru_cache
from math import inf

import numpy as np

RELATIVE = 1e-9  # allowed difference, relative to each value
OF_LARGEST = 1e-12  # allowed difference, relative to the largest value
RELATIVE_F32 = 1e-5  # the same two limits for callables that give float32
OF_LARGEST_F32 = 1e-6


_FEW = 2_000  # for more numbers, a sum takes less time than a product, for which BLAS may start threads


def all_finite(values):
    """Return True if an array of float64 has neither NaN nor infinity.

    The sum of the numbers, or of their squares, reads each once. If it overflows, each number is tested.
    """
    flat = values.reshape(-1)
    if flat.size <= _FEW:
        return flat.dot(flat) < inf or bool(np.isfinite(flat).all())
    with np.errstate(all="ignore"):
        return abs(np.add.reduce(flat)) < inf or bool(np.isfinite(flat).all())


def tolerances(single=False):
    """Return (relative, of_largest) for values in double, or in single precision."""
    return (RELATIVE_F32, OF_LARGEST_F32) if single else (RELATIVE, OF_LARGEST)


def agree(recorded, called, single=False):
    """Return True if two vectors are equal except for rounding.

    NaN and infinities must be in the same places. `Model.agrees` does this for a model of the library.
    """
    relative, of_largest = tolerances(single)
    finite = np.isfinite(called)
    if not np.array_equal(finite, np.isfinite(recorded)):
        return False
    if not finite.all():
        if not np.array_equal(recorded[~finite], called[~finite], equal_nan=True):
            return False
        recorded, called = recorded[finite], called[finite]
    size = np.abs(called)
    allowed = relative * size + of_largest * size.max(initial=0.0)
    return bool((np.abs(recorded - called) <= allowed).all())


@lru_cache(maxsize=64)
def _steps(count):
    steps = np.modf((np.arange(count) + 1) * 0.6180339887498949)[0] * 2 - 1
    steps[np.abs(steps) < 0.1] = 0.37
    return steps


def elsewhere(p, q):
    """Return True if every parameter of q differs from that of p by more than a thousandth."""
    for a, b in zip(p.tolist(), q.tolist()):  # this is faster than arrays, because the numbers are few
        if not abs(b - a) > 1e-3 * (abs(a) or 1.0):
            return False
    return True


def perturbed(p, lower, upper, share=0.1):
    """Return a point beside p, within the bounds. Each parameter changes by another fraction of its size."""
    moved = p + share * _steps(p.size) * np.where(p == 0, 1.0, np.abs(p))
    return np.minimum(np.maximum(moved, lower), upper)
