"""Records NumPy's and SciPy's element-wise functions as operations of a tape."""

from __future__ import annotations

import sys

import numpy as np

from .traced import Data, Traced, as_node, at_start

_DIRECT = {
    "divide": "/", "true_divide": "/", "float_power": "^", "fmod": "fmod",
    "remainder": "mod", "maximum": "max", "minimum": "min", "fmax": "max", "fmin": "min",
    "arctan2": "atan2", "hypot": "hypot", "negative": "-", "sqrt": "sqrt", "cbrt": "cbrt",
    "exp": "exp", "expm1": "expm1", "log": "log", "log2": "log2", "log10": "log10", "log1p": "log1p",
    "sin": "sin", "cos": "cos", "tan": "tan", "arcsin": "asin", "arccos": "acos", "arctan": "atan",
    "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "arcsinh": "asinh", "arccosh": "acosh",
    "arctanh": "atanh", "absolute": "abs", "fabs": "abs", "sign": "sign", "floor": "floor",
    "ceil": "ceil",
}  # fmt: skip
_COMPARISONS = {
    "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=", "equal": "==",
    "not_equal": "!=",
}  # fmt: skip
_SPECIAL = {
    "erf": "erf", "erfc": "erfc", "erfcx": "erfcx", "gamma": "gamma", "gammaln": "lgamma", "psi": "digamma",
    "j0": "besj0", "j1": "besj1", "cbrt": "cbrt", "expm1": "expm1", "log1p": "log1p", "wofz": "wofz",
}  # fmt: skip

WHOLE_ARRAYS = {}  # functions for ufuncs of whole arrays; sums.py adds them


def _arithmetic(op, logical=None):
    def make(rec, a, b):
        if logical and a.kind == "b" and b.kind == "b":
            return rec.elementwise(logical, a, b, kind="b")
        return rec.elementwise(op, a, b)

    return make


def _power(rec, a, b):
    return rec.elementwise("^", a, b)


def _truth(rec, a):
    if a.kind == "c":
        rec.refuse("it takes the truth of complex numbers")
    return a


def _logic(op):
    def make(rec, *args):
        return rec.elementwise(op, *[_truth(rec, a) for a in args], kind="b")

    return make


def _bitwise(op):
    def make(rec, *args):
        if any(a.kind != "b" for a in args):
            rec.refuse("it uses bits of numbers")
        return rec.elementwise(op, *args, kind="b")

    return make


def _compare(op):
    def make(rec, a, b):
        return rec.elementwise(op, _truth(rec, a), _truth(rec, b), kind="b")

    return make


def _xor(rec, a, b):
    zero = rec.number(0.0)
    return rec.elementwise(
        "!=", rec.elementwise("!=", a, zero, kind="b"), rec.elementwise("!=", b, zero, kind="b"), kind="b"
    )


def _complex_part(op):
    def make(rec, a):
        if a.kind != "c":
            return {"abs": rec.elementwise("abs", a), "conj": a}[op]
        return rec.elementwise(op, a, kind="c" if op == "conj" else "f")

    return make


class _Formula:
    """Writes a function in terms of others, with ordinary operators."""

    def __init__(self, function):
        self.function = function

    def __call__(self, rec, *nodes):
        return as_node(rec, self.function(*[Traced(rec, n) for n in nodes]))


def _voigt_profile(rec, x, sigma, gamma):
    return rec.elementwise("voigt", x, sigma, gamma)


def _logaddexp(a, b):
    return np.maximum(a, b) + np.log1p(np.exp(-abs(a - b)))


def _log_expit(a):
    return np.minimum(a, 0.0) - np.log1p(np.exp(-abs(a)))


def _xlogy(a, b):
    return np.where((a == 0) & (b == b), 0.0, a * np.log(b))


_ISFINITE_LIMIT = np.finfo(float).max
_FORMULAS = {
    "square": lambda a: a * a,
    "reciprocal": lambda a: 1.0 / a,
    "positive": lambda a: a * 1.0,
    "exp2": lambda a: 2.0**a,
    "floor_divide": lambda a, b: np.floor(a / b),
    "trunc": lambda a: np.where(a < 0, np.ceil(a), np.floor(a)),
    "radians": lambda a: a * (np.pi / 180),
    "deg2rad": lambda a: a * (np.pi / 180),
    "degrees": lambda a: a * (180 / np.pi),
    "rad2deg": lambda a: a * (180 / np.pi),
    "heaviside": lambda a, b: np.where(a < 0, 0.0, np.where(a == 0, b, 1.0)),
    "copysign": lambda a, b: np.where(b < 0, -abs(a), abs(a)),
    "logaddexp": _logaddexp,
    "isnan": lambda a: a != a,
    "isfinite": lambda a: abs(a) <= _ISFINITE_LIMIT,
    "isinf": lambda a: abs(a) > _ISFINITE_LIMIT,
}
_SPECIAL_FORMULAS = {
    "expit": lambda a: 1.0 / (1.0 + np.exp(-a)),
    "logit": lambda a: np.log(a / (1.0 - a)),
    "log_expit": _log_expit,
    "xlogy": _xlogy,
    "xlog1py": lambda a, b: np.where(a == 0, 0.0, a * np.log1p(b)),
    "ndtr": lambda a: _erfc(-a * np.sqrt(0.5)) * 0.5,
    "exp10": lambda a: 10.0**a,
    "exp2": lambda a: 2.0**a,
    "exprel": lambda a: np.where(a == 0, 1.0, np.expm1(a) / a),
    "dawsn": lambda a: _dawson(a),
    "beta": lambda a, b: np.exp(_lgamma(a) + _lgamma(b) - _lgamma(a + b)),
    "betaln": lambda a, b: _lgamma(a) + _lgamma(b) - _lgamma(a + b),
    "entr": lambda a: -_xlogy(a, a),
    "sindg": lambda a: np.sin(a * (np.pi / 180)),
    "cosdg": lambda a: np.cos(a * (np.pi / 180)),
}


def _unary(name, a):
    return Traced(a._rec, a._rec.elementwise(name, a._node))


def _erfc(a):
    return _unary("erfc", a)


def _lgamma(a):
    return _unary("lgamma", a)


def _dawson(a):
    zero = a._rec.number(0.0)
    return Traced(a._rec, a._rec.elementwise("wofz_im", a._node, zero)) * (np.sqrt(np.pi) / 2)


def _operation(op):
    def make(rec, *nodes):
        return rec.elementwise(op, *nodes)

    return make


def _numpy_table():
    table = {getattr(np, name): _operation(op) for name, op in _DIRECT.items()}
    table.update({getattr(np, name): _compare(op) for name, op in _COMPARISONS.items()})
    table.update({getattr(np, name): _Formula(f) for name, f in _FORMULAS.items()})
    table.update({
        np.add: _arithmetic("+", "||"), np.subtract: _arithmetic("-"), np.multiply: _arithmetic("*", "&&"),
        np.power: _power, np.absolute: _complex_part("abs"), np.conjugate: _complex_part("conj"),
        np.logical_and: _logic("&&"), np.logical_or: _logic("||"), np.logical_not: _logic("!"),
        np.logical_xor: _xor, np.bitwise_and: _bitwise("&&"), np.bitwise_or: _bitwise("||"),
        np.invert: _bitwise("!"), np.bitwise_xor: _xor,
    })  # fmt: skip
    return table


TABLE = _numpy_table()
_looked_at_scipy = False


def _handler(ufunc):
    global _looked_at_scipy
    found = TABLE.get(ufunc)
    special = sys.modules.get("scipy.special")
    if found is None and special is not None and not _looked_at_scipy:
        _looked_at_scipy = True
        pairs = [(n, _operation(op)) for n, op in _SPECIAL.items()]
        pairs += [(n, _Formula(f)) for n, f in _SPECIAL_FORMULAS.items()] + [
            ("voigt_profile", _voigt_profile)
        ]
        for name, handler in pairs:
            if isinstance(getattr(special, name, None), np.ufunc):
                TABLE.setdefault(getattr(special, name), handler)
        found = TABLE.get(ufunc)
    return found


def call_ufunc(rec, ufunc, method, inputs, kwargs):
    """Return what a ufunc gives for traced operands."""
    if rec.finished:
        return getattr(ufunc, method)(*map(at_start, inputs), **kwargs)
    out = kwargs.pop("out", None)
    if method == "__call__" and not kwargs and out is None and len(inputs) == 1:
        operand = inputs[0]
        handler = TABLE.get(ufunc)
        if type(operand) is Traced and operand._mask is None and handler is not None:
            return Traced(rec, handler(rec, operand._node))
    name = f"numpy.{ufunc.__name__}"
    if method == "reduce":
        return WHOLE_ARRAYS["reduce"](rec, ufunc, inputs, kwargs, out)
    if method != "__call__":
        rec.refuse(f"it uses {name}.{method}")
    for key, value in kwargs.items():
        if key == "where" and value is True or key in ("casting", "order", "subok"):
            continue
        if key == "dtype" and (value is None or np.dtype(value) == np.float64):
            continue
        rec.refuse(f"it uses {name} with {key}=")
    if ufunc is np.matmul:
        node = WHOLE_ARRAYS["matmul"](rec, *[as_node(rec, i) for i in inputs])
        return deliver(rec, node, out)
    if ufunc.__name__ == "jv" and np.isscalar(inputs[0]) and inputs[0] in (0, 1):
        special = sys.modules["scipy.special"]
        ufunc, inputs = (special.j1 if inputs[0] else special.j0), inputs[1:]
    handler = _handler(ufunc)
    if handler is None:
        rec.refuse(f"it uses {name}, which the tape does not have")
    masks = {id(i._mask): i._mask for i in inputs if isinstance(i, Traced) and i._mask is not None}
    if masks:
        return _under_mask(rec, handler, inputs, masks, out)
    return deliver(rec, handler(rec, *[as_node(rec, i) for i in inputs]), out)


def _under_mask(rec, handler, inputs, masks, out):
    """Records an operation on values that a mask picked. It is done for all rows, under the same mask."""
    if len(masks) != 1 or out is not None:
        rec.refuse("it mixes values under different masks")
    mask = next(iter(masks.values()))
    nodes = []
    for value in inputs:
        if isinstance(value, Traced) and value._mask is not None:
            nodes.append(value._node)
        else:
            nodes.append(as_node(rec, value))
            if nodes[-1].size != 1:
                rec.refuse("it mixes values under a mask with others")
    return Traced(rec, handler(rec, *nodes), mask=mask)


def deliver(rec, node, out=None):
    """Return the result of a function, which is stored in `out` if that was given."""
    if out is None:
        return Traced(rec, node)
    target = out[0] if isinstance(out, tuple) else out
    if isinstance(target, (Traced, Data)):
        if target.shape != node.shape:
            node = rec.gather(
                rec.elementwise("+", node, rec.array(np.zeros(target.shape))), None, target.shape
            )
        if isinstance(target, Data):
            target.carry(rec, node)
        else:
            target._change(node)
        return target
    return rec.refuse("it stores values in an array of numbers")
