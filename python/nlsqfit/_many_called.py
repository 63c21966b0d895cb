"""`fit_many` with a function that is not recorded: it is called, for one fit after the other."""

from __future__ import annotations

import numpy as np

from ._curve import Curve
from ._fit_options import limits, make_options
from ._many_data import VERDICTS, chosen, values_of


def one_by_one(function, x, data, names, starts, sigma, mask, solver, given, reason, fits):
    """The arrays of a `ManyFits` for these fits, and their warnings. `given`: what `make_options` takes by name.

    A fit whose data are wrong is FAILED, and the others go on.
    """
    count, n = len(fits), len(names)
    first = np.array(np.broadcast_to(starts, (data.fits, n))[fits])
    found = dict(parameters=first, std_errors=np.full((count, n), np.nan),
                 cost=np.full(count, np.nan), success=np.zeros(count, bool),
                 _verdicts=np.full(count, VERDICTS.index("FAILED")), iterations=np.zeros(count, int))  # fmt: skip
    lower, upper = limits(given["bounds"], names)
    if not given["fixed"] and np.any((starts < lower) | (starts > upper)):
        raise ValueError("p0 is outside the bounds: start within them")
    sigma = None if sigma is None else data.spread(sigma, "sigma")
    options = make_options(names, solver, **given)
    warnings = []
    raised = []  # by the function itself: such an exception is the user's
    for at, fit in enumerate(fits):
        rows = slice(None) if mask is None else ~(mask if mask.ndim == 1 else mask[fit])
        y = np.asarray(data.Y[fit], dtype=float)[rows]
        own = chosen(x, lambda values, fit=fit: values[fit])

        def call(*p, own=own, rows=rows):
            try:
                return values_of(function, own, p, data.rows)[0][rows]
            except ValueError as error:
                raised.append(error)
                raise

        if sigma is not None:
            row = sigma if sigma.ndim == 1 else sigma[fit]
            options.set_column("sigma", np.ascontiguousarray(row[rows]))
        curve = Curve(call, None, y, n, names=names)
        curve.prepare(None, None, None, recordable=reason)
        try:
            result = curve.fit(starts if starts.ndim == 1 else starts[fit], options)
        except ValueError as error:
            if any(error is e for e in raised):
                raise
            warnings.append(f"fit {fit}: {error}")
            continue
        for name in ("parameters", "std_errors"):
            found[name][at] = result.array(name)
        found["cost"][at], found["success"][at] = result.number("cost"), result.number("success") != 0
        found["_verdicts"][at] = VERDICTS.index(result.text("verdict"))
        found["iterations"][at] = int(result.number("iterations"))
    return found, warnings
