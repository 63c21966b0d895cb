"""Lowers complex arithmetic to a tape, which has only real numbers. A complex number is a pair of entries."""

from __future__ import annotations

from .nodes import NotRecordable


def lower(tape, op, operands):
    """Return the entry of a real result, or the pair of entries of a complex one."""
    function = _OPERATIONS.get(op)
    if function is None:
        raise NotRecordable(f"it applies {op} to complex numbers")
    return function(tape, *[a if isinstance(a, tuple) else (a, tape.constant(0.0)) for a in operands])


def _add(t, a, b):
    return (t.add(a[0], b[0]), t.add(a[1], b[1]))


def _sub(t, a, b):
    return (t.sub(a[0], b[0]), t.sub(a[1], b[1]))


def _mul(t, a, b):
    return (
        t.sub(t.mul(a[0], b[0]), t.mul(a[1], b[1])),
        t.add(t.mul(a[0], b[1]), t.mul(a[1], b[0])),
    )


def _div(t, a, b):
    size = t.add(t.mul(b[0], b[0]), t.mul(b[1], b[1]))
    top = _mul(t, a, (b[0], t.neg(b[1])))
    return (t.div(top[0], size), t.div(top[1], size))


def _neg(t, a):
    return (t.neg(a[0]), t.neg(a[1]))


def _abs(t, a):
    return t.append("hypot", a[0], a[1])


def _exp(t, a):
    size = t.append("exp", a[0])
    return (t.mul(size, t.append("cos", a[1])), t.mul(size, t.append("sin", a[1])))


def _log(t, a):
    return (t.append("log", _abs(t, a)), t.append("atan2", a[1], a[0]))


def _sqrt(t, a):
    # These are the half-angle forms. The sign of the imaginary part is that of a's (+ for 0).
    size = _abs(t, a)
    half = t.constant(0.5)
    zero = t.constant(0.0)
    real = t.append("sqrt", t.mul(half, t.append("max", t.add(size, a[0]), zero)))
    imag = t.append("sqrt", t.mul(half, t.append("max", t.sub(size, a[0]), zero)))
    return (real, t.append("if", t.append("<", a[1], zero), t.neg(imag), imag))


def _pow(t, a, b):
    exponent = t.value(b[0]) if t.value(b[1]) == 0 else None
    if exponent is not None and exponent == int(exponent) and 1 <= abs(exponent) <= 16:
        result = a
        for _ in range(int(abs(exponent)) - 1):
            result = _mul(t, result, a)
        return result if exponent > 0 else _div(t, (t.constant(1.0), t.constant(0.0)), result)
    return _exp(t, _mul(t, b, _log(t, a)))


def _half_sum(t, a, b):
    return (t.mul(t.constant(0.5), t.add(a[0], b[0])), t.mul(t.constant(0.5), t.add(a[1], b[1])))


def _sinh(t, a):
    return _half_sum(t, _exp(t, a), _neg(t, _exp(t, _neg(t, a))))


def _cosh(t, a):
    return _half_sum(t, _exp(t, a), _exp(t, _neg(t, a)))


def _tanh(t, a):
    return _div(t, _sinh(t, a), _cosh(t, a))


def _if(t, c, a, b):
    return (t.append("if", c[0], a[0], b[0]), t.append("if", c[0], a[1], b[1]))


def _wofz(t, a):
    return (t.append("wofz_re", a[0], a[1]), t.append("wofz_im", a[0], a[1]))


_OPERATIONS = {
    "+": _add,
    "-": lambda t, a, *b: _sub(t, a, *b) if b else _neg(t, a),
    "*": _mul,
    "/": _div,
    "^": _pow,
    "abs": _abs,
    "exp": _exp,
    "log": _log,
    "sqrt": _sqrt,
    "sinh": _sinh,
    "cosh": _cosh,
    "tanh": _tanh,
    "if": _if,
    "wofz": _wofz,
    "real": lambda t, a: a[0],
    "imag": lambda t, a: a[1],
    "conj": lambda t, a: (a[0], t.neg(a[1])),
    "angle": lambda t, a: t.append("atan2", a[1], a[0]),
}
