"""Turns the graph of arrays into a tape for one row.

``lower(node, where)`` gives the tape's entry for the element of `node` that each row needs. `where` is
None (row i needs element i), a number (all rows need that element), or one number for each row.
"""

from __future__ import annotations

import numpy as np

from . import complex_numbers as cx
from .nodes import NotRecordable
from .tape import Tape

MAX_COLUMNS = 400
MAX_COLUMN_ENTRIES = 10**8  # for the numbers in all columns together
MAX_PIECES = 32  # for the expressions from which rows choose
MAX_ENTRIES = 20000
_PLAIN = frozenset(("+", "-", "*", "/", "^", "exp"))  # these are the most frequent operations


def lower(node, rows, predictors=()):
    """Return the tape of a node with `rows` elements, or with one element that serves all rows.

    Also returns the entry that is its result. `predictors` are its first columns.
    """
    work = _Lowering(rows, predictors)
    try:
        result = work.entry(node, None if node.size == rows else 0)
    except RecursionError:
        raise NotRecordable("its operations are nested too deeply") from None
    if isinstance(result, tuple):
        raise NotRecordable("its values are complex numbers")
    return work.tape, result


def lower_elements(node):
    """Return the tape of all elements of a node, and the entries that are its outputs, one for each."""
    work = _Lowering(1)
    try:
        outputs = [work.entry(node, i) for i in range(node.size)]
    except RecursionError:
        raise NotRecordable("its operations are nested too deeply") from None
    if any(isinstance(o, tuple) for o in outputs):
        raise NotRecordable("its values are complex numbers")
    return work.tape, outputs


class _Lowering:
    def __init__(self, rows, predictors=()):
        self.rows = rows
        self.tape = Tape(predictors)
        self.known = {}
        self.keep = []  # index arrays whose id is in a key of `known`; they must stay alive

    def entry(self, node, where):
        key = (id(node), where if where is None or isinstance(where, int) else -1 - id(where))
        found = self.known.get(key)
        if found is None:
            if where is not None and not isinstance(where, int):
                self.keep.append(where)
            if len(self.tape.entries) > MAX_ENTRIES:
                raise NotRecordable(f"its tape would have more than {MAX_ENTRIES} operations")
            found = self.known[key] = self.make(node, where)
        return found

    def make(self, node, where):
        op = node.op
        if op == "parameter":
            return self.tape.parameter(node.data)
        if op == "column":
            if node.shape and where is not None and not np.array_equal(where, np.arange(self.rows)):
                raise NotRecordable("it combines numbers of x that belong to different rows")
            return self.tape.append("column", node.data)
        if op == "constant":
            return self.constant(node, where)
        if op in _PLAIN:
            return self.operation(node, op, where)
        if op == "gather":
            index = node.data
            if index is not None:
                where = _simplest(index if where is None else index[where])
            return self.entry(node.args[0], where)
        if op == "stack":
            return self.from_stack(node, where)
        if op.startswith("reduce:"):
            return self.reduction(node, op[7:], where)
        return self.operation(node, op, where)

    def operation(self, node, op, where):
        operands, shape, pairs = [], node.shape, False
        for operand in node.args:
            at = where if operand.shape == shape else self.element_of(operand, shape, where)
            operands.append(self.entry(operand, at))
            pairs = pairs or operand.kind == "c"
        if pairs:
            return cx.lower(self.tape, op, operands)
        return self.tape.append(op, *operands)

    def element_of(self, operand, shape, where):
        """Return which element of an operand belongs to element `where` of the broadcast result."""
        if operand.shape == shape:
            return where
        if operand.size == 1:
            return 0
        numbers = np.arange(operand.size).reshape(operand.shape)
        spread = np.broadcast_to(numbers, shape).reshape(-1)
        return _simplest(spread if where is None else spread[where])

    def constant(self, node, where):
        flat = node.data.reshape(-1)
        if flat.size == 1:
            where = 0
        if where is None:
            values = flat
        elif isinstance(where, int):
            return self.leaf(flat[where], node.kind)
        else:
            values = flat[where]
        if node.kind == "c":
            return (self.real_column(values.real), self.real_column(values.imag))
        return self.real_column(values)

    def leaf(self, value, kind):
        if kind == "c":
            return (self.tape.constant(value.real), self.tape.constant(value.imag))
        return self.tape.constant(value)

    def real_column(self, values):
        first = values[0]
        if first == values[-1] and (values == first).all():
            return self.tape.constant(first)
        if (
            len(self.tape.columns) >= MAX_COLUMNS
            or len(self.tape.columns) * values.size > MAX_COLUMN_ENTRIES
        ):
            raise NotRecordable("it combines its parameters with too many arrays of numbers")
        return self.tape.column(np.ascontiguousarray(values, dtype=float))

    def from_stack(self, node, where):
        """Return an element of one of several arrays. If rows need different arrays, a column chooses."""
        offsets = node.data
        numbers = np.arange(node.size) if where is None else where
        if isinstance(numbers, int):
            which = int(np.searchsorted(offsets, numbers, side="right")) - 1
            return self.promoted(node, node.args[which], numbers - int(offsets[which]))
        which = _first_of_equal(node.args)[np.searchsorted(offsets, numbers, side="right") - 1]
        pieces = np.unique(which)
        if len(pieces) > 4 and all(node.args[p].size == 1 for p in pieces):
            result = self.from_numbers([node.args[p] for p in which])
            if result is not None:
                return result
        if len(pieces) > MAX_PIECES:
            raise NotRecordable(f"its rows are {len(pieces)} different expressions")
        result = None
        for piece in pieces[::-1]:
            mine = which == piece
            first = int(numbers[mine][0])
            if node.args[piece].size == 1:
                inside = 0
            else:
                inside = _simplest(np.where(mine, numbers, first) - int(offsets[piece]))
            value = self.promoted(node, node.args[piece], inside)
            if result is None:
                result = value
            else:
                chosen = self.real_column(mine.astype(float))
                result = self.choose(chosen, value, result)
        return result

    def from_numbers(self, nodes):
        """Return one entry for single numbers, one for each row, or None if their operations differ too much.

        ``[a[i] * np.exp(-k * t) for i, t in zip(which, times)]`` makes one kind of operations for each a.
        """
        kinds, known = {}, {}
        for row, node in enumerate(nodes):
            kinds.setdefault(_kind_of(node, known), []).append(row)
        if len(kinds) > MAX_PIECES:
            return None
        result = None
        for rows in reversed(list(kinds.values())):
            mine = np.zeros(len(nodes), dtype=bool)
            mine[rows] = True
            value = self.unified([n if m else nodes[rows[0]] for n, m in zip(nodes, mine)])
            if value is None:
                return None
            result = value if result is None else self.choose(self.real_column(mine.astype(float)), value, result)
        return result

    def unified(self, nodes):
        """Return one entry for numbers that differ only in their constants, or None if they differ more.

        ``matrix @ np.array([a, b])`` makes such numbers, one for each row.
        """
        first = nodes[0]
        if all(n is first for n in nodes):
            return self.entry(first, 0)
        if any(
            n.op != first.op or len(n.args) != len(first.args) or n.kind == "c" or n.shape for n in nodes
        ):
            return None
        if first.op == "constant":
            return self.real_column(np.array([float(n.data) for n in nodes]))
        if not first.args or first.op in ("gather", "stack") or first.op.startswith("reduce:"):
            return None
        operands = [self.unified([n.args[k] for n in nodes]) for k in range(len(first.args))]
        return None if None in operands else self.tape.append(first.op, *operands)

    def promoted(self, stack, piece, where):
        value = self.entry(piece, where)
        if stack.kind == "c" and not isinstance(value, tuple):
            value = (value, self.tape.constant(0.0))
        return value

    def choose(self, condition, yes, no):
        if isinstance(yes, tuple):
            return tuple(self.tape.append("if", condition, y, n) for y, n in zip(yes, no))
        return self.tape.append("if", condition, yes, no)

    def reduction(self, node, op, where):
        index = node.data
        name = {"sum": "+", "prod": "*", "min": "min", "max": "max"}[op]
        terms = []
        for j in range(index.shape[1]):
            column = index[:, j]
            element = column if where is None else column[where]
            terms.append(self.entry(node.args[0], _simplest(element)))
        # Adds pairs, then pairs of pairs, so that the nesting is shallow and rounding errors are small.
        while len(terms) > 1:
            pairs = [self.pair(name, a, b) for a, b in zip(terms[::2], terms[1::2])]
            terms = pairs + ([terms[-1]] if len(terms) % 2 else [])
        return terms[0]

    def pair(self, name, a, b):
        if isinstance(a, tuple):
            return cx.lower(self.tape, name, [a, b])
        return self.tape.append(name, a, b)


def _kind_of(node, known):
    """Return a number that is equal for nodes that differ only in their constants."""
    key = "constant" if node.op == "constant" else id(node)
    if node.args and node.op not in ("gather", "stack") and not node.op.startswith("reduce:"):
        if id(node) in known:
            return known[id(node)]
        key = (node.op, *(_kind_of(operand, known) for operand in node.args))
        known[id(node)] = known.setdefault(key, len(known))
        return known[id(node)]
    return known.setdefault(key, len(known))


def _first_of_equal(nodes):
    """Return for each node the number of the first one that is the same single number."""
    known = {}
    return np.array([known.setdefault(id(n), i) if n.size == 1 else i for i, n in enumerate(nodes)])


def _simplest(where):
    """Return one number if all rows need the same element, and otherwise the numbers."""
    if isinstance(where, (int, np.integer)):
        return int(where)
    if where.size == 1 or where[0] == where[-1] and (where == where[0]).all():
        return int(where[0])
    return np.ascontiguousarray(where)
