"""Defines the graph that a recording builds. Its nodes stand for whole NumPy arrays.

A node is an operation on arrays, with the shape that NumPy would give its result. Lowering
(``lower.py``) turns the graph into a tape, which has one operation after the other for a single row.
"""

from __future__ import annotations

import numpy as np

MAX_NODES = 20000  # a model with more operations is called as it is
MAX_DECISIONS = 12  # the most `if`s on parameters along one path
MAX_TERMS = 256  # the most values in a sum or product that the tape writes out
MAX_TERMS_OF_ALL = 32  # the same for a sum over a whole array


class NotRecordable(BaseException):
    """Raised where a model does something that a tape cannot express.

    It is no Exception, so that a model's own ``except Exception`` does not catch it.
    """


class Node:
    """Holds an operation with its operands. `kind` is 'f' (real), 'b' (truth values) or 'c' (complex)."""

    __slots__ = ("op", "args", "shape", "data", "kind")

    def __init__(self, op, args, shape, data=None, kind="f"):
        self.op = op
        self.args = args
        self.shape = shape
        self.data = data
        self.kind = kind

    @property
    def size(self):
        count = 1
        for length in self.shape:
            count *= length
        return count


class Recorder:
    """Holds the nodes of one recording, and the decisions of the path that is being recorded."""

    def __init__(self):
        self.table = {}
        self.keep = []  # arrays whose id is a key of the table; they must stay alive
        self.refused = None  # the first reason; it counts even if the model caught the exception
        self.decisions = {}  # condition node -> True or False on this path
        self.order = []  # condition nodes in the order they were asked for
        self.count = 0
        self.finished = False  # true if the recording is over; stand-ins that the model kept are then numbers
        self.start = None  # the parameters at which the model was called, for those stand-ins

    def refuse(self, reason):
        if self.finished:
            raise TypeError(f"a value that was kept from the recording of a function: {reason}")
        if self.refused is None:
            self.refused = reason
        raise NotRecordable(reason)

    # ---- these make nodes

    def node(self, op, args, shape, data=None, kind="f"):
        self.count += 1
        if self.count > MAX_NODES:
            self.refuse(f"it takes more than {MAX_NODES} operations")
        return Node(op, args, shape, data, kind)

    def parameter(self, index):
        return self.interned(("p", index), lambda: self.node("parameter", (), (), index))

    def column(self, index):
        """Return a measurement of a residual block, one number for each block."""
        return self.interned(("column", index), lambda: self.node("column", (), (), index))

    def predictor(self, index, rows):
        """Return a predictor that stays a symbol. It is column `index`, and row i has element i."""
        return self.interned(("column", index), lambda: self.node("column", (), (rows,), index))

    def interned(self, key, make):
        found = self.table.get(key)
        if found is None:
            found = self.table[key] = make()
        return found

    def number(self, value):
        """Return a constant for a Python or NumPy number."""
        if type(value) is float:
            kind = "f"
        elif isinstance(value, (bool, np.bool_)):
            kind, value = "b", float(value)
        elif isinstance(value, (complex, np.complexfloating)):
            kind, value = "c", complex(value)
        else:
            kind, value = "f", float(value)
        return self.interned(
            ("n", kind, repr(value)), lambda: self.node("constant", (), (), np.asarray(value), kind)
        )

    def array(self, value):
        """Return a constant for an array of numbers. It is copied unless nobody can write to it."""
        kind = {"b": "b", "i": "f", "u": "f", "f": "f", "c": "c"}.get(value.dtype.kind)
        if kind is None:
            self.refuse(f"it uses an array of type {value.dtype}")
        if value.ndim == 0:
            return self.number(value[()])
        writeable = value.flags.writeable
        key = ("a", id(value))
        if not writeable and key in self.table:
            return self.table[key]
        plain = np.asarray(value)
        wanted = complex if kind == "c" else float
        if writeable:
            data = np.array(plain, dtype=wanted, order="C", copy=True)
        else:
            data = np.ascontiguousarray(plain, dtype=wanted)
        made = self.node("constant", (), plain.shape, data, kind)
        if not writeable:
            self.keep.append(value)
            self.table[key] = made
        return made

    def elementwise(self, op, *args, kind=None):
        """Return an operation on each element, with NumPy's broadcasting."""
        key = (op, *map(id, args))
        found = self.table.get(key)
        if found is not None:
            return found
        shape = args[0].shape
        for other in args[1:]:
            if other.shape != shape:
                if not shape:
                    shape = other.shape
                elif other.shape:
                    shape = np.broadcast_shapes(shape, other.shape)
        if kind is None:
            kind = "f"
            for operand in args:
                if operand.kind == "c":
                    kind = "c"
        made = self.table[key] = self.node(op, args, shape, None, kind)
        return made

    # ---- these decide which element goes where

    def indices(self, shape):
        """Return the numbers of the elements of an array of this shape, in that shape."""
        key = ("i", shape)
        return self.interned(key, lambda: _read_only(np.arange(_size(shape)).reshape(shape)))

    def gather(self, node, index, shape):
        """Return the elements `index` (in C order; None for all) of a node, in a new shape."""
        if index is None:
            if shape == node.shape:
                return node
        else:
            index = np.asarray(index).reshape(-1)
        if node.op == "constant":
            flat = node.data.reshape(-1)
            data = (flat if index is None else flat[index]).reshape(shape)
            if not shape:
                return self.number(data[()] if node.kind != "b" else bool(data[()]))
            return self.node("constant", (), shape, data, node.kind)
        if node.op == "gather":
            inner = node.data
            if inner is not None:
                index = inner if index is None else inner[index]
            node = node.args[0]
        if index is not None and index.size == 1 and node.op == "stack":
            piece, at = _piece(node, int(index[0]))
            return (
                self.gather(piece, np.array([at]), shape)
                if piece.shape
                else self.gather(piece, None, shape)
            )
        return self.node("gather", (node,), shape, index, node.kind)

    def restructure(self, node, function):
        """Applies a function that only moves elements (reshape, transpose, x[...]) to a node."""
        numbers = self.indices(node.shape)
        moved = np.asarray(function(numbers))
        same = (
            moved.size == numbers.size
            and moved.flags.c_contiguous
            and moved.__array_interface__["data"][0] == numbers.__array_interface__["data"][0]
        )
        return self.gather(node, None if same else moved, moved.shape)

    def stack(self, nodes):
        """Return all elements of some nodes, one node after the other, as a vector."""
        offsets = np.cumsum([0] + [n.size for n in nodes])
        kind = _common(nodes)
        return self.node("stack", tuple(nodes), (int(offsets[-1]),), offsets, kind)

    def combine(self, nodes, function):
        """Applies a function that joins arrays (stack, concatenate) to nodes."""
        stacked = self.stack(nodes)
        numbers = [np.arange(int(n.size)).reshape(n.shape) + start for n, start in zip(nodes, stacked.data)]
        moved = np.asarray(function(numbers))
        index = moved.reshape(-1)
        if index.size == stacked.size and np.array_equal(index, np.arange(index.size)):
            index = None
        return self.gather(stacked, index, moved.shape)

    def reduce(self, op, node, axis, keepdims=False):
        """Return the sum, product, minimum or maximum of a node over some axes."""
        axes = (
            tuple(range(len(node.shape))) if axis is None else np.atleast_1d(axis) % max(1, len(node.shape))
        )
        axes = tuple(int(a) for a in axes)
        kept = tuple(a for a in range(len(node.shape)) if a not in axes)
        outer = tuple(node.shape[a] for a in kept)
        terms = _size(tuple(node.shape[a] for a in axes))
        shape = tuple(1 if a in axes else n for a, n in enumerate(node.shape)) if keepdims else outer
        if terms > MAX_TERMS:
            self.refuse(f"it takes the {op} of {terms} values that depend on parameters")
        if terms > MAX_TERMS_OF_ALL and not kept:
            self.refuse(f"it takes the {op} of all {terms} values, which every row would repeat")
        if terms == 0:
            self.refuse(f"it takes the {op} of no values")
        index = self.indices(node.shape).transpose(kept + axes).reshape(-1, terms)
        kind = "c" if node.kind == "c" else "f"
        return self.node("reduce:" + op, (node,), shape, index, kind)

    # ---- this decides conditions

    def decide(self, node):
        """Return the truth of a condition on this path. Each condition is decided once for each path."""
        key = id(node)
        if key not in self.decisions:
            if len(self.order) >= MAX_DECISIONS:
                self.refuse(f"it decides more than {MAX_DECISIONS} times by values of parameters")
            self.decisions[key] = True
            self.order.append(node)
        return self.decisions[key]


def _size(shape):
    count = 1
    for length in shape:
        count *= length
    return count


def _read_only(array):
    array.flags.writeable = False
    return array


def _piece(stacked, number):
    which = int(np.searchsorted(stacked.data, number, side="right")) - 1
    return stacked.args[which], number - int(stacked.data[which])


def _common(nodes):
    kinds = {n.kind for n in nodes}
    if "c" in kinds:
        return "c"
    return "b" if kinds == {"b"} else "f"
