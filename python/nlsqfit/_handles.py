"""Python objects that own the library's handles. Each frees its handle at its end."""

from __future__ import annotations

from collections import OrderedDict
from ctypes import addressof, byref, c_char, c_char_p, c_double, c_int, c_size_t, c_void_p
from functools import lru_cache
from threading import Lock

import numpy as np

from ._agreement import tolerances
from ._library import BatchColumn, Column, check, lib

_TYPES = {"f8": 0, "f4": 1, "i1": 2, "u1": 3, "b1": 3, "i2": 4, "u2": 5, "i4": 6, "u4": 7}


DOUBLE = np.dtype(float)


def column_of(array, keep):
    """Return the library's view of a vector. Other types become float64; `keep` holds the copy."""
    array = np.asarray(array)
    code = 0 if array.dtype is DOUBLE else _TYPES.get(array.dtype.str[1:]) if array.dtype.isnative else None
    if code is None:
        array, code = np.asarray(array, dtype=float), 0
    keep.append(array)
    stride = array.strides[0] if array.ndim else 0
    return Column(place_of(array), code, stride, array.size)


def place_of(array):
    """Return the address of an array's numbers. A buffer gives it in a fifth of the time that NumPy takes."""
    try:
        return addressof(c_char.from_buffer(array))
    except (TypeError, ValueError):  # it is read-only or empty, or it has gaps
        return array.__array_interface__["data"][0]


def same_numbers(a, b):
    """Return True if two arrays are the same numbers in memory. False may be wrong."""
    return a.size == b.size and a.strides == b.strides and place_of(a) == place_of(b)


doubles_type = lru_cache(maxsize=64)(c_double.__mul__)  # the type of `count` doubles


def new_doubles(count):
    """Return a new vector, and its memory in the form that the library's functions take."""
    if count > 4096:  # ctypes would first fill the memory with zeros
        values = np.empty(count)
        return values, place_of(values)
    memory = doubles_type(count)()
    return np.frombuffer(memory), memory


def address_of(values):
    """Return a pointer to a vector of float64 for the library, or a copy of it where that is faster."""
    return values.tobytes() if values.size <= 1024 else place_of(values)


def columns_of(arrays, keep):
    return (Column * max(1, len(arrays)))(*[column_of(a, keep) for a in arrays])


def batch_column_of(array, keep):
    """Return the library's view of a matrix with a fit in each row, or of a vector that all fits share."""
    array = np.asarray(array)
    code = _TYPES.get(array.dtype.str[1:]) if array.dtype.isnative else None
    if code is None:
        array, code = np.asarray(array, dtype=float), 0
    keep.append(array)
    fit_stride = array.strides[0] if array.ndim == 2 else 0
    return BatchColumn(Column(array.ctypes.data, code, array.strides[-1], array.shape[-1]), fit_stride)


def doubles(values):
    return np.ascontiguousarray(values, dtype=float)


class _Owner:
    """Owns one handle of the library."""

    _free = None

    def __init__(self, handle):
        self.handle = handle
        self.keep = []  # Python objects that the library points to

    def __del__(self):
        handle, self.handle = getattr(self, "handle", None), None
        if handle is not None and self._free is not None:
            self._free(handle)


class Options(_Owner):
    """Owns an nlsq_options, whose options have the names of the command line."""

    _free = lib.nlsq_options_free

    def __init__(self, **values):
        handle = c_void_p()
        check(lib.nlsq_options_new(byref(handle)))
        super().__init__(handle)
        self.given = []  # what was set, in order: the method, the name and the value
        for name, value in values.items():
            self.set(name, value)

    def __reduce__(self):
        return _options_again, (self.given,)

    def set(self, name, value):
        """Sets an option to a number, a text, True or False. None leaves its default."""
        if value is None:
            return
        self.given.append(("set", name, value))
        if isinstance(value, (bool, np.bool_)):
            value = "yes" if value else "no"
        if isinstance(value, str):
            check(lib.nlsq_options_set(self.handle, name.encode(), value.encode()))
        else:
            check(lib.nlsq_options_set_number(self.handle, name.encode(), float(value)))

    def set_array(self, name, values):
        values = doubles(values)
        self.given.append(("set_array", name, values))
        check(lib.nlsq_options_set_array(self.handle, name.encode(), values.ctypes.data, values.size))

    def set_column(self, name, values):
        self.given.append(("set_column", name, values))
        column = column_of(values, self.keep)
        check(lib.nlsq_options_set_column(self.handle, name.encode(), byref(column)))

    def set_matrix(self, name, values):
        values = doubles(values)
        self.given.append(("set_matrix", name, values))
        check(lib.nlsq_options_set_matrix(self.handle, name.encode(), values.ctypes.data, len(values)))

    def set_progress(self, function):
        self.keep.append(function)
        check(lib.nlsq_options_set_progress(self.handle, function, None))


def _options_again(given):
    options = Options()
    for method, name, value in given:
        getattr(options, method)(name, value)
    return options


def _texts(values):
    return None if values is None else (c_char_p * len(values))(*[v.encode() for v in values])


class Model(_Owner):
    """Owns an nlsq_model, which is a formula, a tape or a callback."""

    _free = lib.nlsq_model_free

    @classmethod
    def from_text(cls, text, names=None, predictors=1):
        handle = c_void_p()
        check(lib.nlsq_model_text(text.encode(), _texts(names), predictors, byref(handle)))
        return cls(handle)

    @classmethod
    def from_callback(cls, function, has_jacobian, parameters, names=None):
        handle = c_void_p()
        check(
            lib.nlsq_model_callback(
                function, None, int(has_jacobian), parameters, _texts(names), byref(handle)
            )
        )
        model = cls(handle)
        model.keep.append(function)
        return model

    @property
    def names(self):
        count, predictors = c_size_t(), c_size_t()
        check(lib.nlsq_model_size(self.handle, byref(count), byref(predictors)))
        return [lib.nlsq_model_parameter(self.handle, i).decode() for i in range(count.value)]

    @property
    def formula(self):
        return lib.nlsq_model_formula(self.handle).decode()

    def evaluate(self, columns, rows, p, jacobian=False, views=None):
        """Return values, and the Jacobian (rows x parameters) if asked for. `views` are those of `columns`."""
        keep, p = [], doubles(p)
        if views is None:
            views = columns_of(columns, keep)
        values, memory = new_doubles(rows)
        J, J_memory = new_doubles(rows * p.size) if jacobian else (None, None)
        status = lib.nlsq_model_evaluate(
            self.handle, views, len(columns), rows, p.tobytes(), None, memory, J_memory
        )
        check(status)
        return (values, J.reshape(rows, p.size)) if jacobian else values


    def agrees(self, columns, p, called, single=False, views=None):
        """Return True if the model gives the values that a function gave at p, except for rounding."""
        keep, called = [], doubles(called)
        if views is None:
            views = columns_of(columns, keep)
        answer = c_int()
        check(
            lib.nlsq_model_agrees(
                self.handle, views, len(columns), called.size, doubles(p).tobytes(),
                address_of(called), *tolerances(single), byref(answer),
            )
        )  # fmt: skip
        return answer.value != 0


def make_tape(entries, outputs):
    """Return an nlsq_tape, which the caller frees."""
    tape, node = c_void_p(), c_int()
    numbers = []  # the numbers of the entries in the library, which makes several entries of one `mod`
    check(lib.nlsq_tape_new(byref(tape)))
    try:
        for entry in entries:
            name = entry[0]
            if name == "constant":
                check(lib.nlsq_tape_constant(tape, entry[1], byref(node)))
            elif name == "column":
                check(lib.nlsq_tape_column(tape, entry[1], byref(node)))
            elif name == "parameter":
                check(lib.nlsq_tape_parameter(tape, entry[1], byref(node)))
            else:
                operands = (c_int * (len(entry) - 1))(*[numbers[at] for at in entry[1:]])
                check(lib.nlsq_tape_operation(tape, name.encode(), operands, len(operands), byref(node)))
            numbers.append(node.value)
        for output in outputs:
            check(lib.nlsq_tape_output(tape, numbers[output]))
    except BaseException:
        lib.nlsq_tape_free(tape)
        raise
    return tape


_compiled: OrderedDict = OrderedDict()  # the models of recordings that were used last
_lock = Lock()
_MOST_COMPILED = 64


def recorded_model(recording, names=None):
    """Return the compiled model of a recording. Recordings that are alike share it."""
    key = (recording.key(), None if names is None else tuple(names))
    with _lock:
        model = _compiled.get(key)
        if model is not None:
            _compiled.move_to_end(key)
            return model
    tape, handle = make_tape(recording.entries, [recording.result]), c_void_p()
    try:
        check(
            lib.nlsq_model_tape(
                tape, len(recording.columns), recording.parameters, _texts(names), byref(handle)
            )
        )
    finally:
        lib.nlsq_tape_free(tape)
    model = Model(handle)
    with _lock:
        _compiled[key] = model
        while len(_compiled) > _MOST_COMPILED:
            _compiled.popitem(last=False)
    return model


class Result(_Owner):
    """Owns an nlsq_result, which holds numbers, texts and arrays by name."""

    _free = lib.nlsq_result_free
    note = ""  # this is added to the message of a fit without success

    def number(self, name):
        value = c_double()
        check(lib.nlsq_result_number(self.handle, name.encode(), byref(value)))
        return value.value

    def values(self, names, count):
        """Return `count` numbers in one call. `names` are numbers and arrays, separated by spaces."""
        values, memory = new_doubles(count)
        check(lib.nlsq_result_values(self.handle, names.encode(), memory, count))
        return values

    def text(self, name):
        value = c_char_p()
        check(lib.nlsq_result_text(self.handle, name.encode(), byref(value)))
        text = value.value.decode()
        return text + self.note if name == "message" and self.note and not self.number("success") else text

    def array(self, name):
        """Return a vector or matrix. A long one lies in the library's memory and keeps this result alive."""
        data, rows, columns = c_void_p(), c_size_t(), c_size_t()
        check(lib.nlsq_result_array(self.handle, name.encode(), byref(data), byref(rows), byref(columns)))
        rows, columns = rows.value, columns.value
        if rows * columns == 0:
            return np.empty((rows,) if columns == 1 else (rows, columns))
        memory = doubles_type(rows * columns).from_address(data.value)
        made = np.frombuffer(memory)
        if made.size > 4096:  # a copy would take new memory, page by page
            memory.owner = self
        else:
            made = made.copy()
        return made if columns == 1 else made.reshape(rows, columns)

    def square(self, name):
        """Return a copy of an n x n array as a matrix, also if n is 1."""
        values = self.array(name)
        return values if values.ndim == 2 else values.reshape(1, 1)

    def json(self):
        return lib.nlsq_result_json(self.handle).decode()

    def report(self):
        return lib.nlsq_result_report(self.handle).decode()
