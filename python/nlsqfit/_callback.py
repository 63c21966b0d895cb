"""Handles calls between Python and the library: the user's functions, their exceptions, and Ctrl-C."""

from __future__ import annotations

import signal
import threading
from ctypes import byref, c_void_p

import numpy as np

try:  # in the module `signal` these take ten times as long, because they return enumerations
    from _signal import getsignal, signal as set_signal
except ImportError:
    from signal import getsignal, signal as set_signal

from ._handles import Options, Result, doubles_type
from ._library import CALLBACK, DATA, OK, Function, lib

# Fits of at most so many rows take too little time for a person to notice.
_ROWS_WORTH_A_THREAD = 50_000
_MOST_PLACES = 64
_NUMBERS_KEPT = 100_000  # Values beside the answer are kept up to so many numbers for each point.
_INTERRUPT = int(signal.SIGINT)


def vector_at(address, count):
    """Return a NumPy view of `count` doubles in the library's memory."""
    return np.frombuffer(doubles_type(count).from_address(address))


class Interrupts:
    """Makes Ctrl-C take effect only inside the user's functions while C code calls Python.

    C would lose an exception that comes between them. So a signal that comes there is kept until the next
    call or the end of the work. Use it as a context around the C call.
    """

    def __init__(self):
        self.inside = self.pending = False
        self.before = None

    def _came(self, number, frame):
        if self.inside:
            self.before(number, frame)
        else:
            self.pending = True

    def __enter__(self):
        before = getsignal(_INTERRUPT)
        if callable(before) and threading.current_thread() is threading.main_thread():
            self.before = before
            set_signal(_INTERRUPT, self._came)
        return self

    def __exit__(self, *_):
        if self.before is not None:
            set_signal(_INTERRUPT, self.before)
            self.before = None
        if self.pending:
            self.pending = False
            raise KeyboardInterrupt

    def call(self, function, *arguments):
        """Calls a function of the user's. Returns its exception, or None."""
        if self.pending:
            return KeyboardInterrupt()
        try:
            try:
                self.inside = True
                function(*arguments)
            finally:
                self.inside = False
        except BaseException as error:  # it must not pass through C; `solve` raises it again
            return error
        return None


def ends_all(error):
    """Return True if this exception must end all work, as Ctrl-C does, and is not about one call only."""
    return error is not None and not isinstance(error, Exception)


# The texts of ValueErrors of Python's math begin like this. All but the first are those of Python 3.14 and
# later.
_OUTSIDE_DOMAIN = (
    "math domain error", "expected a nonnegative input", "expected a positive input", "expected a finite input",
    "expected a number between", "expected a noninteger",
)  # fmt: skip


def is_of_arithmetic(error):
    """Return True if Python raised this exception where NumPy would give a number that is not finite.

    ``math.exp(1000)`` raises OverflowError, ``1 / 0.0`` ZeroDivisionError, and ``math.sqrt(-1)`` ValueError.
    """
    if isinstance(error, ArithmeticError):
        return True
    return type(error) is ValueError and str(error).startswith(_OUTSIDE_DOMAIN)


class WrongSize(ValueError):
    """Raised where a function gives a wrong number of values, or hides some of them."""


def refuse_hidden(values):
    """Raises WrongSize for a masked array that hides some of its values, which are then arbitrary."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise WrongSize(
            f"the function gives a masked array that hides {np.ma.count_masked(values)} of {values.size} values: "
            "leave them out, in the data, too"
        )


def is_of_size(error):
    """Return True if this exception is about arrays whose sizes do not fit.

    An integrator that gives up early returns fewer values than it was asked for. A function that subtracts
    data from them raises NumPy's exception.
    """
    if isinstance(error, WrongSize):
        return True
    return type(error) is ValueError and str(error).startswith(
        ("operands could not be broadcast together", "could not broadcast input array")
    )


class UserFunction:
    """A Python function of all parameters, which the library calls.

    ``values(p)`` gives a vector of `rows` numbers for a list of parameters. ``jacobian(p)``, if it is not
    None, gives rows x parameters for an array. An exception is kept in `error`, stops the fit, and is raised
    again by the caller. The first call is at the start. If arithmetic fails in a later call, or a later call
    gives too few values, the values are NaN instead, so that the library makes a shorter step. `sizes` counts
    the calls with a wrong number of values, and `size_error` says what was wrong in the latest.
    """

    def __init__(self, values, jacobian, rows, parameters):
        self.values, self.jacobian = values, jacobian
        self.rows, self.parameters = rows, parameters
        self.vector = doubles_type(parameters)
        self.places = {}  # arrays by their address in the library's memory, which it uses again and again
        self.last = None  # the latest parameters, as a list, and what `values` gave for them
        # Holds what `values` gave at the latest points, by their parameters. A fit ends with points beside its
        # answer, where derivatives are wanted once more.
        self.near = {}
        self.most_near = 2 * parameters + 2 if rows * parameters <= _NUMBERS_KEPT else 0
        # With `jacobian`, these are the first parameters and the latest, with copies of the values there.
        self.known = []
        self.error = None
        self.interrupts = Interrupts()
        self.calls = self.jacobian_calls = self.sizes = 0
        self.size_error = ""
        self.pointer = Function(self._called)

    def _called(self, p, y, jacobian, _user):
        if not ends_all(self.error):  # the library may have ignored it, at a point that it only tried
            self.error = self.interrupts.call(self._fill, p, y, jacobian)
            of_size = self.error is not None and is_of_size(self.error)
            if of_size:
                self.sizes += 1
                self.size_error = str(self.error)
            refused = of_size or self.error is not None and is_of_arithmetic(self.error)
            if refused and y is not None and self.calls > 1:
                self._place(y)[:] = np.nan
                if jacobian is not None:
                    vector_at(jacobian, self.rows * self.parameters)[:] = np.nan
                self.error = None
        return 0 if self.error is None else -1

    def _fill(self, p, y, jacobian):
        parameters = self.vector.from_address(p)[:]
        self.last = None
        # The library asks for derivatives where it already knows the values, but it takes both.
        known = [values for at, values in self.known if at == parameters] if jacobian is not None else []
        if y is not None and known:
            self._place(y)[:] = known[0]
        elif y is not None:
            self.calls += 1
            made = self.values(parameters)
            self._place(y)[:] = made
            self.last = parameters, made
            if self.most_near > 0:
                self._keep_near(tuple(parameters), made)
            if self.jacobian is not None:
                self.known[1:] = [(parameters, np.array(made))]
        if jacobian is not None:
            self.jacobian_calls += 1
            self.last = None  # `jacobian` may fill the same array again
            matrix = vector_at(jacobian, self.rows * self.parameters).reshape(self.rows, self.parameters)
            matrix[:] = self.jacobian(np.array(parameters))

    def _keep_near(self, parameters, made):
        self.near.pop(parameters, None)  # so that it becomes the latest
        self.near[parameters] = np.array(made)
        if len(self.near) > self.most_near:
            del self.near[next(iter(self.near))]

    def _place(self, address):
        place = self.places.get(address)
        if place is None:
            if len(self.places) >= _MOST_PLACES:
                self.places.clear()
            place = self.places[address] = vector_at(address, self.rows)
        return place

    def take_last(self, parameters):
        """Return, only once, what the latest call of `values` gave if it was for these parameters, or None."""
        last, self.last = self.last, None
        return last[1] if last is not None and last[0] == parameters else None

    def raise_error(self):
        error, self.error = self.error, None
        if error is not None:
            raise error


def call_library(function, *arguments, user):
    """Calls a C function that calls `user`, a UserFunction, whose exceptions are raised again."""
    with user.interrupts:
        status = function(*arguments)
        text = lib.nlsq_last_error() if status != OK else b""
    raise_user_error(status, user)
    if status != OK:
        raise_status(status, text)


def raise_user_error(status, user):
    # Ctrl-C may come in a trial beside the start or the answer, whose exceptions the library leaves out.
    if status != OK or ends_all(user.error):
        user.raise_error()
    user.error = None


def takes_long(rows):
    """Return True if a fit of so many rows runs on a thread of its own."""
    return rows > _ROWS_WORTH_A_THREAD and threading.current_thread() is threading.main_thread()


def solve(function, *arguments, options: Options, user=None, rows=0, meanwhile=None):
    """Calls a C function that ends with (options, &result), and returns the Result.

    Ctrl-C stops it at once. User functions see it themselves, and long work without them runs on a thread of
    its own while this one listens. ``meanwhile()`` runs beside such work. If it returns a text other than "",
    the work is cancelled, and that text is returned. `rows` is how many rows all fits of the call have together.
    """
    handle = c_void_p()

    def work():
        status = function(*arguments, options.handle, byref(handle))
        return status, lib.nlsq_last_error() if status != OK else b""

    if user is None and takes_long(rows):
        outcome, done = [], threading.Event()

        def work_and_tell():
            try:
                outcome.append(work())
            finally:
                done.set()

        def cancel():
            lib.nlsq_options_cancel(options.handle)
            _wait_for(done)  # the work reads arrays that the caller may free afterwards
            lib.nlsq_options_reset_cancel(options.handle)
            if handle.value:
                lib.nlsq_result_free(handle)

        threading.Thread(target=work_and_tell, daemon=True).start()
        try:
            objection = meanwhile() if meanwhile is not None else ""
            if not objection:
                done.wait()
        except BaseException:
            cancel()
            raise
        if objection:
            cancel()
            return objection
        status, text = outcome[0]
    else:
        objection = meanwhile() if meanwhile is not None else ""
        if objection:
            return objection
        if user is None:
            status, text = work()
        else:
            with user.interrupts:
                status, text = work()
    if user is not None:
        raise_user_error(status, user)
    if status != OK:
        raise_status(status, text)
    return Result(handle)


def _wait_for(done):
    """Waits for work that was cancelled, also if Ctrl-C is pressed again.

    Thread.join() does not serve: after an interrupt Python takes the thread for ended, though it runs.
    """
    while not done.is_set():
        try:
            done.wait()
        except KeyboardInterrupt:
            continue


def is_of_data(error):
    """Return True if the library raised this ValueError for data that cannot be fitted, not for an option."""
    return getattr(error, "status", None) == DATA


def raise_status(status, text):
    """Raises the exception for a status whose text came from another thread."""
    from ._library import MEMORY, MODEL, OPTION, ARGUMENT, LibraryError

    message = text.decode("utf-8", "replace")
    if status in (MODEL, OPTION, DATA, ARGUMENT):
        error = ValueError(message)
        error.status = status
        raise error
    if status == MEMORY:
        raise MemoryError(message)
    if status == CALLBACK:
        raise LibraryError("a callback stopped the fit: " + message)
    raise LibraryError(message)
