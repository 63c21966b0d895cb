"""Records NumPy's functions of whole arrays: where, select, sum, dot, concatenate ..."""

from __future__ import annotations

import numpy as np

from .traced import (
    Data, Traced, as_data, as_node, assign, at_start, find_recorder, has_traced, plain
)  # fmt: skip
from .ufuncs import call_ufunc, deliver

TABLE = {}


def handles(*names, module=np):
    def register(function):
        for name in names:
            target = getattr(module, name, None)
            if target is not None:
                TABLE[target] = function
        return function

    return register


def find_in_arguments(function, args, kwargs):
    """Return the recorder of traced values in the arguments, or in closures of functions for np.piecewise."""
    found = find_recorder(args) or find_recorder(list(kwargs.values()))
    if found is None and function is np.piecewise:
        functions = args[2] if len(args) > 2 else kwargs.get("funclist", [])
        for part in functions:
            for cell in getattr(part, "__closure__", None) or ():
                found = found or find_recorder([cell.cell_contents])
    return found


def call_function(rec, function, args, kwargs):
    """Return what a function of NumPy gives for arguments with traced values."""
    if rec.finished:
        return function(*at_start(args), **{k: at_start(v) for k, v in kwargs.items()})
    handler = TABLE.get(function)
    if handler is None:
        if not has_traced(args) and not has_traced(list(kwargs.values())):
            return as_data(function(*plain(args), **{k: plain(v) for k, v in kwargs.items()}))
        rec.refuse(f"it uses numpy.{function.__name__}, which the tape does not have")
    return handler(rec, *args, **kwargs)


# ---- functions that only move elements

_MOVING = (
    "reshape transpose squeeze expand_dims broadcast_to roll flip fliplr flipud tile repeat take swapaxes "
    "moveaxis rollaxis rot90 diagonal delete resize"
).split()


def _moving(function):
    def call(rec, value, *args, **kwargs):
        node = as_node(rec, value)
        args = plain(args)
        kwargs = {k: plain(v) for k, v in kwargs.items()}
        return Traced(rec, rec.restructure(node, lambda n: function(n, *args, **kwargs)), view=True)

    return call


for _name in _MOVING:
    TABLE[getattr(np, _name)] = _moving(getattr(np, _name))


@handles("ravel")
def _ravel(rec, value, order="C"):
    node = as_node(rec, value)
    return Traced(rec, rec.restructure(node, lambda n: np.ravel(n, order)), view=True)


def _joining(function):
    def call(rec, values, *args, **kwargs):
        if kwargs.pop("out", None) is not None or kwargs.pop("dtype", None) is not None:
            rec.refuse(f"it uses numpy.{function.__name__} with out= or dtype=")
        nodes = [as_node(rec, v) for v in values]
        return Traced(rec, rec.combine(nodes, lambda parts: function(parts, *args, **kwargs)))

    return call


for _name in ("concatenate", "stack", "vstack", "hstack", "dstack", "column_stack"):
    TABLE[getattr(np, _name)] = _joining(getattr(np, _name))


@handles("append")
def _append(rec, arr, values, axis=None):
    return Traced(
        rec, rec.combine([as_node(rec, arr), as_node(rec, values)], lambda p: np.append(p[0], p[1], axis))
    )


@handles("atleast_1d", "atleast_2d")
def _atleast_1d(rec, value):
    node = as_node(rec, value)
    return Traced(rec, node if node.shape else rec.gather(node, None, (1,)))


@handles("copy")
def _copy(rec, value, *_, **__):
    return Traced(rec, as_node(rec, value))


# ---- new arrays


@handles("zeros_like", "ones_like", "empty_like", "full_like")
def _like(rec, value, fill_value=0.0, dtype=None, **_):
    rec.refuse("it makes an array of a kind that is not known")


def _new(fill):
    def call(rec, value, dtype=None, order=None, subok=None, shape=None):
        made = np.full(as_node(rec, value).shape if shape is None else shape, fill, dtype or float)
        return made.view(Data)

    return call


TABLE[np.zeros_like] = _new(0.0)
TABLE[np.ones_like] = _new(1.0)
TABLE[np.empty_like] = _new(np.nan)


@handles("full_like")
def _full_like(rec, value, fill_value, dtype=None, **_):
    shape = as_node(rec, value).shape
    if not has_traced(fill_value):
        return np.full(shape, fill_value, dtype or float).view(Data)
    fill = rec.elementwise("+", as_node(rec, fill_value), rec.array(np.zeros(shape)))
    return Traced(rec, fill)


# ---- choices


@handles("where")
def _where(rec, condition, *choices):
    if len(choices) != 2:
        rec.refuse("it uses numpy.where to find places by values that depend on parameters")
    nodes = [as_node(rec, v) for v in (condition, *choices)]
    kind = "c" if "c" in (nodes[1].kind, nodes[2].kind) else "f"
    if nodes[1].kind == nodes[2].kind == "b":
        kind = "b"
    return Traced(rec, rec.elementwise("if", *nodes, kind=kind))


@handles("choose")
def _choose(rec, a, choices, out=None, mode="raise"):
    if has_traced(a) or out is not None or mode != "raise":
        rec.refuse("it uses numpy.choose by values that depend on parameters, or with out= or mode=")
    which = np.asarray(plain(a))
    if which.size and not (which.min() >= 0 and which.max() < len(choices)):
        raise ValueError("invalid entry in choice array")
    return _select(rec, [which == i for i in range(len(choices))], list(choices), np.nan)


@handles("select")
def _select(rec, condlist, choicelist, default=0):
    result = default
    for condition, choice in zip(condlist[::-1], choicelist[::-1]):
        result = _where(rec, condition, choice, result)
    return result


@handles("piecewise")
def _piecewise(rec, x, condlist, funclist, *args, **kwargs):
    conditions = condlist if isinstance(condlist, (list, tuple)) else list(condlist)
    if len(funclist) == len(conditions) + 1:
        rest = conditions[0]
        for condition in conditions[1:]:
            rest = rest | condition
        conditions = [*conditions, ~rest if isinstance(rest, Traced) else ~np.asarray(plain(rest))]
    result = rec.array(np.zeros(np.shape(x)))
    for condition, function in zip(conditions, funclist):
        traced = isinstance(condition, Traced)
        key = condition if traced else np.asarray(plain(condition))
        value = function(x[key], *args, **kwargs) if callable(function) else function
        if not traced and not key.any():
            continue
        result = assign(rec, result, key, value)
    return Traced(rec, result)


@handles("clip")
def _clip(rec, value, a_min=None, a_max=None, out=None, **_):
    if a_min is not None:
        value = call_ufunc(rec, np.maximum, "__call__", (value, a_min), {})
    if a_max is not None:
        value = call_ufunc(rec, np.minimum, "__call__", (value, a_max), {})
    return deliver(rec, as_node(rec, value), out)


@handles("nan_to_num")
def _nan_to_num(rec, x, copy=True, nan=0.0, posinf=None, neginf=None):
    big = np.finfo(float).max
    high = big if posinf is None else posinf
    low = -big if neginf is None else neginf
    return np.where(x != x, nan, np.where(x > big, high, np.where(x < -big, low, x)))


# ---- other functions of elements


@handles("polyval")
def _polyval(rec, p, x):
    if isinstance(p, np.ndarray) and p.ndim == 1 or isinstance(p, Traced):
        p = [p[i] for i in range(len(p))]
    result = 0.0
    for coefficient in p:
        result = result * x + coefficient
    return Traced(rec, as_node(rec, result))


@handles("sinc")
def _sinc(rec, x):
    y = x * np.pi
    return np.where(x == 0, 1.0, np.sin(y) / y)


@handles("diff")
def _diff(rec, a, n=1, axis=-1, **_):
    value = Traced(rec, as_node(rec, a))
    if axis not in (-1, value.ndim - 1):
        rec.refuse("it takes differences along another axis than the last")
    for _step in range(n):
        value = value[..., 1:] - value[..., :-1]
    return value


def _part(op):
    def call(rec, value):
        node = as_node(rec, value)
        if node.kind != "c":
            return Traced(rec, node if op == "real" else rec.elementwise("*", node, rec.number(0.0)))
        return Traced(rec, rec.elementwise(op, node, kind="f"))

    return call


TABLE[np.real], TABLE[np.imag] = _part("real"), _part("imag")


@handles("angle")
def _angle(rec, z, deg=False):
    node = as_node(rec, z)
    if node.kind != "c":
        rec.refuse("it takes the angle of real numbers")
    value = Traced(rec, rec.elementwise("angle", node, kind="f"))
    return value * (180 / np.pi) if deg else value


@handles("shape")
def _shape(rec, value):
    return as_node(rec, value).shape


@handles("ndim")
def _ndim(rec, value):
    return len(as_node(rec, value).shape)


@handles("size")
def _size(rec, value, axis=None):
    node = as_node(rec, value)
    return node.size if axis is None else node.shape[axis]


from . import sums  # noqa: E402,F401  (adds its functions to the table)
