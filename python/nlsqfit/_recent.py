"""Keeps the recordings that were used last, for programs that fit one function many times.

Before a recording from here is used, it is compared with the function like a new one. If a function could not
be recorded, the reason is kept instead. The function is then called, which is right for any function.
"""

from __future__ import annotations

from collections import OrderedDict
from ctypes import PyDLL, c_char_p, c_int, c_size_t, c_void_p
from threading import Lock

import numpy as np

from ._handles import place_of

_MOST = 16
_MOST_ROWS = 20_000  # fits of longer data take far longer than recording
_known: OrderedDict = OrderedDict()
_lock = Lock()


def find(source, rows, parameters):
    """Return what was stored for this function and these data, or None."""
    if source is None or not _fits(source, rows):
        return None
    function, x = source
    with _lock:
        found = _known.get((id(function), rows, parameters))
        if found is None or found[0] is not function or found[1] != x.shape or not _holds(x, found[2]):
            return None
        return found[3]


_compare = PyDLL(None).memcmp
_compare.argtypes, _compare.restype = [c_void_p, c_char_p, c_size_t], c_int


def _holds(x, numbers):
    """Return True if an array consists of these bytes. A long contiguous array is compared without a copy."""
    if x.nbytes < 8192 or not x.flags.c_contiguous:
        return x.tobytes() == numbers
    return x.nbytes == len(numbers) and _compare(place_of(x), numbers, len(numbers)) == 0


def store(source, rows, parameters, value):
    """Stores a recording of ``source = (function, x)``."""
    if source is None or not _fits(source, rows):
        return
    function, x = source
    with _lock:
        _known[(id(function), rows, parameters)] = (function, x.shape, x.tobytes(), value)
        while len(_known) > _MOST:
            _known.popitem(last=False)


def _fits(source, rows):
    return rows <= _MOST_ROWS and isinstance(source[1], np.ndarray) and source[1].dtype == np.float64
