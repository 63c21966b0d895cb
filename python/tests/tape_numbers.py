"""Evaluates tapes by a plain second implementation in NumPy, to test recordings without the library."""

import numpy as np
from scipy import special


def _voigt(x, sigma, gamma):
    return special.voigt_profile(x, sigma, gamma)


OPERATIONS = {
    "+": lambda a, *b: a + b[0] if b else a, "-": lambda a, *b: a - b[0] if b else -a,
    "*": lambda a, b: a * b, "/": lambda a, b: a / b, "^": np.power, "mod": np.mod, "fmod": np.fmod,
    "min": np.minimum, "max": np.maximum, "atan2": np.arctan2, "hypot": np.hypot,
    "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "==": np.equal,
    "!=": np.not_equal, "&&": np.logical_and, "||": np.logical_or, "!": np.logical_not,
    "if": lambda c, a, b: np.where(c != 0, a, b), "voigt": _voigt, "sqrt": np.sqrt, "cbrt": np.cbrt,
    "exp": np.exp, "expm1": np.expm1, "log": np.log, "log2": np.log2, "log10": np.log10, "log1p": np.log1p,
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh,
    "atanh": np.arctanh, "abs": np.abs, "sign": np.sign, "floor": np.floor, "ceil": np.ceil,
    "erf": special.erf, "erfc": special.erfc, "erfcx": special.erfcx, "gamma": special.gamma,
    "lgamma": special.gammaln, "digamma": special.psi, "besj0": special.j0, "besj1": special.j1,
    "wofz_re": lambda a, b: special.wofz(a + 1j * b).real, 
    "wofz_im": lambda a, b: special.wofz(a + 1j * b).imag,
}  # fmt: skip


def evaluate(entries, result, columns, p, rows):
    """Return the values of a tape for all rows."""
    values = []
    with np.errstate(all="ignore"):
        for name, *operands in entries:
            if name == "constant":
                values.append(np.float64(operands[0]))
            elif name == "column":
                values.append(columns[operands[0]])
            elif name == "parameter":
                values.append(np.float64(p[operands[0]]))
            else:
                made = OPERATIONS[name](*[values[i] for i in operands])
                values.append(np.asarray(made, dtype=float))
    return np.broadcast_to(values[result], (rows,)).astype(float)
