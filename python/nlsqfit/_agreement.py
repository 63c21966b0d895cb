"""Does a recording give what the callable gives? A recording is used only where it does, on every row."""

from __future__ import annotations

import numpy as np

RELATIVE = 1e-9  # of each value
OF_LARGEST = 1e-12  # of the largest value
RELATIVE_F32 = 1e-5  # the same for callables that give float32
OF_LARGEST_F32 = 1e-6


def agree(recorded, called, single=False):
    """Whether two vectors are equal but for rounding. NaN and infinities must be in the same places."""
    relative, of_largest = (RELATIVE_F32, OF_LARGEST_F32) if single else (RELATIVE, OF_LARGEST)
    with np.errstate(all="ignore"):
        difference = np.abs(recorded - called)
        size = np.abs(called)
        largest = size.max(initial=0.0)
        if np.isfinite(largest) and np.isfinite(difference).all():
            return bool((difference <= relative * size + of_largest * largest).all())
        finite = np.isfinite(called)
        if not np.array_equal(finite, np.isfinite(recorded)):
            return False
        if not np.array_equal(recorded[~finite], called[~finite], equal_nan=True):
            return False
        return not finite.any() or agree(recorded[finite], called[finite], single)


def perturbed(p, lower, upper, share=0.1):
    """A point beside p, within the bounds: each parameter is changed by up to a tenth, each by another share."""
    steps = np.modf((np.arange(p.size) + 1) * 0.6180339887498949)[0] * 2 - 1
    steps[np.abs(steps) < 0.1] = 0.37
    moved = p + share * steps * np.where(p == 0, 1.0, np.abs(p))
    return np.clip(moved, lower, upper)
