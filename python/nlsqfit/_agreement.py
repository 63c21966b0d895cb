"""Does a recording give what the callable gives? A recording is used only where it does, on every row."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

RELATIVE = 1e-9  # of each value
OF_LARGEST = 1e-12  # of the largest value
RELATIVE_F32 = 1e-5  # the same for callables that give float32
OF_LARGEST_F32 = 1e-6


_ROWS_AT_ONCE = 1 << 14  # of long vectors, so that what is computed stays in the cache


def agree(recorded, called, single=False):
    """Whether two vectors are equal but for rounding. NaN and infinities must be in the same places."""
    return agree_by_part(lambda first, last: recorded[first:last], called, single)


def agree_by_part(recorded, called, single=False):
    """The same for ``recorded(first, last)``, which gives a part of the first vector."""
    relative, of_largest = (RELATIVE_F32, OF_LARGEST_F32) if single else (RELATIVE, OF_LARGEST)
    if called.size == 0:
        return True
    if called.size <= _ROWS_AT_ONCE:
        square = called.dot(called)
        if 1e-200 < square < np.inf:  # all finite, and nothing is lost in the squares
            difference = recorded(0, called.size) - called
            # No difference is larger than the root of their squares, and the largest value is no smaller
            # than the root of the mean square.
            if difference.dot(difference) <= of_largest * of_largest * square / called.size:
                return True
    buffer = np.empty(min(called.size, _ROWS_AT_ONCE))
    of_first = of_largest * np.abs(called[:_ROWS_AT_ONCE]).max()
    with np.errstate(all="ignore"):
        for start in range(0, called.size, _ROWS_AT_ONCE):
            expected = called[start : start + _ROWS_AT_ONCE]
            difference = buffer[: expected.size]
            np.subtract(recorded(start, start + expected.size), expected, out=difference)
            np.abs(difference, out=difference)
            # Most recordings pass this quick test; NaN does not.
            if not difference.max() <= of_first:
                return _agree_by_value(recorded(0, called.size), called, relative, of_largest)
    return True


def _agree_by_value(recorded, called, relative, of_largest):
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
    """Whether q is another point than p: every parameter differs by more than a thousandth of it."""
    for a, b in zip(p.tolist(), q.tolist()):  # few numbers: faster than arrays
        if not abs(b - a) > 1e-3 * (abs(a) or 1.0):
            return False
    return True


def perturbed(p, lower, upper, share=0.1):
    """A point beside p, within the bounds: each parameter changes by another share of it."""
    moved = p + share * _steps(p.size) * np.where(p == 0, 1.0, np.abs(p))
    return np.minimum(np.maximum(moved, lower), upper)
