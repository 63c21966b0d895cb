"""Finds out whether a function jumps beside an answer, as integrators with loose tolerances do."""

from __future__ import annotations

import numpy as np

_POINTS = np.linspace(0.0, 2.0, 9)
_MOVES = (1e-3, 1e-5)  # how far the values move along a half of these points, as a share of their range
_ROUGH = 0.01  # the share of this movement that a cubic may leave
_ROUNDING = 1e-14  # relative rounding errors of values


class _Line:
    """Holds the values where one parameter moves away from p, to the side where its bound is further."""

    def __init__(self, values, p, j, lower, upper):
        self.values, self.p, self.j = values, p, j
        self.side = 1.0 if upper - p[j] >= p[j] - lower else -1.0
        self.room = max(upper - p[j], p[j] - lower)

    def at(self, step):
        moved = self.p.copy()
        moved[self.j] += self.side * step
        return np.array(self.values(moved))

    def step(self, here, wanted):
        """Return a step that moves the values by about `wanted`, or None. Values that jump may move further."""
        step, moved = 1e-3 * (abs(self.p[self.j]) or 1.0), 0.0
        shortest = 2e4 * np.spacing(abs(self.p[self.j]))  # over less, the parameter itself moves in jumps
        for _ in range(6):
            step = min(step, 0.4 * self.room)
            moved = np.max(np.abs(self.at(step) - here))
            if 0.3 * wanted <= moved <= 3 * wanted or step == shortest:
                break
            factor = max(min(wanted / moved, 100.0), 1e-6) if moved > 0 else 100.0
            step = max(step * factor, shortest)
        if step == shortest:  # it is too long, unless the values jump: then the length makes no difference
            farther, nearer = (np.max(np.abs(self.at(by * step) - here)) for by in (min(8.0, self.room / step), 0.25))
            if not (nearer > 0.6 * moved > 0.3 * farther):
                return None
        return step if step >= shortest and moved >= 0.3 * wanted else None


def note_on_jumps(values, p, names, lower, upper):
    """Return a sentence about a function whose values do not follow a cubic beside p, or "".

    `values(p)` gives a vector. Where a parameter moves so little that the values change by a small share of
    their range, a smooth function is a cubic to many digits.
    """
    here = np.array(values(p))
    scale = np.ptp(here) if here.size > 1 and np.ptp(here) > 0 else np.max(np.abs(here))
    lower, upper = np.broadcast_to(lower, p.shape), np.broadcast_to(upper, p.shape)
    basis, _ = np.linalg.qr(np.vander(_POINTS - 1, 4))
    for share in _MOVES:
        if not _ROUNDING * np.max(np.abs(here)) < 0.1 * _ROUGH * share * scale:
            break
        for j, name in enumerate(names):
            line = _Line(values, p, j, lower[j], upper[j])
            try:
                step = line.step(here, share * scale)
                rows = None if step is None else np.array([line.at(step * t) for t in _POINTS])
            except Exception:  # beside the answer the function may be undefined
                continue
            if rows is None:
                continue
            left = np.max(np.abs(rows - basis @ (basis.T @ rows)))
            if left > _ROUGH * max(np.max(np.ptp(rows, axis=0)), share * scale):
                return (
                    f"the function is not smooth: while {name} moves by {2 * step:.1g}, values jump by some {left:.1g}."
                    " If it integrates or iterates, tighten its tolerances (rtol, atol)"
                )
    return ""
