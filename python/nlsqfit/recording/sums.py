"""Records sums, products and matrix products of traced values."""

from __future__ import annotations

import numpy as np

from .functions import TABLE, handles
from .traced import Traced, as_node, plain
from .ufuncs import WHOLE_ARRAYS, deliver

_REDUCTIONS = {np.add: "sum", np.multiply: "prod", np.minimum: "min", np.maximum: "max"}


def reduce_by_ufunc(rec, ufunc, inputs, kwargs, out):
    name = _REDUCTIONS.get(ufunc)
    if name is None or any(kwargs.get(k) not in (None, True) for k in ("where", "dtype", "initial")):
        rec.refuse(f"it uses numpy.{ufunc.__name__}.reduce")
    axis = kwargs.get("axis", 0)
    return deliver(rec, rec.reduce(name, as_node(rec, inputs[0]), axis, kwargs.get("keepdims", False)), out)


def _reduction(name):
    def call(rec, a, axis=None, dtype=None, out=None, keepdims=False, **kwargs):
        if kwargs or dtype is not None and np.dtype(dtype) != np.float64:
            rec.refuse(f"it uses numpy.{name} with options that the tape does not have")
        return deliver(rec, rec.reduce(name, as_node(rec, a), axis, bool(keepdims)), out)

    return call


for _name in ("sum", "prod", "min", "max"):
    TABLE[getattr(np, _name)] = _reduction(_name)
TABLE[np.amin], TABLE[np.amax] = TABLE[np.min], TABLE[np.max]


@handles("mean", "average")
def _mean(rec, a, axis=None, weights=None, keepdims=False, **_):
    if weights is not None:
        return np.sum(a * weights, axis=axis) / np.sum(weights)
    total = rec.reduce("sum", as_node(rec, a), axis, bool(keepdims))
    return Traced(rec, total) / (as_node(rec, a).size / max(1, total.size))


def matmul(rec, a, b):
    """Return the node of a @ b for vectors and matrices."""
    if len(a.shape) > 2 or len(b.shape) > 2 or not a.shape or not b.shape:
        rec.refuse("it multiplies arrays of more than two dimensions")
    if len(b.shape) == 2 and len(a.shape) == 2:  # for (i, k) (k, j): sum over the last axis of (i, j, k)
        a = rec.gather(a, None, (a.shape[0], 1, a.shape[1]))
        b = rec.restructure(b, lambda n: n.T)
    elif len(b.shape) == 2:  # for (k) (k, j)
        b = rec.restructure(b, lambda n: n.T)
    if a.shape[-1] != b.shape[-1]:
        raise ValueError("matmul: dimensions do not agree")
    product = rec.elementwise("*", a, b)
    return rec.reduce("sum", product, len(product.shape) - 1)


@handles("dot", "matmul")
def _dot(rec, a, b, out=None):
    nodes = as_node(rec, a), as_node(rec, b)
    if not nodes[0].shape or not nodes[1].shape:
        return deliver(rec, rec.elementwise("*", *nodes), out)
    return deliver(rec, matmul(rec, *nodes), out)


@handles("inner", "vdot")
def _inner(rec, a, b):
    nodes = as_node(rec, a), as_node(rec, b)
    if len(nodes[1].shape) == 2:
        nodes = nodes[0], rec.restructure(nodes[1], lambda n: n.T)
    return Traced(rec, matmul(rec, *nodes))


@handles("outer")
def _outer(rec, a, b, out=None):
    return np.ravel(Traced(rec, as_node(rec, a)))[:, None] * np.ravel(Traced(rec, as_node(rec, b)))[None, :]


@handles("norm", module=np.linalg)
def _norm(rec, x, ord=None, axis=None, keepdims=False):
    if ord not in (None, 2) or axis is None and len(as_node(rec, x).shape) > 1:
        rec.refuse("it uses numpy.linalg.norm of matrices, or of another order")
    return np.sqrt(np.sum(x * x, axis=axis, keepdims=keepdims))


@handles("trapz", "trapezoid")
def _trapezoid(rec, y, x=None, dx=1.0, axis=-1):
    y = Traced(rec, as_node(rec, y))
    if axis not in (-1, y.ndim - 1):
        rec.refuse("it integrates over another axis than the last")
    width = dx if x is None else np.diff(plain(x), axis=-1)
    return np.sum((y[..., 1:] + y[..., :-1]) * 0.5 * width, axis=-1)


WHOLE_ARRAYS.update(reduce=reduce_by_ufunc, matmul=matmul)
