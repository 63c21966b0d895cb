"""Fits a Python function to data. It is recorded if that is possible and right, and called otherwise.

`curve_fit`, `fit` and `least_squares` all use it.
"""

from __future__ import annotations

from ctypes import byref, c_double

import numpy as np

from . import _agreement
from . import _recent as recent
from ._callback import UserFunction, WrongSize, call_library, refuse_hidden, solve, takes_long
from ._handles import DOUBLE, Model, Options, column_of, columns_of, doubles, recorded_model
from ._library import lib
from ._roughness import note_on_jumps
from .recording import record

_MANY_ROWS = 50_000  # with more rows, a function that allows it is called for some of them at a time
_BLOCK = 65_536


class Curve:
    """A model of all parameters, ``call(*p)`` or ``call(p)``, with the data it is fitted to.

    Parameters
    ----------
    call : callable
        Gives `rows` values.
    stand_in : callable
        ``stand_in()`` gives a function like `call` for recording. Its data are arrays that it cannot change.
    y : (rows,) array of float64
    as_vector : bool
        Whether `call` takes all parameters as one array.
    jacobian : callable or None
        ``jacobian(p)`` gives rows x parameters, for models that are called.
    check : callable
        ``check(but)`` raises an exception if the data are wrong. A fit of many rows calls it while it runs,
        and leaves out the arrays that the library checks itself.
    predictors : list of (rows,) arrays
        Data by which the recording is to be differentiated, too. `stand_in` then gives a function of a list
        of stand-ins for them, and of all parameters.
    """

    def __init__(
        self, call, stand_in, y, parameters, as_vector=False, jacobian=None, names=None, source=None,
        check=lambda but=(): None, predictors=(),
    ):  # fmt: skip
        self.call, self.stand_in, self.y = call, stand_in, y
        self.rows, self.parameters, self.as_vector = y.size, parameters, as_vector
        self.jacobian, self.names, self.source, self.check = jacobian, names, source, check
        self.single, self.predictors = False, predictors
        self.answer = self.covariance = self.certified = self.fitted = None  # set at the end of a fit
        self.near = {}  # values that the fit took last, by their parameters (UserFunction.near)
        self.slopes = None  # derivatives at the answer by differences, if they were taken
        self.slopes_error = 0.0  # the relative error that the latest derivatives cause in standard errors
        self.calls = 0
        self.at_start = None  # what `call` gave at the start, if it was called there
        self.reason = ""  # why the model is called; "" if it is recorded
        self.model = None
        self.columns, self.views = [], None  # arrays of numbers, and the library's views of them
        self.start = None  # the point where the recording was compared first
        self.user = None
        self.meanwhile = None  # a comparison that is made while a long fit runs
        self.first_single = False
        self.whole_alone = False  # true if the function was tried for blocks of rows, and does not take them
        self.lower, self.upper = -np.inf, np.inf  # for each parameter, or one for all
        self.begin = None  # the point where the fit starts; the steps of differences are relative to it
        # The parameters whose start is not the caller's; None if all are (see _start).
        self.unstarted = None
        self.plain = False  # whether parameters are passed as Python's numbers, not as NumPy's

    def values(self, p):
        """Return what the user's function gives, as a vector of float64.

        It may be an array that the function fills again at the next call, so a caller that keeps it must copy
        it.
        """
        if self.plain:
            return self._values_of(p.tolist())
        return self._vector(self.call(np.array(p)) if self.as_vector else self.call(*p))  # it may change p

    def _values_of(self, numbers):
        """Return the same as `values` for a list of Python's numbers."""
        if self.plain:
            try:
                return self._vector(self.call(*numbers))
            except Exception:
                # NumPy's numbers can divide by 0, have a shape, and never have complex roots.
                self.plain = False
        return self.values(np.array(numbers))

    def _vector(self, result):
        self.calls += 1
        if type(result) is np.ndarray and result.dtype is DOUBLE and result.shape == (self.rows,):
            self.single = False
            return result
        if result is None:
            raise TypeError("the model gives None; it must return its values")
        refuse_hidden(result)
        result = np.asarray(result)
        self.single = result.dtype == np.float32
        if result.size != self.rows:
            if result.size != 1:
                raise WrongSize(
                    f"the model gives {result.size} values (shape {result.shape}) for {self.rows} data values"
                )
            return np.full(self.rows, result.reshape(-1)[0], dtype=float)
        if result.dtype.kind == "c":
            raise ValueError(
                "the model gives complex values; fit their real and imaginary parts side by side"
            )
        return np.asarray(result, dtype=float).reshape(-1)

    def prepare(self, p0, lower, upper, recordable=True, first=None):
        """Records the model, and compares the recording with the function at p0.

        `fit` compares them again at the answer.
        """
        if lower is not None:
            self.lower, self.upper = lower, upper
        self.begin = p0
        self.reason = "" if recordable is True else recordable
        if not self.reason:
            self.reason = self._record(p0, first)
        if self.reason:
            self.check()
            self.call_whole()

    def _record(self, p0, first):
        known = recent.find(self.source, self.rows, self.parameters)
        if type(known) is str:
            return known
        if known is not None:
            # The function, or what it reads, may have changed since. Then it is recorded again.
            self.model, self.columns, self.views = known
            first = self._first(p0, first)
            if not self._compare(p0, first):
                return ""
            first = np.array(first)
        recording = record(
            self.stand_in(), self.parameters, self.rows, self.as_vector, start=np.array(p0), predictors=self.predictors
        )  # fmt: skip
        if isinstance(recording, str):
            recent.store(self.source, self.rows, self.parameters, recording)
            return recording
        try:
            self.model = recorded_model(recording, self.names)
        except ValueError as error:
            return f"the library does not take its tape ({error})"
        self.columns = recording.columns
        self.views = columns_of(self.columns, [])
        if takes_long(self.rows):  # the fit begins while the comparison goes on
            self.meanwhile = lambda: self._compare_and_forget(p0, first)
            return ""
        reason = self._compare(p0, self._first(p0, first))
        if not reason:
            recent.store(self.source, self.rows, self.parameters, (self.model, self.columns, self.views))
        return reason

    def _first(self, p0, first):
        if first is None:
            first = self.values(p0)
            self.first_single = self.single
        self.at_start = first
        return first

    def _compare_and_forget(self, p0, first):
        """Return the same as `_compare` for many rows, without keeping the values, to save memory."""
        self.check([self.y, *self.columns])
        if first is None and self._agrees_in_blocks(p0):
            self.start, self.fitted = p0, None
            return ""
        reason = self._compare(p0, self._first(p0, first))
        self.at_start = None
        return reason

    def _compare(self, p0, first):
        """Return why the recording is not believed, or "" if it gives what the function gives at p0."""
        self.start = p0
        if not self._agrees(p0, first, self.first_single):
            return "its recording gives other values than the function at the start"
        return ""

    def _compare_at_answer(self, p):
        """Return why the recording is not believed at the answer, or "". The values become `fitted`.

        A wrong recording may be right at one point. So the answer must differ from the start in every
        parameter. If it does not, a point beside it is compared, too.
        """
        if not self._agrees_in_blocks(p):
            self.fitted = self.values(p)
            if not self._agrees(p, self.fitted, self.single):
                return "its recording gives other values than the function at the answer"
        if _agreement.elsewhere(self.start, p):
            return ""
        self.fitted = np.array(self.fitted)  # the function may fill its array again
        for share in (0.1, 1e-4):
            beside = _agreement.perturbed(p, self.lower, self.upper, share)
            if self._some_rows_agree(beside):
                return ""
            try:
                called = self.values(beside)
            except Exception:  # the function may refuse a point that no one asked for
                continue
            if not self._agrees(beside, called, self.single):
                return "its recording gives other values than the function beside the answer"
            return ""
        return "the function fails beside the answer"

    def _takes_parts(self):
        """Return True if there are many rows, and x is an array that can be divided by rows."""
        if self.source is None or self.rows <= _MANY_ROWS or not isinstance(self.source[1], np.ndarray):
            return False
        return self.source[1].shape[-1:] == (self.rows,)

    def _agrees_in_blocks(self, p):
        """Return True if the function, called for blocks of rows, agrees with the recording on every row.

        `fitted` are its values then. The arrays that it makes on the way stay in the cache, which takes up to
        a third less time. A function whose rows depend on each other, or that holds arrays of its own, fails
        or gives other values. So False only means that it must be called for all rows at once.
        """
        if not self.whole_alone and self._takes_parts():
            self.fitted = self._values_in_blocks(p)
            if self.fitted is not None and self._agrees(p, self.fitted, False):
                return True
            self.whole_alone = True
        return False

    def _values_in_blocks(self, p):
        (function, x), values = self.source, np.empty(self.rows)
        self.calls += 1
        try:
            for first in range(0, self.rows, _BLOCK):
                part = values[first : first + _BLOCK]
                made = function(x[..., first : first + _BLOCK], *p)
                if made.dtype is not DOUBLE or made.shape != part.shape:
                    return None
                part[:] = made
        except Exception:  # if the function is called for all rows, it raises again or it does not
            return None
        return values

    def _some_rows_agree(self, p):
        """Return True if both agree at another point, on a sample of the rows."""
        if not self._takes_parts():
            return False
        function, x = self.source
        sample = np.linspace(0, self.rows - 1, 4096).astype(np.intp)
        try:
            called = np.asarray(function(np.ascontiguousarray(x[..., sample]), *p))
        except Exception:
            return False
        if called.shape != sample.shape or called.dtype.kind != "f":
            return False
        return self.model.agrees([c[sample] for c in self.columns], p, called, called.dtype == np.float32)

    def _agrees(self, p, called, single):
        """Return True if the recording gives the values that the function gave at p, on every row."""
        return self.model.agrees(self.columns, p, called, single, self.views)

    def call_whole(self):
        """Uses the function itself, with derivatives by `jacobian` or by differences."""
        self.user = UserFunction(self._values_of, self.jacobian, self.rows, self.parameters)
        self.model = Model.from_callback(
            self.user.pointer, self.jacobian is not None, self.parameters, self.names
        )
        self.columns, self.views = [], None
        # A function that loops over its rows is twice as fast if it gets Python's numbers.
        self.plain = not self.as_vector

    def fit(self, p0, options):
        """Return the Result of a fit from p0, made again without the recording if that is wrong at the answer.

        `answer` holds its parameters. `fitted` holds the values there, which the function itself gives.
        """
        try:
            return self._fit_and_compare(p0, options)
        finally:
            self.release()

    def release(self):
        """Frees the model that calls the function. Otherwise the two would keep each other alive."""
        if self.user is not None:
            self.near = self.user.near
            self.user.pointer = self.user = self.model = None

    def _fit_and_compare(self, p0, options):
        result = self._fit_once(p0, options)
        if not self.reason:
            self._read(result)
            objection = self._compare_at_answer(self.answer)
            if objection:
                self._doubt(objection)
                result = self._fit_once(p0, options)
        if self.reason:
            fitted = self._fitted_by_call(result)
            if fitted is None:
                result = self._fit_once(p0, options)
                fitted = self._fitted_by_call(result)
            self.fitted = fitted
            if not self.certified and not result.note and result.text("status") == "no_progress":
                names = self.names or [f"parameter {j + 1}" for j in range(self.parameters)]
                note = note_on_jumps(self.values, self.answer, names, self.lower, self.upper)
                result.note = f". In addition, {note}" if note else ""
        return result

    def _read(self, result):
        """Reads the answer, its covariance and whether it is certified, in one call."""
        n = self.parameters
        numbers = result.values("success parameters covariance", 1 + n + n * n)
        self.certified, self.answer = numbers[0] == 1, numbers[1 : n + 1].copy()
        self.slopes = None
        self.covariance = numbers[n + 1 :].reshape(n, n)
        return self.answer

    def _fitted_by_call(self, result):
        """Return the function at the answer, or None if Python's and NumPy's numbers give other values."""
        p = self._read(result)
        last = self.user.take_last(p.tolist())  # from the library's own comparison at the answer
        if last is None:
            last = self.values(p)
        here = np.array(last)
        if not self.plain:
            return here
        self.plain = False
        called = np.array(self.values(p))
        if here.tobytes() == called.tobytes() or _agreement.agree(here, called, self.single):
            return called
        return None

    def _doubt(self, reason):
        self.reason, self.meanwhile = reason, None
        self.call_whole()

    def solve(self, function, *arguments, options, meanwhile=None, fits=1):
        """Calls a C function of the model and its data that makes about so many fits, such as ``nlsq_model_fit``.

        Returns its Result.
        """
        keep = []
        return solve(
            function, self.model.handle, self.views, len(self.columns), column_of(self.y, keep), *arguments,
            options=options, user=self.user, rows=fits * self.rows, meanwhile=meanwhile,
        )  # fmt: skip

    def _fit_once(self, p0, options):
        try:
            result = self.solve(lib.nlsq_model_fit, self._start(p0), options=options, meanwhile=self.meanwhile)
        except Exception:
            self.check()  # if the data are wrong, this raises SciPy's message
            raise
        if isinstance(result, str):
            self._doubt(result)
            return self._fit_once(p0, options)
        if self.user is not None and self.user.sizes:
            calls = "one call" if self.user.sizes == 1 else f"{self.user.sizes} calls"
            result.note = f" (steps were refused, since {calls} failed: {self.user.size_error})"
        return result

    def _start(self, p0):
        """Return the starting values for the library, with NaN where the caller gave none.

        The library judges undetermined parameters by whether they had a start. A model that is called needs
        all.
        """
        if self.unstarted is not None and not self.reason:
            p0 = np.where(self.unstarted, np.nan, p0)
        return doubles(p0).tobytes()

    def jacobian_at(self, p):
        """Return derivatives of the model at p, rows x parameters."""
        if not self.reason:
            return self.model.evaluate(self.columns, self.rows, p, jacobian=True)[1]
        if self.jacobian is not None:
            return np.array(self.jacobian(np.array(p)), dtype=float).reshape(self.rows, self.parameters)
        if self.answer is None or not np.array_equal(p, self.answer):
            return self._by_differences(p, np.array(self.values(p)))
        if self.slopes is None:
            self.slopes = self._by_differences(p, self.fitted)
        return self.slopes

    def beside(self, p, here, call):
        """Return ``call(model, user)``: numbers that the library computes from the function at p and beside it.

        The values at p are `here`. If the function raises an exception beside p, its values there count as not
        finite. The exception is raised again if that leaves numbers that are not finite.
        """
        known, failures = p.tolist(), []

        def values_at(place):
            if place == known:
                return here
            near = self.near.get(tuple(place))
            if near is not None:
                return near
            try:
                return self._values_of(place)
            except Exception as failure:
                failures.append(failure)
                return np.full(self.rows, np.nan)

        user = UserFunction(values_at, None, self.rows, self.parameters)
        model = Model.from_callback(user.pointer, False, self.parameters)
        try:
            made = call(model, user)
        finally:
            user.pointer = None  # the model and what it calls would keep each other alive
        if failures and not np.isfinite(made).all():
            raise failures[0]
        return made

    def _by_differences(self, p, here):
        """Return derivatives at p, where the values are `here`, by the differences of the library."""
        p, options = np.array(p, dtype=float), Options()
        sizes = np.abs(p if self.begin is None else self.begin)
        options.set_array("x_scale", np.where(np.isfinite(sizes) & (sizes > 0), sizes, 1.0))
        for side in ("lower", "upper"):
            options.set_array(side, np.broadcast_to(getattr(self, side), p.shape))
        error = c_double()

        def differentiate(model, user):
            values, J = np.empty(self.rows), np.empty((self.rows, self.parameters))
            call_library(
                lib.nlsq_model_differentiate, model.handle, self.rows, p.tobytes(), options.handle,
                values.ctypes.data, J.ctypes.data, byref(error), user=user,
            )  # fmt: skip
            return J

        J = self.beside(p, here, differentiate)
        self.slopes_error = error.value
        return J

    @property
    def evaluator(self):
        """Says in words how the model was evaluated."""
        if not self.reason:
            return "recorded"
        how = "jac" if self.jacobian is not None else "differences"
        return f"called, derivatives by {how}: {self.reason}"
