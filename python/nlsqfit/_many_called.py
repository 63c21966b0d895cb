"""Calls a function that is not recorded for one fit of `fit_many` after the other."""

from __future__ import annotations

import numpy as np

from ._callback import is_of_data
from ._curve import Curve
from ._fit_options import make_options, tied_names
from ._many_data import VERDICTS, chosen, values_of


def one_by_one(function, x, data, names, starts, sigma, mask, solver, given, reason, fits):
    """Fit one data set after the other, by calling the function.

    Returns the arrays of a `ManyFits` for these fits, their warnings, and a message for each fit without
    success. `given` holds what `make_options` takes by name. A fit whose data are wrong is FAILED, and the
    others go on. Other mistakes concern all fits and are raised.
    """
    count, n = len(fits), len(names)
    first = np.array(np.broadcast_to(starts, (data.fits, n))[fits])
    found = dict(parameters=first, std_errors=np.full((count, n), np.nan),
                 cost=np.full(count, np.nan), success=np.zeros(count, bool),
                 _verdicts=np.full(count, VERDICTS.index("FAILED")), iterations=np.zeros(count, int))  # fmt: skip
    tied = [names.index(name) for name in tied_names(given["ties"]) if name in names]
    sigma = None if sigma is None else data.spread(sigma, "sigma")
    options = make_options(names, solver, **given)
    warnings, messages = [], {}
    for at, fit in enumerate(fits):
        rows = slice(None) if mask is None else ~(mask if mask.ndim == 1 else mask[fit])
        y = np.asarray(data.Y[fit], dtype=float)[rows]
        own = chosen(x, lambda values, fit=fit: values[fit])

        def call(*p, own=own, rows=rows):
            return values_of(function, own, p, data.rows)[0][rows]

        if sigma is not None:
            row = sigma if sigma.ndim == 1 else sigma[fit]
            options.set_column("sigma", np.ascontiguousarray(row[rows]))
        curve = Curve(call, None, y, n, names=names)
        curve.prepare(None, None, None, recordable=reason)
        start = np.array(starts if starts.ndim == 1 else starts[fit])
        start[tied] = np.nan  # a tied parameter follows from others and has no start of its own
        try:
            result = curve.fit(start, options)
        except ValueError as error:
            if not is_of_data(error):
                raise
            messages[fit] = _of_kept_rows(str(error), mask)
            warnings.append(f"fit {fit}: {messages[fit]}")
            continue
        for name in ("parameters", "std_errors"):
            found[name][at] = result.array(name)
        found["cost"][at], found["success"][at] = result.number("cost"), result.number("success") != 0
        found["_verdicts"][at] = VERDICTS.index(result.text("verdict"))
        found["iterations"][at] = int(result.number("iterations"))
        if not found["success"][at]:
            messages[fit] = _of_kept_rows(result.text("message"), mask)
        elif result.text("warnings"):
            warnings.append(f"fit {fit}: " + result.text("warnings").replace("\n", "; "))
    return found, warnings, messages


def _of_kept_rows(message, mask):
    """If a message names a row and a mask leaves some out, adds how rows are counted."""
    if mask is None or " row " not in message:
        return message
    return message + " (rows are counted without those that the mask leaves out)"
