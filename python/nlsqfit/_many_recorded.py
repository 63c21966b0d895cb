"""Records a function for `fit_many`, and finds the fits for which the recording is in doubt."""

from __future__ import annotations

import numpy as np

from . import _agreement
from ._fit_options import limits
from ._handles import columns_of, recorded_model
from ._many_data import chosen, differs, values_of
from .recording import NOT_FINITE, guarded, record

_CHECKED = 64  # so many answers are compared with the function itself
_CHECKED_X = 10_000  # so many starts are compared if each fit has its own x
_AT_START = "its recording gives other values than the function at the start"
_AT_ANSWERS = "its recording gives other values than the function at the answers"


class Recorded:
    """Holds a recording and its columns. `doubts` says which fits need calls of the function, and why."""

    def __init__(self, function, x, data, model, columns, box):
        self.function, self.x, self.data, self.box = function, x, data, box
        self.model, self.columns = model, columns
        # A mask hides these rows, or they raise a doubt.
        self.holes = not all(_agreement.all_finite(c) for c in columns)
        shared = all(c.ndim == 1 for c in columns) and not self.holes
        self.views = columns_of(columns, []) if shared else None
        self.doubts = {}

    @classmethod
    def of(cls, function, x, data, parameters, starts, bounds, mask):
        """Return the recording, or the reason why every fit must call the function."""
        several = differs(x)
        rows = data.fits * data.rows if several else data.rows
        stand_in = guarded(chosen(x, lambda values: values.reshape(-1)))
        unusable = set()  # fits whose x gives numbers that are not finite and not hidden by a mask

        def usable(column):
            bad = ~np.isfinite(column.reshape(-1, data.rows))
            bad = np.broadcast_to(bad if mask is None else bad & ~mask, (data.fits, data.rows))
            unusable.update(np.flatnonzero(bad.any(axis=1)).tolist())
            return 2 * len(unusable) < data.fits

        first = starts if starts.ndim == 1 else starts[0]
        recording = record(
            lambda *p: function(stand_in, *p), len(parameters), rows, usable=usable, start=np.array(first)
        )
        if isinstance(recording, str):
            return recording
        columns = [c.reshape(data.fits, data.rows) if several else c for c in recording.columns]
        try:
            model = recorded_model(recording, parameters)
        except ValueError as error:
            return f"the library does not take its tape ({error})"
        recorded = cls(function, x, data, model, columns, limits(bounds, parameters))
        recorded.doubts.update((fit, NOT_FINITE) for fit in sorted(unusable))
        return recorded._compare_at_start(first, several) or recorded

    def _compare_at_start(self, first, several):
        """Return why every fit must call the function, or "" if the recording serves most of them.

        If each fit has its own x, many fits are compared, since the function may divide by the sum or maximum
        of x.
        """
        some = self._trusted(_CHECKED_X if several else 1)
        wrong = [fit for fit in some if not self._same(fit, first)]
        self.doubts.update((fit, _AT_START) for fit in wrong)
        if 2 * len(wrong) >= len(some):
            return _AT_START
        same = self._same_beside(next(fit for fit in some if fit not in self.doubts), first)
        if same is None:
            return "the function fails beside the start"
        return "" if same else "its recording gives other values than the function beside the start"

    def compare_at_answers(self, answers):
        """Adds doubts about answers (fits x parameters).

        Some answers are compared, and all once there is a doubt. A recording that is wrong for one fit may be
        right at the answer of another, and at that point alone. So all are then compared beside their
        answers, too.
        """
        if not self._wrong():
            self._doubt(self._trusted(_CHECKED), answers, self._same)
        if self._wrong():
            self._doubt(range(self.data.fits), answers, self._same_around)

    def _wrong(self):
        """Return True if the recording was found to be wrong for some fit."""
        return any(why is not NOT_FINITE for why in self.doubts.values())

    def _trusted(self, most):
        """Return at most so many fits without a doubt."""
        fits = range(self.data.fits)
        if self.doubts:  # if nothing is in doubt, there may be many fits, and no list is made
            fits = [fit for fit in fits if fit not in self.doubts]
        return [fits[at] for at in _some(len(fits), most)]

    def _doubt(self, fits, answers, same):
        for fit in fits:
            if fit in self.doubts or not np.isfinite(answers[fit]).all():
                continue
            try:
                believed = same(fit, answers[fit])
            except Exception:  # the function may fail at the answer of a fit that would not get there by calls
                believed = False
            if not believed:
                self.doubts[fit] = _AT_ANSWERS

    def _same_around(self, fit, p):
        return self._same(fit, p) and self._same_beside(fit, p) is True

    def _same_beside(self, fit, p):
        """Return True if both give the same beside p, or None if the function fails there."""
        for share in (0.1, 1e-4):
            try:
                return self._same(fit, _agreement.perturbed(p, *self.box, share))
            except Exception:  # the function may refuse a point that no one asked for
                continue
        return None

    def _same(self, fit, p):
        """Return True if recording and function give the same for the x of a fit."""
        own = chosen(self.x, lambda values: values[fit])
        called, single = values_of(self.function, own, p, self.data.rows)
        columns = [c if c.ndim == 1 else c[fit] for c in self.columns]
        if self.holes:
            whole = np.logical_and.reduce([np.isfinite(c) for c in columns])
            columns, called = [c[whole] for c in columns], called[whole]
        return self.model.agrees(columns, p, called, single, self.views)


def _some(fits, most):
    return np.unique(np.linspace(0, fits - 1, min(most, fits)).astype(int)).tolist()
