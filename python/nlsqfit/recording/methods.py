"""Adds the operators and methods of arrays to traced values, and to data that carry them."""

from __future__ import annotations

import numpy as np

from . import functions, ufuncs
from .traced import Data, Traced, as_node, at_start

_BINARY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.divide, "floordiv": np.floor_divide,
    "mod": np.remainder, "pow": np.power, "matmul": np.matmul, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}  # fmt: skip
_COMPARE = {
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal,
    "ne": np.not_equal,
}  # fmt: skip
_UNARY = {"neg": np.negative, "abs": np.absolute, "invert": np.invert}
# NumPy looks up these names on the objects of an array of objects.
_OBJECT_LOOPS = (
    "exp exp2 expm1 log log2 log10 log1p sqrt cbrt sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh "
    "arccosh arctanh floor ceil trunc sign fabs square deg2rad rad2deg radians degrees reciprocal"
).split()
# These methods need a plain number. While a function is recorded, there is none, so they raise an error. When
# the recording is over, they use the number at the start.
_PLAIN = "float int round trunc floor ceil str repr format reduce reduce_ex".split()
_METHODS = "sum prod mean ravel reshape transpose squeeze dot clip min max repeat swapaxes take".split()


def _call(ufunc, *operands):
    """Applies an operator. Most operands have no mask, and need no further check."""
    nodes, rec = [], None
    for operand in operands:
        if type(operand) is Traced:
            if operand._mask is not None:
                break
            rec = operand._rec
    else:
        if rec.finished:
            return ufunc(*map(at_start, operands))
        for operand in operands:
            nodes.append(
                operand._node if type(operand) is Traced and operand._rec is rec else as_node(rec, operand)
            )
        handler = ufuncs.TABLE.get(ufunc)
        if handler is not None:
            return Traced(rec, handler(rec, *nodes))
    rec = next(o._rec for o in operands if isinstance(o, Traced))
    return ufuncs.call_ufunc(rec, ufunc, "__call__", operands, {})


def _forward(ufunc):
    return lambda self, other: _call(ufunc, self, other)


def _reflected(ufunc):
    return lambda self, other: _call(ufunc, other, self)


def _in_place(ufunc):
    def change(self, other):
        if not self._node.shape:
            return _call(ufunc, self, other)  # numbers are not changed in place
        result = _call(ufunc, self, other)
        if self._rec.finished:
            return result
        if result._node.shape != self._node.shape:
            raise ValueError("non-broadcastable output operand")
        self._change(result._node)
        return self

    return change


def _method(name):
    def call(self, *args, **kwargs):
        if name == "reshape" and args and not isinstance(args[0], tuple):
            args = (args if len(args) > 1 else args[0],)
        if name == "transpose":
            args = () if not args else (args if len(args) > 1 else args[0],)
        return functions.call_function(self._rec, getattr(np, name), (self, *args), kwargs)

    return call


def _plain(name):
    def call(self, *args):
        if self._rec.finished:
            return getattr(at_start(self), name)(*args)
        return self._rec.refuse(
            "it needs its parameters as plain numbers (math.*, float(), int(), or compiled code)"
        )

    return call


def _astype(self, dtype, *args, **kwargs):
    # A tape has only float64. A function that gives float32 is compared to the digits of float32.
    if np.dtype(dtype) not in (np.dtype(np.float64), np.dtype(np.float32)):
        self._rec.refuse(f"it converts values to {np.dtype(dtype)}")
    return Traced(self._rec, self._rec.gather(self._node, None, self._node.shape))


def _flatten(self, order="C"):
    flat = np.ravel(self, order)
    return flat if self._rec.finished else Traced(self._rec, flat._node)


def _item(self, *_):
    if self._node.size != 1:
        raise ValueError("can only convert an array of size 1 to a Python scalar")
    return Traced(self._rec, self._rec.gather(self._node, None, ()))


for _name, _ufunc in _BINARY.items():
    setattr(Traced, f"__{_name}__", _forward(_ufunc))
    setattr(Traced, f"__r{_name}__", _reflected(_ufunc))
    setattr(Traced, f"__i{_name}__", _in_place(_ufunc))
for _name, _ufunc in _COMPARE.items():
    setattr(Traced, f"__{_name}__", _forward(_ufunc))
for _name, _ufunc in _UNARY.items():
    setattr(Traced, f"__{_name}__", lambda self, u=_ufunc: _call(u, self))
Traced.__pos__ = lambda self: self
for _name in _OBJECT_LOOPS:
    setattr(Traced, _name, lambda self, u=getattr(np, _name): _call(u, self))
for _name in _METHODS:
    setattr(Traced, _name, _method(_name))
for _name in _PLAIN:
    setattr(Traced, f"__{_name}__", _plain(f"__{_name}__"))
Traced.__complex__ = lambda self: complex(float(self))
Traced.conjugate = Traced.conj = lambda self: _call(np.conjugate, self)
Traced.astype = _astype
Traced.flatten = _flatten
Traced.copy = lambda self, *_: Traced(self._rec, self._node)
Traced.item = _item
Traced.shape = property(lambda self: self._node.shape)
Traced.ndim = property(lambda self: len(self._node.shape))
Traced.size = property(lambda self: self._node.size)
Traced.dtype = property(lambda self: np.dtype({"f": float, "b": bool, "c": complex}[self._node.kind]))
Traced.T = property(lambda self: np.transpose(self))
Traced.real = property(lambda self: np.real(self))
Traced.imag = property(lambda self: np.imag(self))


def _carried(name):
    """Return a method of arrays that uses the traced values, if there are some."""
    original = getattr(np.ndarray, name)

    def call(self, *args, **kwargs):
        if self.overlay is not None:
            return getattr(self.overlay, name)(*args, **kwargs)
        return original(self, *args, **kwargs)

    return call


for _name in _METHODS + ["astype", "flatten", "copy"]:
    setattr(Data, _name, _carried(_name))
