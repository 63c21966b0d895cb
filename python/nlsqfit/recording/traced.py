"""Defines the stand-ins for numbers and arrays while a model is recorded.

`Traced` stands for a value that depends on parameters. `Data` is an ordinary array of the caller's numbers.
If a model stores traced values into it, it carries them along.
"""

from __future__ import annotations

import numbers

import numpy as np


def as_node(rec, value):
    """Return the node of anything that can be an operand."""
    if isinstance(value, Traced):
        if value._rec.finished:
            return as_node(rec, at_start(value))
        if value._rec is not rec:
            rec.refuse("it uses values of another recording")
        if value._mask is not None:
            rec.refuse("it mixes values under a mask with others")
        return value._node
    if isinstance(value, Data) and value.overlay is not None:
        return value.overlay._node
    if isinstance(value, (bool, numbers.Number, np.generic)):
        return rec.number(value)
    if isinstance(value, np.ndarray):
        return _object_node(rec, value) if value.dtype == object else rec.array(value)
    if isinstance(value, (list, tuple)):
        if has_traced(value):
            return rec.combine([as_node(rec, v) for v in value], np.stack)
        return rec.array(np.asarray(value))
    if hasattr(value, "__array__"):
        return rec.array(np.asarray(value))
    return rec.refuse(f"it uses a value of type {type(value).__name__} beside its parameters")


def _object_node(rec, value):
    if value.ndim == 0:
        return as_node(rec, value[()])
    if value.size > 4096:
        rec.refuse("it makes an array of single numbers")
    nodes = [as_node(rec, v) for v in value.reshape(-1)]
    if any(n.shape for n in nodes):
        return rec.combine(nodes, lambda parts: np.stack(parts).reshape(value.shape + parts[0].shape))
    return _put_together(rec, nodes, value.shape)


def _put_together(rec, nodes, shape):
    """Return single numbers as one array. Elements of one array, as from ``np.r_``, become it again."""
    arrays, indices = {}, []
    for node in nodes:
        whole, index = node, 0
        if node.op == "gather" and node.args[0].shape:
            whole, index = node.args[0], 0 if node.data is None else int(node.data[0])
        arrays.setdefault(id(whole), whole)
        indices.append((id(whole), index))
    stacked = rec.stack(list(arrays.values()))
    first = dict(zip(arrays, stacked.data))
    return rec.gather(stacked, np.array([first[which] + index for which, index in indices]), shape)


def at_start(value):
    """Return the same value, with numbers of the start in place of stand-ins whose recordings are over."""
    if isinstance(value, Traced) and value._rec.finished:
        return kept.value_at_start(value)
    if isinstance(value, Data):
        return plain(value) if value.overlay is None else at_start(value.overlay)
    if type(value) in (list, tuple):
        return type(value)(at_start(v) for v in value)
    return value


def has_traced(value):
    """Return True if a value, or something in a list or array of objects, depends on parameters."""
    if isinstance(value, Traced):
        return True
    if isinstance(value, Data):
        return value.overlay is not None
    if isinstance(value, (list, tuple)):
        return any(has_traced(v) for v in value)
    if isinstance(value, np.ndarray) and value.dtype == object:
        return value.size <= 4096 and any(has_traced(v) for v in value.reshape(-1))
    return False


def find_recorder(values):
    """Return the recorder of the first traced value among these."""
    for value in values:
        if isinstance(value, Traced):
            return value._rec
        if isinstance(value, Data):
            found = value.overlay._rec if value.overlay is not None else None
        elif isinstance(value, (list, tuple)):
            found = find_recorder(value)
        elif isinstance(value, np.ndarray) and value.dtype == object:
            found = find_recorder(value.reshape(-1).tolist())
        else:
            found = None
        if found is not None:
            return found
    return None


def plain(value):
    """Return the same value with ordinary arrays in place of `Data`, also in lists and tuples."""
    if isinstance(value, Data):
        return value.view(np.ndarray)
    if type(value) in (list, tuple):
        return type(value)(plain(v) for v in value)
    return value


def as_data(value):
    """Return the same value with `Data` in place of ordinary arrays."""
    if isinstance(value, np.ndarray) and value.dtype != object and not isinstance(value, Data):
        return value.view(Data)
    if type(value) in (list, tuple):
        return type(value)(as_data(v) for v in value)
    return value


def assign(rec, old, key, value):
    """Return the node of an array `old` after ``old[key] = value``."""
    mask = key._node if isinstance(key, Traced) else None
    if mask is not None:
        if mask.kind != "b" or mask.shape != old.shape:
            rec.refuse("it indexes by values that depend on parameters")
        if isinstance(value, Traced) and value._mask is not None:
            if value._mask is not mask:
                rec.refuse("it mixes values under different masks")
            new = value._node
        else:
            new = as_node(rec, value)
            if new.size != 1:
                rec.refuse("it assigns an array under a mask that depends on parameters")
        return rec.elementwise("if", mask, new, old)
    new = as_node(rec, value)
    index = rec.indices(old.shape).copy()
    places = index[plain(key)]
    try:
        numbers_of_new = np.broadcast_to(np.arange(new.size).reshape(new.shape), places.shape)
    except ValueError:
        while new.shape and new.shape[0] == 1 and len(new.shape) > places.ndim:
            new = rec.gather(new, None, new.shape[1:])
        numbers_of_new = np.broadcast_to(np.arange(new.size).reshape(new.shape), places.shape)
    if places.size == 0:
        return old
    if places.size == old.size and np.array_equal(places.reshape(-1), index.reshape(-1)):
        return rec.gather(new, numbers_of_new.reshape(-1), old.shape)
    index[plain(key)] = old.size + numbers_of_new
    return rec.gather(rec.stack([old, new]), index, old.shape)


class Traced:
    """A number or an array that depends on parameters."""

    __slots__ = ("_rec", "_node", "_view", "_mask")
    __hash__ = None
    __array_priority__ = 1000.0

    def __init__(self, rec, node, view=False, mask=None):
        self._rec = rec
        self._node = node
        self._view = view
        self._mask = mask

    # ---- NumPy calls these

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return ufuncs.call_ufunc(self._rec, ufunc, method, inputs, kwargs)

    def __array_function__(self, function, types, args, kwargs):
        return functions.call_function(self._rec, function, args, kwargs)

    def __array__(self, dtype=None, copy=None):
        """Return what np.asarray sees. A number is one object, and an array is an array of such objects."""
        if self._rec.finished:
            return np.asarray(at_start(self), dtype)
        if dtype is not None and np.dtype(dtype) not in (np.dtype(object), np.dtype(float)):
            self._rec.refuse(f"it converts values to {np.dtype(dtype)}")
        if dtype is not None and np.dtype(dtype) == float:
            self._rec.refuse(
                "it needs its parameters as plain numbers (an array of floats, or compiled code)"
            )
        shape = self._node.shape
        if _size(shape) > 64 or self._mask is not None:
            whole = np.empty((), dtype=object)
            whole[()] = self
            return whole
        result = np.empty(shape, dtype=object)
        for at in np.ndindex(*shape):
            node = self._rec.restructure(self._node, lambda n, at=at: n[at])
            result[at] = Traced(self._rec, node)
        return result

    def __getattr__(self, name):
        if self._rec.finished:
            return getattr(at_start(self), name)
        # Without this, a path of an `if` that uses such a method would seem to raise, and have no value.
        if not name.startswith("__") and hasattr(np.ndarray, name):
            self._rec.refuse(f"it uses the method {name} of arrays, which the tape does not have")
        raise AttributeError(f"a value that depends on parameters has no attribute {name!r}")

    def __bool__(self):
        node = self._node
        if node.size != 1:
            raise ValueError("The truth value of an array with more than one element is ambiguous.")
        if self._rec.finished:
            return bool(at_start(self))
        if node.kind != "b":
            node = self._rec.elementwise("!=", node, self._rec.number(0.0), kind="b")
        return self._rec.decide(self._rec.gather(node, None, ()))

    # ---- these are the methods of arrays

    def __len__(self):
        if not self._node.shape:
            raise TypeError("object of type 'float' has no len()")
        return self._node.shape[0]

    def __iter__(self):
        length = len(self)
        if self._rec.finished:
            return iter(at_start(self))
        if length > 64:
            self._rec.refuse("it goes through an array element by element")
        return (self[i] for i in range(length))

    def __getitem__(self, key):
        if self._rec.finished:
            return at_start(self)[key]
        if has_traced(key):
            mask = key._node if isinstance(key, Traced) else None
            if mask is None or mask.kind != "b" or mask.shape != self._node.shape:
                self._rec.refuse("it indexes by values that depend on parameters")
            return Traced(self._rec, self._node, mask=mask)
        if not self._node.shape:
            raise IndexError("invalid index to scalar variable.")
        key = plain(key)
        return Traced(self._rec, self._rec.restructure(self._node, lambda n: n[key]), view=_is_basic(key))

    def __setitem__(self, key, value):
        self._change(assign(self._rec, self._node, key, value))

    def _change(self, node):
        """Stores a new value in this array."""
        if self._view:
            self._rec.refuse("it writes through a view of an array")
        self._node = node


def _is_basic(key):
    parts = key if isinstance(key, tuple) else (key,)
    return all(isinstance(k, (int, slice, type(None), type(Ellipsis))) for k in parts)


def _size(shape):
    count = 1
    for length in shape:
        count *= length
    return count


class Data(np.ndarray):
    """Holds an array of the caller's numbers. `overlay` is a Traced if traced values were stored in it."""

    overlay = None

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **kwargs):
        outputs = out if out is not None else ()
        if has_traced(inputs) or has_traced(outputs):
            rec = find_recorder(inputs) or find_recorder(outputs)
            if out is not None:
                kwargs["out"] = out
            return ufuncs.call_ufunc(rec, ufunc, method, inputs, kwargs)
        inputs = [plain(i) for i in inputs]
        if out is not None:
            kwargs["out"] = tuple(plain(o) for o in out)
            getattr(ufunc, method)(*inputs, **kwargs)
            return out[0] if len(out) == 1 else out
        return as_data(getattr(ufunc, method)(*inputs, **kwargs))

    def __array_function__(self, function, types, args, kwargs):
        rec = functions.find_in_arguments(function, args, kwargs)
        if rec is not None:
            return functions.call_function(rec, function, args, kwargs)
        return as_data(function(*plain(args), **{k: plain(v) for k, v in kwargs.items()}))

    def to_numpy(self):
        """Return the array itself, as a column of pandas would."""
        return self

    values = property(to_numpy)

    def carry(self, rec, node):
        """Stores traced values in this array. Its own numbers become NaN, so that no outdated one is used."""
        if not self.flags.writeable:
            rec.refuse("it changes its data in place")
        if self.dtype != np.float64:
            rec.refuse(f"it stores values in an array of type {self.dtype}")
        self.view(np.ndarray)[...] = np.nan
        self.overlay = Traced(rec, rec.gather(node, None, self.shape))

    def __getitem__(self, key):
        if self.overlay is not None:
            return self.overlay[key]
        if has_traced(key):
            rec = find_recorder([key])
            return Traced(rec, as_node(rec, self))[key]
        value = self.view(np.ndarray)[plain(key)]
        return value.view(Data) if isinstance(value, np.ndarray) else value

    def __setitem__(self, key, value):
        if self.overlay is not None or has_traced(key) or has_traced(value):
            rec = find_recorder([self, key, value])
            self.carry(rec, assign(rec, as_node(rec, self), key, value))
        else:
            self.view(np.ndarray)[plain(key)] = plain(value)


# These modules use the classes above. `methods` adds operators and methods to both of them.
from . import functions, kept, methods, ufuncs  # noqa: E402,F401
