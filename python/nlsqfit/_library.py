"""Loads the shared library `libnlsq.so` and declares its C functions (``nlsq/nlsq.h``) by ctypes.

The lock of the interpreter (GIL) is released while a C function runs.
"""

from __future__ import annotations

import ctypes
import os
from ctypes import POINTER, byref, c_char_p, c_double, c_int, c_size_t, c_ssize_t, c_void_p
from pathlib import Path

OK, ARGUMENT, HANDLE, MODEL, OPTION, DATA, CALLBACK, RECHECK, MEMORY, INTERNAL = range(10)

# int f(const double* p, double* y, double* jacobian, void* user); pointers arrive as numbers, NULL as None
Function = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_void_p)
# int f(const double* const* blocks, double* residuals, double* const* jacobians, void* user)
BlockFunction = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_void_p)
# int f(size_t step, size_t total, double cost, double distance, void* user)
Progress = ctypes.CFUNCTYPE(c_int, c_size_t, c_size_t, c_double, c_double, c_void_p)


class Column(ctypes.Structure):
    """Mirrors nlsq_column, a column of numbers in NumPy's memory."""

    _fields_ = [("data", c_void_p), ("type", c_int), ("stride", c_ssize_t), ("count", c_size_t)]


class BatchColumn(ctypes.Structure):
    """Mirrors nlsq_batch_column, which has a column for each of many fits."""

    _fields_ = [("column", Column), ("fit_stride", c_ssize_t)]


class LibraryError(RuntimeError):
    """Raised for an error of the library that is not the caller's mistake."""


def _path():
    given = os.environ.get("NLSQ_LIBRARY")
    inside = Path(__file__).parent / "libnlsq.so"
    if given:
        return given
    if inside.exists():
        return str(inside)
    raise ImportError(
        f"{inside} does not exist: install the package with pip, or set NLSQ_LIBRARY to the path of libnlsq.so"
    )


def _signatures():
    handle, out = c_void_p, POINTER(c_void_p)
    doubles, columns, batch = c_void_p, POINTER(Column), POINTER(BatchColumn)
    sizes = POINTER(c_size_t)
    return {
        "nlsq_last_error_number": [c_char_p, POINTER(c_double)],
        "nlsq_options_new": [out],
        "nlsq_options_set": [handle, c_char_p, c_char_p],
        "nlsq_options_set_number": [handle, c_char_p, c_double],
        "nlsq_options_set_array": [handle, c_char_p, doubles, c_size_t],
        "nlsq_options_set_column": [handle, c_char_p, columns],
        "nlsq_options_set_matrix": [handle, c_char_p, doubles, c_size_t],
        "nlsq_options_set_progress": [handle, Progress, c_void_p],
        "nlsq_options_cancel": [handle],
        "nlsq_options_reset_cancel": [handle],
        "nlsq_options_free": [handle],
        "nlsq_model_text": [c_char_p, POINTER(c_char_p), c_size_t, out],
        "nlsq_tape_new": [out],
        "nlsq_tape_free": [handle],
        "nlsq_tape_constant": [handle, c_double, POINTER(c_int)],
        "nlsq_tape_column": [handle, c_size_t, POINTER(c_int)],
        "nlsq_tape_parameter": [handle, c_size_t, POINTER(c_int)],
        "nlsq_tape_operation": [handle, c_char_p, POINTER(c_int), c_size_t, POINTER(c_int)],
        "nlsq_tape_output": [handle, c_int],
        "nlsq_model_tape": [handle, c_size_t, c_size_t, POINTER(c_char_p), out],
        "nlsq_model_callback": [Function, c_void_p, c_int, c_size_t, POINTER(c_char_p), out],
        "nlsq_model_free": [handle],
        "nlsq_model_size": [handle, sizes, sizes],
        "nlsq_model_fit": [handle, columns, c_size_t, columns, doubles, handle, out],
        "nlsq_model_guess": [handle, columns, c_size_t, columns, doubles],
        "nlsq_model_evaluate": [handle, columns, c_size_t, c_size_t, doubles, handle, doubles, doubles],
        "nlsq_model_differentiate": [handle, c_size_t, doubles, handle, doubles, doubles, POINTER(c_double)],
        "nlsq_model_agrees": [
            handle, columns, c_size_t, c_size_t, doubles, doubles, c_double, c_double, POINTER(c_int),
        ],
        "nlsq_model_predict": [handle, columns, c_size_t, handle, handle, out],
        "nlsq_model_profile_intervals": [
            handle, columns, c_size_t, columns, handle, c_char_p, c_double, handle, out,
        ],
        "nlsq_model_bootstrap": [
            handle, columns, c_size_t, columns, handle, c_int, c_size_t, c_char_p, c_char_p, c_double, handle, out,
        ],
        "nlsq_result_derive": [handle, c_char_p, c_double, out],
        "nlsq_model_fit_batch": [
            handle, batch, c_size_t, batch, batch, batch, c_size_t, doubles, c_size_t, handle, out,
        ],
        "nlsq_least_squares": [Function, c_void_p, c_int, c_size_t, doubles, c_size_t, handle, out],
        "nlsq_model_sums": [handle, columns, c_size_t, columns, doubles, handle, doubles],
        "nlsq_solve_sums": [doubles, doubles, c_size_t, c_size_t, handle, doubles, out],
        "nlsq_result_free": [handle],
        "nlsq_result_number": [handle, c_char_p, POINTER(c_double)],
        "nlsq_result_values": [handle, c_char_p, doubles, c_size_t],
        "nlsq_result_text": [handle, c_char_p, POINTER(c_char_p)],
        "nlsq_result_array": [handle, c_char_p, POINTER(c_void_p), sizes, sizes],
        "nlsq_problem_new": [out],
        "nlsq_problem_free": [handle],
        "nlsq_problem_add_parameters": [handle, c_void_p, c_size_t],
        "nlsq_problem_set_manifold": [handle, c_void_p, c_char_p],
        "nlsq_problem_set_constant": [handle, c_void_p, c_int],
        "nlsq_problem_set_bounds": [handle, c_void_p, doubles, doubles],
        "nlsq_problem_add_tape": [
            handle, handle, columns, c_size_t, c_size_t, c_char_p, c_double, c_void_p, c_size_t,
        ],
        "nlsq_problem_add_callback": [
            handle, BlockFunction, c_void_p, c_int, c_size_t, c_char_p, c_double, c_void_p, c_size_t,
        ],
        "nlsq_problem_evaluate": [handle, POINTER(c_double), doubles, c_size_t],
        "nlsq_problem_solve": [handle, handle, out],
    }  # fmt: skip


def _load():
    library = ctypes.CDLL(_path())
    for name, arguments in _signatures().items():
        function = getattr(library, name)
        function.argtypes, function.restype = arguments, c_int
    for name, arguments in {
        "nlsq_last_error": [],
        "nlsq_version": [],
        "nlsq_build_information": [],
        "nlsq_model_parameter": [c_void_p, c_size_t],
        "nlsq_model_formula": [c_void_p],
        "nlsq_builtin_models_json": [],
        "nlsq_result_json": [c_void_p],
        "nlsq_result_report": [c_void_p],
    }.items():
        function = getattr(library, name)
        function.argtypes, function.restype = arguments, c_char_p
    library.nlsq_sums_size.argtypes, library.nlsq_sums_size.restype = [c_size_t], c_size_t
    library.nlsq_live_handles.argtypes, library.nlsq_live_handles.restype = [], c_size_t
    return library


lib = _load()


def last_error():
    """Return the text of the last error of this thread."""
    return lib.nlsq_last_error().decode("utf-8", "replace")


def error_number(name):
    """Return a number that belongs to the last error ("row", "callback" ...), or None."""
    value = c_double()
    return value.value if lib.nlsq_last_error_number(name.encode(), byref(value)) == OK else None


def check(status):
    """Raises the exception that Python users expect for a status of the library."""
    if status == OK:
        return
    text = last_error()
    if status in (MODEL, OPTION, DATA, ARGUMENT):
        raise ValueError(text)
    if status == MEMORY:
        raise MemoryError(text)
    raise LibraryError(text)


def version():
    """Return the version of the library inside this package."""
    return lib.nlsq_version().decode()


def live_handles():
    """Return the number of handles that the library holds for this process."""
    return lib.nlsq_live_handles()
