"""Computes derivatives of a function that is called, by differences.

The steps are those of the library's DifferenceStep, and the extrapolation is that of its extrapolated_slopes.
"""

from __future__ import annotations

import numpy as np

_EPS = np.finfo(float).eps
_FIRST = np.cbrt(_EPS)  # the first step, relative to the parameter's size
_LEAST = 2.0**-28  # the least step, relative to the first step
_CURVED = 0.02  # if the ratio of second to first differences exceeds this, a step is too long
_ROUNDING = 1e3 * _EPS  # relative to the values; smaller second differences are rounding errors
_LONG = 1e-2  # the first step of extrapolated differences, relative to the parameter's size
_TOO_CURVED = 0.5  # if the ratio of second to first differences exceeds this, that step is too long
_TOO_CURVED_TO_ONE_SIDE = 0.1  # the same to one side, where extrapolation gains fewer digits in each step
_LITTLE_ROOM = 1 / 32  # if the room on one side is less, relative to the other side, that side is not used
_NO_ROOM = 1e-4  # if the room is less, relative to the first step, there are no derivatives
_STEPS = 10
_USUAL = 1e-9  # a relative error of a column up to this does not matter
_MATTERS = 5e-3  # if the relative error of standard errors exceeds this, derivatives are extrapolated


def typical_sizes(start):
    """Return lower limits on the size that a step is relative to: the size of each start, or 1 for a zero."""
    size = np.abs(np.asarray(start, dtype=float))
    return np.where(np.isfinite(size) & (size > 0), size, 1.0)


class _Step:
    """Holds two places beside p. If a bound leaves no room for one of them, both lie on the other side.

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
        """Return the ratio of second to first differences of the values, which measures how curved they are.

        The ratio is 0 where second differences are rounding errors, infinite where a value is not finite or
        the places are not equally spaced, and NaN where no value changes.
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

    def error(self, above, here, below):
        """Return an upper limit on the error of the derivatives, as the norm over all rows.

        Second differences contain the rounding errors of the values, and the curvature. If there are few
        values, and a step changes only their last digits, second differences may happen to be 0.
        """
        with np.errstate(all="ignore"):
            middle = here
            if self.kind == "beside":
                middle = above if self.below > self.p else below
            second = np.linalg.norm(above + here + below - 3 * middle) / np.sqrt(3)
            return max(second, _EPS * np.linalg.norm(here)) / abs(self.above - self.below)

    def slopes(self, above, here, below):
        """Return the derivatives, row by row. A row uses one side if the value on the other is not finite."""
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


def jacobian(values, p, here, typical, lower, upper, better=True):
    """Return derivatives of ``values(p)`` by all parameters at p, and their error.

    The values at p are `here`. The derivatives contain the rounding errors of the values, divided by the step
    of a difference. Beside an offset of y these errors may be far larger than usual, and nearly dependent
    columns magnify them. If that matters, differences are extrapolated from longer steps, unless `better` is
    False.

    Returns
    -------
    J : ndarray, shape (rows, parameters)
    error : float
        The relative error of standard errors that are computed from J, as an estimate.
    """
    columns = [slopes(values, p, j, here, *limits) for j, limits in enumerate(zip(typical, lower, upper))]
    J, errors = (np.stack(parts, axis=-1) for parts in zip(*columns))
    magnified = _magnified(J, errors)
    if better and magnified > _MATTERS:
        for j, limits in enumerate(zip(typical, lower, upper)):
            slope, error = extrapolated(values, p, j, here, *limits)
            if np.isfinite(slope).all() and np.isfinite(error).all():
                J[:, j], errors[j] = slope, np.linalg.norm(error)
        magnified = _magnified(J, errors)
    return J, magnified / np.sqrt(max(1, here.size))  # errors of rows are independent


def _magnified(J, errors):
    """Return the relative error of J, times its condition number once its columns have length 1."""
    size = np.linalg.norm(J, axis=0)
    if not np.isfinite(J).all():
        return np.inf
    moved = size > 0
    error = np.linalg.norm(errors[moved] / size[moved])
    if error <= _USUAL or not moved.any():  # then it does not matter that columns are nearly dependent
        return 0.0
    values = np.linalg.svd(J[:, moved] / size[moved], compute_uv=False)
    if J.shape[0] < values.size or not values[-1] > 0:
        return np.inf
    return error * values[0] / values[-1]


def extrapolated(values, p, j, here, typical, lower, upper):
    """Return derivatives by parameter j, extrapolated to step zero, and their errors, row by row.

    Both are NaN if the bounds leave almost no room.
    """
    wanted = _LONG * max(abs(p[j]), typical)
    above, below = min(wanted, upper - p[j]), min(wanted, p[j] - lower)
    up, down = above >= _LITTLE_ROOM * below, below >= _LITTLE_ROOM * above
    h = min(above, below) if up and down else max(above, below)
    slope, error = np.full(here.shape, np.nan), np.full(here.shape, np.inf)
    if not h > _NO_ROOM * wanted:
        return slope, error * np.nan

    def at(place):
        if place == p[j]:
            return here
        moved = p.copy()
        moved[j] = place
        try:
            return np.array(values(moved))
        except Exception:
            return np.full(here.shape, np.nan)

    def places(h):
        return min(p[j] + h, upper) if up else p[j], max(p[j] - h, lower) if down else p[j]

    with np.errstate(all="ignore"):
        share, curved = 1.0, _TOO_CURVED if up and down else _TOO_CURVED_TO_ONE_SIDE
        while share > 2.0**-36:
            far = [at(place) for place in places(share * h)]
            middle = here if up and down else at(p[j] + (0.5 if up else -0.5) * share * h)
            first, second = np.linalg.norm(far[0] - far[1]), np.linalg.norm(far[0] + far[1] - 2 * middle)
            ratio = second / first if np.isfinite(first + second) else np.inf
            if not ratio > curved or second <= _ROUNDING * np.linalg.norm(here):
                break
            share *= min(max(0.2 * curved / ratio, 1 / 16), 0.5)
        h *= share
        orders, latest, done = 4.0 if up and down else 2.0, [], np.zeros(here.shape, dtype=bool)
        for _ in range(_STEPS):
            high, low = places(h)
            f_high, f_low = at(high), at(low)
            row = [(f_high - f_low) / (high - low)]
            rounding = _EPS * np.maximum(np.abs(f_high), np.abs(f_low)) / (high - low)
            for k, before in enumerate(latest):
                factor = orders ** (k + 1)
                row.append((factor * row[k] - before) / (factor - 1))
                apart = np.maximum(np.abs(row[k + 1] - row[k]), np.abs(row[k + 1] - before)) + rounding
                nearer = ~done & (apart <= error)
                slope[nearer], error[nearer] = row[k + 1][nearer], apart[nearer]
            if latest:
                done |= (error <= 4 * _EPS * np.abs(slope)) | (np.abs(row[-1] - latest[-1]) >= 2 * error)
            latest = row
            if done.all():
                break
            h /= 2
    return slope, error


def slopes(values, p, j, here, typical, lower, upper):
    """Return derivatives of ``values(p)`` by parameter j at p, and an upper limit on their error.

    The values at p are `here`. A step over which the values are not straight, or not finite, is shortened. An
    exception of `values` on one side of p counts as a value that is not finite. On both sides it is raised.

    Parameters
    ----------
    values : callable
        It may change p, and may return the same array every time.
    typical, lower, upper : float
        The parameter's typical size, and its bounds.
    """
    if not lower < upper:
        return np.zeros_like(here), 0.0
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
                lowest, found = ratio, (step.slopes(above, here, below), step.error(above, here, below))
            if not ratio > _CURVED:
                break
            share *= min(max(0.2 * _CURVED / ratio, 1 / 16), 0.5)
    return found
