"""Provides fit_many, which fits one model to each of many data sets, such as the pixels of an image."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, partial

import numpy as np

from ._callback import solve
from ._fit_options import (
    check_fixed, check_within, completed, limits, make_options, parameter_names, refuse_masked, refuse_other_kinds,
    warn_of_unit_errors,
)  # fmt: skip
from ._handles import BatchColumn, Model, batch_column_of
from ._library import Progress, lib
from ._many_called import one_by_one
from ._many_data import VERDICTS, ManyData
from ._many_recorded import Recorded


class ManyFits:
    """The results of `fit_many`. `shape` is the shape of Y without its axis of data.

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
    messages : dict
        For each fit without success, why it has none, and what would help. Keys are places in the arrays:
        ``many.messages[2]`` is about ``many.cost[2]``, and ``many.messages[2, 5]`` about ``many.cost[2, 5]``.
    warnings : list of str
        Fits with too few data, and warnings of fits with success, such as a loss whose scale is so small that
        standard errors may be far too small. Fits are counted along Y without its axis of data.
    evaluator : str
        "formula", "recorded", or why the function was called, perhaps only for some fits.
    """

    def __init__(self, names, shape, evaluator):
        self.names, self.shape, self.evaluator = names, shape, evaluator
        self.warnings = []
        self._messages = ""  # the library's text with a line for each fit without success; later a dict

    @cached_property
    def verdict(self):  # made on demand, because so many texts take time
        return np.asarray(np.array(VERDICTS)[self._verdicts])

    @cached_property
    def messages(self):  # made on demand, too
        by_number = _by_number(self._messages)
        if len(self.shape) == 1:
            return by_number
        return {tuple(map(int, np.unravel_index(n, self.shape))): why for n, why in by_number.items()}

    def __getitem__(self, name):
        """Return the values of one parameter, shape (*shape)."""
        return self.parameters[..., self.names.index(name)]

    def stderr(self, name):
        """Return the standard errors of one parameter, shape (*shape)."""
        return self.std_errors[..., self.names.index(name)]

    def __repr__(self):
        good, count = int(np.sum(self.success)), int(np.size(self.success))
        return f"<ManyFits: {good} of {count} fits certified, parameters {', '.join(self.names)}>"

    def _fill(self, arrays, warnings, messages):
        self.warnings, self._messages = warnings, messages
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
    ties=None,
    absolute_sigma=False,
    loss="linear",
    f_scale=1.0,
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
        The data: M values (along `axis`) for each fit. Values that a masked array hides are left out.
    p0 : dict or array_like, shape (n,) or (..., n), optional
        Starting values for all fits or for each. A dict has one number for all fits, or one for each fit.
        Built-in models, and formulas and recorded functions that are one, guess what is missing or NaN.
        Others start at 1; fits that end badly begin again at starts that are found in the data of some of them.
    sigma : array_like, shape (M,) or that of Y, optional
        Standard deviations, in units of Y.
    mask : array_like of bool, shape (M,), that of Y, or that of Y without `axis` (whole fits), optional
        True where a value is left out.
    bounds, fixed, ties, absolute_sigma, loss, f_scale, **solver
        As for `fit`.
    axis : int
        The axis of Y with the data of one fit.
    progress : bool
        Whether to show a bar, if tqdm is installed.

    Returns
    -------
    ManyFits
        A fit whose data are wrong is FAILED and keeps its starting values. The others go on, and `messages`
        says why it failed.

    Examples
    --------
    >>> import numpy as np, nlsqfit as nf
    >>> x = np.arange(20.0)
    >>> Y = np.exp(-0.2 * x) * np.array([1.0, 2.0, 3.0])[:, None]
    >>> many = nf.fit_many(lambda x, a, b: a * np.exp(-b * x), x, Y, p0=[1, 0.1])
    >>> print(np.round(many["a"], 6), many.success.all())
    [1. 2. 3.] True
    """
    for values, what in ((x, "x"), (sigma, "sigma")):
        refuse_masked(values, what, "hide the values of Y instead, or give mask")
    refuse_other_kinds(sigma, "sigma")
    refuse_masked(p0, "p0", "give NaN where a parameter has no start")
    warn_of_unit_errors(absolute_sigma, sigma, loss)
    given = dict(
        bounds=bounds, fixed=fixed, ties=ties, absolute_sigma=absolute_sigma, loss=loss, f_scale=f_scale
    )
    data = ManyData(Y, axis)
    mask = data.mask(mask)
    if isinstance(model, str):
        names, columns = data.columns(x)
        compiled = Model.from_text(model, names, len(columns))
        parameters, evaluator = compiled.names, "formula"
    else:
        first = p0
        if p0 is not None and not isinstance(p0, Mapping):
            first = np.atleast_1d(p0).reshape(-1, np.atleast_1d(p0).shape[-1])[0]
        parameters, x = parameter_names(model, first), data.arguments(x)
    starts, box = data.starts(p0, parameters, fixed, ties), limits(bounds, parameters)
    check_fixed(fixed, *box, parameters)
    check_within(starts, *box, parameters)
    if data.fits == 0:
        none = np.empty(0)
        arrays = dict(parameters=none, std_errors=none, cost=none, success=none.astype(bool),
                      _verdicts=none.astype(int), iterations=none.astype(int))  # fmt: skip
        return ManyFits(parameters, data.shape, "there are no fits")._fill(arrays, [], {})
    recording = None
    if not isinstance(model, str):
        numbers = completed(starts, *box)
        called = partial(one_by_one, model, x, data, parameters, numbers, sigma, mask, solver, given)
        recording = Recorded.of(model, x, data, parameters, numbers, bounds, mask)
        if isinstance(recording, str):
            found, *texts = called(recording, range(data.fits))
            return ManyFits(parameters, data.shape, "called: " + recording)._fill(found, *texts)
        compiled, columns, evaluator = recording.model, recording.columns, "recorded"
    options = make_options(parameters, solver, **given)
    result = _solve(data, compiled, columns, starts, sigma, mask, options, progress)
    n = len(parameters)
    found = dict(
        parameters=result.array("parameters").reshape(-1, n),
        std_errors=result.array("std_errors").reshape(-1, n),
        cost=result.array("cost"), success=result.array("success") != 0,
        _verdicts=result.array("verdict").astype(int), iterations=result.array("iterations").astype(int),
    )  # fmt: skip
    warnings = result.text("warnings").split("\n") if result.text("warnings") else []
    messages = "" if found["success"].all() else result.text("messages")
    if recording is not None:
        recording.compare_at_answers(found["parameters"])
        if recording.doubts:
            fits, why = sorted(recording.doubts), next(iter(recording.doubts.values()))
            again, more, others = called(why, fits)
            for name, values in again.items():
                found[name][fits] = values
            earlier = tuple(f"fit {fit}:" for fit in fits)
            warnings = [w for w in warnings if not w.startswith(earlier)] + more
            believed = {n: why for n, why in _by_number(messages).items() if n not in recording.doubts}
            messages = believed | others
            evaluator = f"recorded, but called for {len(fits)} of {data.fits} fits: {why}"
    return ManyFits(parameters, data.shape, evaluator)._fill(found, warnings, messages)


def _by_number(messages):
    """Return the library's lines "fit 3: ..." as a dict."""
    if isinstance(messages, dict):
        return messages
    pairs = (line.partition(": ") for line in messages.split("\n") if line)
    return {int(fit.removeprefix("fit ")): text for fit, _, text in pairs}


def _solve(data, model, columns, starts, sigma, mask, options, progress):
    keep = []
    Y = data.Y
    x = (BatchColumn * max(1, len(columns)))(*[batch_column_of(c, keep) for c in columns])
    y = batch_column_of(Y, keep)
    s = None if sigma is None else batch_column_of(data.spread(sigma, "sigma"), keep)
    m = None if mask is None else batch_column_of(mask, keep)
    starts = None if starts is None else np.ascontiguousarray(starts, dtype=float)
    bar = _bar(data.fits) if progress else None
    if bar is not None:
        options.set_progress(_progress(bar))
    try:
        return solve(
            lib.nlsq_model_fit_batch, model.handle, x, len(columns), y, s, m, data.fits,
            None if starts is None else starts.ctypes.data,
            0 if starts is None else 1 if starts.ndim == 1 else data.fits,
            options=options, rows=Y.size,
        )  # fmt: skip
    finally:
        if bar is not None:
            bar.close()
        del keep


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
