"""Derivatives of a function that is called, by differences. The steps are those of the library's DifferenceStep."""

from __future__ import annotations

import numpy as np

_EPS = np.finfo(float).eps
_FIRST = np.cbrt(_EPS)  # the first step, relative to the parameter's size
_LEAST = 2.0**-28  # of the first step
_CURVED = 0.02  # second over first differences, from which a step is too long
_ROUNDING = 1e3 * _EPS  # of the values: second differences that mean nothing


def typical_sizes(start):
    """Lower limits on the size that a step is relative to: the sizes of the starting values, 1 for a zero."""
    size = np.abs(np.asarray(start, dtype=float))
    return np.where(np.isfinite(size) & (size > 0), size, 1.0)


class _Step:
    """Two places beside p. Where a bound leaves no room for one of them, both lie on the other side.

    Parameters
    ----------
    p, h : float
        The parameter, and the distance of the places.
    lower, upper : float
        Its bounds.
    """

    def __init__(self, p, h, lower, upper):
        self.p, self.above, self.below = p, p + h, p - h
        self.kind = "central"
        if self.above <= upper and self.below >= lower:
            return
        self.kind = "beside"
        if p + 2 * h <= upper:
            self.below = p + 2 * h
        elif p - 2 * h >= lower:
            self.above = p - 2 * h
        else:
            self.kind = "clipped"
            self.above, self.below = min(self.above, upper), max(self.below, lower)

    def curvature(self, above, here, below):
        """Second over first differences of the values: how far they are from straight.

        The ratio is 0 where second differences are rounding, infinite where a value is not finite or the places
        are not equally spaced, and NaN where nothing moved.
        """
        if self.kind == "clipped":
            return np.inf
        middle, ends = here, above - below
        if self.kind == "beside":
            middle, far = (above, below) if self.below > self.p else (below, above)
            ends = far - here
        first = np.linalg.norm(ends)
        second = np.linalg.norm(above + here + below - 3 * middle)
        if not np.isfinite(first + second):
            return np.inf
        if first == second == 0:
            return np.nan
        if second <= _ROUNDING * np.linalg.norm(here):
            return 0.0
        return second / first if first > 0 else np.inf

    def slopes(self, above, here, below):
        """The derivatives, row by row: from one side where the other value is not finite."""
        with np.errstate(all="ignore"):
            by_above, by_below = (above - here) / (self.above - self.p), (below - here) / (self.below - self.p)
            if self.kind == "central":
                both = (above - below) / (self.above - self.below)
            elif self.above == self.p or self.below == self.p:
                both = by_below if self.above == self.p else by_above
            else:  # the slope of the parabola through all three points
                share = (self.below - self.p) / (self.below - self.above)
                both = share * by_above + (1 - share) * by_below
        up, down = np.isfinite(by_above), np.isfinite(by_below)
        return np.where(up == down, both, np.where(up, by_above, by_below))


def slopes(values, p, j, here, typical, lower, upper):
    """Derivatives of ``values(p)`` by parameter j at p, where the values are `here`.

    A step over which the values are not straight, or not finite, is shortened. An exception of `values` on
    one side of p is as a value that is not finite. On both sides it is raised.

    Parameters
    ----------
    values : callable
        It may change p, and give the same array every time.
    typical, lower, upper : float
        The parameter's typical size, and its bounds.
    """
    if not lower < upper:
        return np.zeros_like(here)
    share, lowest, found, failure = 1.0, np.inf, None, None

    def at(place):
        nonlocal failure
        moved = p.copy()
        moved[j] = place
        try:
            return np.array(values(moved))
        except Exception as error:
            failure = error
            return np.full(here.shape, np.nan)

    with np.errstate(all="ignore"):
        while share > _LEAST:
            step = _Step(p[j], share * _FIRST * max(abs(p[j]), typical), lower, upper)
            above, below = at(step.above), at(step.below)
            if failure is not None and np.isnan(above).all() and np.isnan(below).all():
                raise failure
            ratio = step.curvature(above, here, below)
            if found is None or ratio < lowest:
                lowest, found = ratio, step.slopes(above, here, below)
            if not ratio > _CURVED:
                break
            share *= min(max(0.2 * _CURVED / ratio, 1 / 16), 0.5)
    return found
