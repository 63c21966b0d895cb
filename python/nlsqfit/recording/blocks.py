"""Records a residual function of parameter blocks and measurements."""

from __future__ import annotations

import numpy as np

from .lower import lower_elements
from .nodes import NotRecordable, Recorder
from .record import _all_paths
from .traced import Traced


def record_block(function, sizes, shapes, residuals):
    """Records ``function(block, ..., measurement, ...)`` for one residual block.

    `sizes` are the sizes of the parameter blocks. `shapes` are the shapes of the measurements, without their
    first axis. Returns the entries of a tape and the entries that are its outputs, or the reason (a text) why
    there is none.
    """
    recorder = Recorder()

    def call(parameters):
        arguments, at = [], 0
        for size in sizes:
            arguments.append(parameters[at : at + size])
            at += size
        column = 0
        for shape in shapes:
            count = int(np.prod(shape, dtype=int))
            leaves = [recorder.column(column + i) for i in range(count)]
            node = recorder.gather(recorder.stack(leaves), None, shape) if shape else leaves[0]
            arguments.append(Traced(recorder, node))
            column += count
        return function(*arguments)

    try:
        node = _all_paths(recorder, call, sum(sizes), True)
        if node.size != residuals:
            return f"it gives {node.size} residuals where {residuals} are wanted"
        tape, outputs = lower_elements(node)
        if tape.columns:
            return "it combines its parameters with arrays of numbers"
        return tape.entries, outputs
    except NotRecordable as reason:
        return recorder.refused or str(reason)
    except RecursionError:
        return "its operations are nested too deeply"
    except Exception as error:
        return (
            recorder.refused
            or f"it does not take stand-ins for its parameters ({type(error).__name__}: {error})"
        )
