"""The recordings that were used last, for programs that fit one function many times.

A recording that is found here is compared with the function like a new one before it is used.
"""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

import numpy as np

_MOST = 16
_MOST_ROWS = 20_000  # longer data take far longer to fit than to record
_known: OrderedDict = OrderedDict()
_lock = Lock()


def find(source, rows, parameters):
    """What was stored for this function and these data, or None."""
    if source is None or not _fits(source, rows):
        return None
    function, x = source
    with _lock:
        found = _known.get((id(function), rows, parameters))
        if found is None or found[0] is not function or found[1] != x.shape or found[2] != x.tobytes():
            return None
        return found[3]


def store(source, rows, parameters, value):
    """Keeps a recording of ``source = (function, x)``."""
    if source is None or not _fits(source, rows):
        return
    function, x = source
    with _lock:
        _known[(id(function), rows, parameters)] = (function, x.shape, x.tobytes(), value)
        while len(_known) > _MOST:
            _known.popitem(last=False)


def _fits(source, rows):
    return rows <= _MOST_ROWS and isinstance(source[1], np.ndarray) and source[1].dtype == np.float64
