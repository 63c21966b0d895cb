"""The models of a `Fit`, which can be evaluated again. They are pickled by what they are made of."""

from __future__ import annotations

import json
import threading

import numpy as np

from ._callback import solve
from ._curve import Curve
from ._fit_options import function_data, named_parts, predictors
from ._handles import Model, column_of, columns_of
from ._library import lib
from .recording import guarded


def builtin_models():
    """List the built-in models, which `fit` and `fit_many` take by name, alone or in sums.

    Returns
    -------
    list of dict
        Each with `name`, `aliases`, `description`, `formula`, `predictors` (their number) and `parameters`
        (a list of `name` and `meaning`).

    Examples
    --------
    >>> import nlsqfit as nf
    >>> gaussian = next(m for m in nf.builtin_models() if m["name"] == "gaussian")
    >>> print(gaussian["formula"])
    h*exp(-(x-mu)^2/(2*sigma^2))+c
    >>> print(gaussian["parameters"][1])
    {'name': 'mu', 'meaning': 'centre (units of x)'}
    """
    return json.loads(lib.nlsq_builtin_models_json().decode())


class TextModel:
    """Holds a formula or a built-in model, with its data."""

    def __init__(self, text, x, y):
        self.text, self.x, self.y = text, x, y
        names, self.columns = predictors(x)
        count = len(self.columns)
        self.named = names is not None
        self.names = names or (["x"] if count == 1 else [f"x{k + 1}" for k in range(count)])
        self.model = Model.from_text(text, names, len(self.columns))

    def __reduce__(self):
        return TextModel, (self.text, self.x, self.y)

    def call_unless_right(self, points):
        """Does nothing and returns False, because a text is not a recording of a function."""
        return False

    def solve(self, function, *arguments, options, fits=1):
        """Calls a C function of the model and its data that makes about so many fits, such as ``nlsq_model_fit``.

        Returns its Result.
        """
        keep = []
        return solve(
            function, self.model.handle, columns_of(self.columns, keep), len(self.columns), column_of(self.y, keep),
            *arguments, options=options, rows=fits * self.y.size,
        )  # fmt: skip

    def fit(self, options, start):
        """Return the library's Result of a fit. `start` has NaN where no value is given."""
        return self.solve(lib.nlsq_model_fit, start.ctypes.data, options=options)

    def evaluate(self, at, p, jacobian):
        """Return values, and the Jacobian if asked for, at new data or (None) at the data of the fit."""
        columns = self.columns if at is None else self._columns_of(at)
        return self.model.evaluate(columns, columns[0].size, p, jacobian)

    def _columns_of(self, x):
        """Return the predictors in the order of the model. Those that have names are found by their names."""
        parts = named_parts(x)
        missing = [name for name in self.names if parts is not None and name not in parts]
        if parts is None or missing and not self.named:
            return predictors(x)[1]
        if missing:
            has = f"the predictors are {', '.join(self.names)}; x has {', '.join(map(str, parts))}"
            raise ValueError(f"x has no {', '.join(map(repr, missing))}: {has}")
        return predictors({name: parts[name] for name in self.names})[1]


def first_predictors(x, count, rows):
    """Return the first `count` predictors as vectors, and a function that gives x with others in their place.

    Predictors are x itself, its rows, or the parts of a tuple or dict.
    """
    if count == 0:
        return [], None
    if isinstance(x, np.ndarray):
        parts = [x] if x.ndim == 1 else list(x)
    else:
        parts = list(x.values()) if isinstance(x, dict) else list(x) if isinstance(x, tuple) else []
    first = [np.array(part, dtype=float) for part in parts[:count] if np.shape(part) == (rows,)]
    if len(first) < count:
        raise ValueError(f"sigma_x has errors of {count} predictors; x has {len(first)} of {rows} rows, as arrays")

    def with_symbols(symbols):
        whole = [*symbols, *map(guarded, parts[count:])]
        if isinstance(x, np.ndarray):
            return whole[0] if x.ndim == 1 else np.stack(whole)
        if isinstance(x, dict):
            return dict(zip(x, whole))
        return x._make(whole) if hasattr(x, "_make") else tuple(whole)

    return first, with_symbols


class FunctionModel:
    """Holds a function with its data. `names` are its parameters; `jac` gives its derivatives, or is None."""

    def __init__(self, function, x, y, names, jac, lower, upper, reason=None):
        self.function, self.x, self.y, self.names, self.jac = function, x, y, names, jac
        self.lower, self.upper = lower, upper
        self.reason = reason  # why it is not recorded, once that is known
        self.curve = None
        self.lock = threading.RLock()  # a curve that is called serves one thread at a time

    def __reduce__(self):
        reason = self.reason if self.curve is None else self.curve.reason
        return FunctionModel, (self.function, self.x, self.y, self.names, self.jac, self.lower, self.upper,
                               reason)  # fmt: skip

    def prepare(self, p, with_errors=0):
        """Makes the curve of the fit, to be differentiated by the first `with_errors` predictors, too."""
        self.curve = self._curve_at(self.x, self.y, p, with_errors)
        return self.curve

    def _curve_at(self, x, y, p, with_errors=0):
        function, jac = self.function, self.jac
        predictors, with_symbols = first_predictors(x, with_errors, y.size)

        def stand_in():
            if predictors:
                return lambda symbols, *p: function(with_symbols(symbols), *p)
            data = guarded(x)
            return lambda *p: function(data, *p)

        jacobian = None if jac is None else lambda p: jac(x, *p)
        curve = Curve(
            lambda *p: function(x, *p), stand_in, y, len(self.names), jacobian=jacobian, names=self.names,
            predictors=predictors,
        )  # fmt: skip
        curve.prepare(p, self.lower, self.upper, recordable=self.reason or True)
        return curve

    def fit(self, options, start, begin, unstarted, with_errors):
        """Return the library's Result of a fit.

        `start` has NaN for tied parameters without a value, `begin` a number for all. Where `unstarted` is true,
        the number is not the caller's. The first `with_errors` predictors have errors.
        """
        curve = self.prepare(begin, with_errors)
        curve.unstarted = unstarted
        if with_errors and curve.reason:
            raise ValueError("sigma_x needs a model that can be recorded; this one cannot: " + curve.reason)
        return curve.fit(start, options)

    def call_unless_right(self, points):
        """Calls the function from now on if its recording gives other values at one of these points.

        Returns True if the recording is given up.
        """
        curve = self.curve
        right = curve.reason or all(curve._agrees(p, curve.values(p), curve.single) for p in points)
        if not right:
            curve.reason = "its recording gives other values than the function at an end of an interval"
        return not right

    def solve(self, function, *arguments, options, fits=1):
        """Does the same as `TextModel.solve`. A function that is not recorded is called."""
        with self.lock:
            if self.curve.reason:
                self.curve.call_whole()
            try:
                return self.curve.solve(function, *arguments, options=options, fits=fits)
            finally:
                self.curve.release()

    def evaluate(self, at, p, jacobian):
        """Return values, and the Jacobian if asked for, at new data or (None) at the data of the fit."""
        p = np.asarray(p)
        if self.curve is None:
            self.prepare(p)
        self.reason = self.curve.reason
        used = self.curve
        if at is not None:
            at = function_data(at)
            values = np.array(self.function(at, *p), dtype=float).reshape(-1)
            if not jacobian:
                return values
            used = self._curve_at(at, values, p)
            used.begin = self.curve.begin
        values = np.array(used.values(p))
        return (values, used.jacobian_at(p)) if jacobian else values
