"""Records a model: calls it once with stand-ins for its parameters, and makes a tape of its operations."""

from __future__ import annotations

import numpy as np

from .lower import lower
from .nodes import NotRecordable, Recorder
from .traced import Data, Traced, as_node

MAX_PATHS = 32
NOT_FINITE = "it computes numbers from its data that are not finite"


class Recording:
    """A model as a tape: its entries, the entry that is the value, and the columns of numbers it reads."""

    __slots__ = ("entries", "result", "columns", "parameters")

    def __init__(self, tape, result, parameters):
        self.entries = tape.entries
        self.result = result
        self.columns = tape.columns
        self.parameters = parameters

    def key(self):
        """Return a value that is equal for recordings whose models differ only in their columns."""
        return (tuple(map(repr, self.entries)), self.result, self.parameters, len(self.columns))


class Table:
    """Stands for a table of pandas. Its columns, by names or as attributes, are arrays that a model cannot change."""

    def __init__(self, table):
        self._table, self._parts = table, {name: guarded(column) for name, column in table.items()}

    def __getitem__(self, name):
        return self._parts[name]

    def __getattr__(self, name):
        if name not in self._parts:
            raise AttributeError(f"a table has no {name} while it is recorded")
        return self._parts[name]

    def __iter__(self):
        return iter(self._parts)

    def __len__(self):
        return len(self._table)

    def __array__(self, dtype=None):
        return np.array(self._table, dtype)

    def to_numpy(self):
        return guarded(np.array(self._table))

    values = property(to_numpy)


def guarded(x):
    """Return the data that the model sees while it is recorded, with arrays that it cannot change."""
    if isinstance(x, np.ndarray) and x.dtype != object:
        view = x.view(Data)
        view.flags.writeable = False
        return view
    if type(x) in (list, tuple):
        return type(x)(guarded(v) for v in x)
    if type(x) is dict:
        return {k: guarded(v) for k, v in x.items()}
    if hasattr(x, "columns") and hasattr(x, "items"):
        return Table(x)
    if hasattr(x, "__array__") and hasattr(x, "to_numpy"):  # a column of pandas
        return guarded(np.array(x))
    return x


def record(
    call, parameters, rows, as_vector=False, usable=lambda column: False, start=None, predictors=()
):  # fmt: skip
    """Records ``call(p0, p1, ...)``, or ``call(p)`` if `as_vector`, or ``call(x, p0, p1, ...)`` with `predictors`.

    Returns a Recording, or the reason (a text) why there is none. `rows` is the number of values that the
    model gives, or None if that is not known. ``usable(column)`` says whether a column that has numbers that
    are not finite can be used anyway. If the model keeps a stand-in, in a list or for its next call, it
    becomes the number at the parameters `start` when the recording is over. `predictors` are arrays with one
    number for each row, by which the tape can be differentiated. They become its first columns, and x is a
    list of stand-ins for them.
    """
    recorder = Recorder()
    recorder.start = start
    if predictors:
        nodes = [recorder.predictor(k, rows) for k in range(len(predictors))]
        without, call = call, lambda *p: without([Traced(recorder, n) for n in nodes], *p)
    try:
        node = _all_paths(recorder, call, parameters, as_vector)
        if rows is None:
            rows = node.size
        if node.size not in (rows, 1):
            return f"it gives {node.size} values where {rows} are wanted"
        tape, result = lower(node, rows, predictors)
        if predictors and not any(("column", k) in tape.entries for k in range(len(predictors))):
            return "it does not use its x"
        if not _finite(tape, usable):
            return NOT_FINITE
        if not tape.columns:
            tape.columns.append(np.zeros(rows))  # the library wants at least one column
        return Recording(tape, result, parameters)
    except NotRecordable as reason:
        return recorder.refused or str(reason)
    except (KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except RecursionError:
        return "its operations are nested too deeply"
    except Exception as error:  # NumPy or the model may object to the stand-ins in any way
        return (
            recorder.refused
            or f"it does not take stand-ins for its parameters ({type(error).__name__}: {error})"
        )
    finally:
        recorder.finished = True


def _finite(tape, usable):
    """Return True if the library can read the columns. A column of NaN, as from `if b < 0`, is a constant."""
    for number, column in enumerate(tape.columns):
        with np.errstate(all="ignore"):
            total = np.add.reduce(column)
        if np.isfinite(total) or np.isfinite(column).all():
            continue
        if not np.isnan(column).all():
            if not usable(column):
                return False
            continue
        tape.columns[number] = np.zeros(len(column))
        tape.entries = [
            ("constant", float("nan")) if entry == ("column", number) else entry for entry in tape.entries
        ]
    return True


def _all_paths(recorder, call, parameters, as_vector):
    """Calls the model once for each way that its `if`s on parameters can go."""
    results = []
    path = []  # [condition, truth] of each decision of the path to take
    while True:
        recorder.decisions = {id(node): truth for node, truth in path}
        recorder.order = [node for node, _ in path]
        value = _one_path(recorder, call, parameters, as_vector)
        decisions = [[node, recorder.decisions[id(node)]] for node in recorder.order]
        results.append((list(decisions), value))
        if len(results) > MAX_PATHS:
            recorder.refuse(f"it has more than {MAX_PATHS} ways through its ifs")
        while decisions and not decisions[-1][1]:
            decisions.pop()
        if not decisions:
            return _merge(recorder, results, 0)
        path = [list(d) for d in decisions[:-1]] + [[decisions[-1][0], False]]


def _one_path(recorder, call, parameters, as_vector):
    stand_ins = [Traced(recorder, recorder.parameter(i)) for i in range(parameters)]
    try:
        with np.errstate(all="ignore"):
            if as_vector:
                nodes = [s._node for s in stand_ins]
                whole = recorder.gather(recorder.stack(nodes), None, (parameters,))
                value = call(Traced(recorder, whole))
            else:
                value = call(*stand_ins)
    except Exception as error:
        if recorder.refused is not None or not recorder.order:
            raise
        # A path that only other parameters take, such as `if b < 0: raise`, has no value, so it is NaN.
        del error
        return recorder.number(float("nan"))
    if recorder.refused is not None:
        raise NotRecordable(recorder.refused)
    node = as_node(recorder, value)
    return node


def _merge(recorder, results, depth):
    """Return one value from those of all paths, by a choice on each condition."""
    if len(results) == 1:
        return results[0][1]
    condition = results[0][0][depth][0]
    yes = [r for r in results if r[0][depth][1]]
    no = [r for r in results if not r[0][depth][1]]
    return recorder.elementwise(
        "if", condition, _merge(recorder, yes, depth + 1), _merge(recorder, no, depth + 1), kind="f"
    )
