"""Evaluates stand-ins that a model kept after its recording, in a list or for its next call.

The model was called with them at the start of the fit. Afterwards they are the numbers of that start.
"""

from __future__ import annotations

import numpy as np

from .lower import lower
from .nodes import NotRecordable
from .traced import Traced


def value_at_start(traced):
    """Return the number or array for which a stand-in of a finished recording stands."""
    rec, node = traced._rec, traced._node
    if rec.start is None or traced._mask is not None:
        raise TypeError("a value that was kept from the recording of a function has no numbers")
    if node.kind == "c":
        real, imaginary = (Traced(rec, rec.elementwise(part, node, kind="f")) for part in ("real", "imag"))
        return value_at_start(real) + 1j * value_at_start(imaginary)
    if node.op == "parameter":
        return np.float64(rec.start[node.data])
    value = rec.table.get(("at start", id(node)))
    if value is None:
        value = rec.table["at start", id(node)] = _evaluated(node, rec.start)
        rec.keep.append(node)
    return value.copy() if node.shape else value


def _evaluated(node, start):
    from .._handles import recorded_model
    from .record import Recording

    try:
        tape, result = lower(node, node.size)
    except NotRecordable as reason:
        raise TypeError(f"a value that was kept from the recording of a function: {reason}") from None
    if not tape.columns:
        tape.columns.append(np.zeros(node.size))
    model = recorded_model(Recording(tape, result, len(start)))
    values = np.array(model.evaluate(tape.columns, node.size, start)).reshape(node.shape)
    return (values.astype(bool) if node.kind == "b" else values)[()]
