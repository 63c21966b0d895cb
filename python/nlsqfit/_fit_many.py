"""fit_many: one model fitted to each of many data sets, such as the pixels of an image."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from . import _agreement
from ._callback import solve
from ._curve import Curve
from ._fit_options import limits, make_options, parameter_names, predictors, start_values
from ._handles import BatchColumn, Model, batch_column_of, recorded_model
from ._library import Progress, lib
from .recording import guarded, record

VERDICTS = ("CONVERGED", "NOISE_FLOOR", "RANK_DEFICIENT", "TOLERANCE", "BUDGET", "FAILED")
_CHECKED = 64  # fits whose answers are compared with the function itself


class ManyFits:
    """The results of `fit_many`. `shape` is that of Y without its axis of data.

    Attributes
    ----------
    names : list of str
        The parameters.
    parameters, std_errors : ndarray, shape (*shape, n)
        In units of the model.
    cost : ndarray, shape (*shape)
        Half the sum of squares.
    success : ndarray of bool, shape (*shape)
        Whether the fit is certified as a minimum.
    verdict : ndarray of str, shape (*shape)
    iterations : ndarray of int, shape (*shape)
    evaluator : str
        "formula", "recorded", or why the function was called.
    """

    def __init__(self, names, shape, evaluator):
        self.names, self.shape, self.evaluator = names, shape, evaluator

    def __getitem__(self, name):
        """The values of one parameter, shape (*shape)."""
        return self.parameters[..., self.names.index(name)]

    def stderr(self, name):
        """The standard errors of one parameter, shape (*shape)."""
        return self.std_errors[..., self.names.index(name)]

    def __repr__(self):
        good, count = int(np.sum(self.success)), int(np.size(self.success))
        return f"<ManyFits: {good} of {count} fits certified, parameters {', '.join(self.names)}>"

    def _fill(self, **arrays):
        for name, values in arrays.items():
            values = np.asarray(values)
            tail = (len(self.names),) if name in ("parameters", "std_errors") else ()
            setattr(self, name, values.reshape(self.shape + tail))
        return self


def fit_many(
    model,
    x,
    Y,
    p0=None,
    *,
    sigma=None,
    mask=None,
    bounds=None,
    fixed=None,
    axis=-1,
    progress=False,
    **solver,
):
    """Fit one model to each of many data sets.

    Parameters
    ----------
    model : str or callable
        As for `fit`.
    x : array_like, shape (M,), (k, M), or that of Y; tuple or dict of such arrays
        Predictors, for all fits or for each.
    Y : array_like, shape (..., M)
        The data: M values (along `axis`) for each fit.
    p0 : dict or array_like, shape (n,) or (..., n), optional
        Starting values for all fits or for each. Built-in models guess them.
    sigma : array_like, shape (M,) or that of Y, optional
        Standard deviations, in units of Y.
    mask : array_like of bool, shape (M,) or that of Y, optional
        True where a value takes no part.
    bounds, fixed, **solver
        As for `fit`.
    axis : int
        The axis of Y with the data of one fit.
    progress : bool
        Whether to show a bar, if tqdm is installed.

    Returns
    -------
    ManyFits
        A fit whose data are wrong is FAILED and keeps its starting values; the others go on.

    Examples
    --------
    >>> import numpy as np, nlsqfit as nf
    >>> x = np.arange(20.0)
    >>> Y = np.exp(-0.2 * x) * np.array([1.0, 2.0, 3.0])[:, None]
    >>> many = nf.fit_many(lambda x, a, b: a * np.exp(-b * x), x, Y, p0=[1, 0.1])
    >>> print(np.round(many["a"], 6), many.success.all())
    [1. 2. 3.] True
    """
    Y = np.moveaxis(np.asarray(Y), axis, -1)
    shape, rows = Y.shape[:-1], Y.shape[-1]
    data = _Data(Y.reshape(-1, rows), shape, rows)
    if isinstance(model, str):
        names, columns = _columns(x, data, axis)
        compiled = Model.from_text(model, names, len(columns))
        parameters, evaluator = compiled.names, "formula"
        starts = data.starts(p0, parameters, fixed)
        # A built-in model guesses each fit's start, where none is given.
        if p0 is None:
            starts = None
        elif np.isnan(starts).any():
            starts = np.where(np.isnan(starts), 1.0, starts)
    else:
        parameters = parameter_names(
            model,
            (
                p0
                if isinstance(p0, Mapping) or p0 is None
                else np.asarray(p0).reshape(-1, np.shape(p0)[-1])[0]
            ),
        )
        starts = data.starts(p0, parameters, fixed)
        starts = np.where(np.isnan(starts), 1.0, starts)
        recording = _record(model, x, data, parameters, starts, bounds, axis)
        if isinstance(recording, str):
            return _one_by_one(
                model, x, data, parameters, starts, sigma, mask, bounds, fixed, axis, solver, recording
            )
        compiled, columns = recording
        evaluator = "recorded"
    options = make_options(parameters, solver, bounds=bounds, fixed=fixed)
    result = data.solve(compiled, columns, starts, sigma, mask, options, progress, len(parameters), axis)
    many = ManyFits(parameters, shape, evaluator)
    verdicts = result.array("verdict").reshape(-1).astype(int)
    many._fill(
        parameters=result.array("parameters"), std_errors=result.array("std_errors"),
        cost=result.array("cost"), success=result.array("success") != 0,
        verdict=np.array(VERDICTS)[verdicts], iterations=result.array("iterations").astype(int),
    )  # fmt: skip
    if evaluator == "recorded" and not _answers_agree(model, x, compiled, columns, many, data, axis):
        why = "its recording gives other values than the function at the answers"
        return _one_by_one(
            model, x, data, parameters, starts, sigma, mask, bounds, fixed, axis, solver, why
        )
    return many


class _Data:
    """Y as fits x rows, and what goes with it."""

    def __init__(self, Y, shape, rows):
        self.Y, self.shape, self.rows, self.fits = Y, shape, rows, len(Y)

    def spread(self, values, axis, what):
        """One vector for all fits, or fits x rows."""
        values = np.asarray(values)
        if values.ndim == 0:
            return np.full(self.rows, values[()])
        if values.shape == (self.rows,):
            return values
        values = np.moveaxis(values, axis, -1)
        if values.shape == self.shape:  # one for each fit
            return np.repeat(values.reshape(-1, 1), self.rows, axis=1)
        if values.shape != (*self.shape, self.rows):
            raise ValueError(
                f"{what} has shape {values.shape}; ({self.rows},) or {(*self.shape, self.rows)} is wanted"
            )
        return values.reshape(-1, self.rows)

    def starts(self, p0, names, fixed):
        """Starting values: n, or fits x n; NaN where none is given."""
        if p0 is None or isinstance(p0, Mapping):
            return start_values(p0, names, fixed)
        p0 = np.asarray(p0, dtype=float)
        if p0.ndim == 1:
            return start_values(p0, names, fixed)
        if p0.shape != (*self.shape, len(names)):
            raise ValueError(
                f"p0 has shape {p0.shape}; ({len(names)},) or {(*self.shape, len(names))} is wanted"
            )
        return p0.reshape(-1, len(names))

    def solve(self, model, columns, starts, sigma, mask, options, progress, parameters, axis):
        keep = []
        x = (BatchColumn * max(1, len(columns)))(*[batch_column_of(c, keep) for c in columns])
        y = batch_column_of(self.Y, keep)
        s = None if sigma is None else batch_column_of(self.spread(sigma, axis, "sigma"), keep)
        m = (
            None
            if mask is None
            else batch_column_of(self.spread(np.asarray(mask, bool), axis, "mask"), keep)
        )
        starts = None if starts is None else np.ascontiguousarray(starts, dtype=float)
        bar = _bar(self.fits) if progress else None
        if bar is not None:
            options.set_progress(_progress(bar))
        try:
            return solve(
                lib.nlsq_model_fit_batch, model.handle, x, len(columns), y, s, m, self.fits,
                None if starts is None else starts.ctypes.data,
                0 if starts is None else 1 if starts.ndim == 1 else self.fits,
                options=options, rows=self.Y.size,
            )  # fmt: skip
        finally:
            if bar is not None:
                bar.close()
            del keep, parameters


def _bar(total):
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm(total=total, unit="fit")


def _progress(bar):
    def step(done, _total, _cost, _distance, _user):
        bar.update(done - bar.n)
        return 0

    return Progress(step)


def _columns(x, data, axis):
    """Predictors of a formula: names, and for each a vector or fits x rows."""
    if isinstance(x, Mapping):
        return list(x), [data.spread(v, axis, f"x[{k!r}]") for k, v in x.items()]
    if isinstance(x, tuple):
        return None, [data.spread(v, axis, "x") for v in x]
    x = np.asarray(x)
    if x.ndim == 1 or x.shape == (*data.shape, data.rows):
        return None, [data.spread(x, axis, "x")]
    return None, predictors(x)[1]


def _per_fit(x, data):
    return isinstance(x, np.ndarray) and x.ndim > 1 and x.shape == (*data.shape, data.rows)


def _of_fit(x, data, fit):
    """The x of one fit."""
    return x.reshape(-1, data.rows)[fit] if _per_fit(x, data) else x


def _record(function, x, data, parameters, starts, bounds, axis):
    """The compiled model and its columns, or the reason why the function is not recorded."""
    x = np.asarray(x, dtype=float) if isinstance(x, (list, np.ndarray)) else x
    several = _per_fit(x, data)
    rows = data.fits * data.rows if several else data.rows
    stand_in = guarded(x.reshape(-1) if several else x)
    recording = record(lambda *p: function(stand_in, *p), len(parameters), rows)
    if isinstance(recording, str):
        return recording
    columns = [c.reshape(data.fits, data.rows) if several else c for c in recording.columns]
    try:
        model = recorded_model(recording, parameters)
    except ValueError as error:
        return f"the library does not take its tape ({error})"
    lower, upper = limits(bounds, parameters)
    first = starts if starts.ndim == 1 else starts[0]
    for p in (first, _agreement.perturbed(first, lower, upper)):
        if not _same(function, x, model, columns, data, 0, p):
            return "its recording gives other values than the function at the start"
    return model, columns


def _same(function, x, model, columns, data, fit, p):
    called = np.asarray(function(_of_fit(x, data, fit), *p))
    single = called.dtype == np.float32
    called = np.broadcast_to(np.asarray(called, dtype=float).reshape(-1), (data.rows,))
    recorded = model.evaluate([c if c.ndim == 1 else c[fit] for c in columns], data.rows, p)
    return _agreement.agree(recorded, called, single)


def _answers_agree(function, x, model, columns, many, data, axis):
    x = np.asarray(x, dtype=float) if isinstance(x, (list, np.ndarray)) else x
    parameters = many.parameters.reshape(-1, len(many.names))
    for fit in np.unique(np.linspace(0, data.fits - 1, min(_CHECKED, data.fits)).astype(int)):
        p = parameters[fit]
        if np.isfinite(p).all() and not _same(function, x, model, columns, data, fit, p):
            return False
    return True


def _one_by_one(function, x, data, parameters, starts, sigma, mask, bounds, fixed, axis, solver, reason):
    """Fits of a function that is called, one after the other."""
    count, n = data.fits, len(parameters)
    found = dict(parameters=np.full((count, n), np.nan), std_errors=np.full((count, n), np.nan),
                 cost=np.full(count, np.nan), success=np.zeros(count, bool),
                 verdict=np.full(count, "FAILED", dtype="<U14"), iterations=np.zeros(count, int))  # fmt: skip
    x = np.asarray(x, dtype=float) if isinstance(x, (list, np.ndarray)) else x
    sigma = None if sigma is None else data.spread(sigma, axis, "sigma")
    mask = None if mask is None else data.spread(np.asarray(mask, bool), axis, "mask")
    options = make_options(parameters, solver, bounds=bounds, fixed=fixed)
    for fit in range(count):
        rows = slice(None) if mask is None else ~(mask if mask.ndim == 1 else mask[fit])
        y, own = np.asarray(data.Y[fit], dtype=float)[rows], _of_fit(x, data, fit)
        if sigma is not None:
            options.set_column(
                "sigma", np.ascontiguousarray((sigma if sigma.ndim == 1 else sigma[fit])[rows])
            )
        curve = Curve(
            lambda *p, own=own, rows=rows: np.broadcast_to(function(own, *p), (data.rows,))[rows], None, y, n,
            names=parameters,
        )  # fmt: skip
        curve.prepare(None, None, None, recordable=reason)
        try:
            result = curve.fit(starts if starts.ndim == 1 else starts[fit], options)
        except ValueError:  # data that are wrong: this fit is FAILED, and the others go on
            curve.user.raise_error()
            continue
        for name in ("parameters", "std_errors"):
            found[name][fit] = result.array(name)
        found["cost"][fit], found["success"][fit] = result.number("cost"), result.number("success") != 0
        found["verdict"][fit] = result.text("verdict")
        found["iterations"][fit] = int(result.number("iterations"))
    return ManyFits(parameters, data.shape, "called: " + reason)._fill(**found)
