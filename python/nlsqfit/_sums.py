"""Fits data in several places, by `partial_sums` of each block and `solve_sums` of them all."""

from __future__ import annotations

from ctypes import byref, c_void_p
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from ._callback import call_library
from ._curve import Curve
from ._fit_options import limits, parameter_names, predictors
from ._handles import Model, Options, Result, column_of, columns_of, doubles
from ._library import check, lib
from .recording import guarded


@dataclass(frozen=True)
class SumsStep:
    """The result of `solve_sums`: the point where sums are wanted next or, if `done`, the answer.

    Attributes
    ----------
    parameters : ndarray, shape (n,)
        Where the sums are wanted next. If `done`, the fitted parameters.
    done : bool
        Whether this is the answer. The attributes below are None until then.
    success : bool
        Whether the answer is certified as a minimum.
    verdict, status, message, governed_by : str
        The verdict, why the iteration ended, a message about it, and the test that decided.
    cost : float
        Half the sum of squares.
    covariance, std_errors : ndarray, shapes (n, n) and (n,)
        Those of the parameters. NaN where the data do not determine them.
    decrement_sigma, condition : float
        The distance to the minimum in standard errors, and the condition number of the scaled Jacobian.
    rank, rows, passes : int
        How many parameters the data determine, how many rows there are, and how many passes were made over
        them.
    """

    parameters: np.ndarray
    done: bool = False
    success: bool = None
    verdict: str = None
    status: str = None
    message: str = None
    governed_by: str = None
    cost: float = None
    covariance: np.ndarray = None
    std_errors: np.ndarray = None
    decrement_sigma: float = None
    condition: float = None
    rank: int = None
    rows: int = None
    passes: int = None
    _points: np.ndarray = field(default=None, repr=False)
    _sums: np.ndarray = field(default=None, repr=False)
    _options: dict = field(default=None, repr=False)


def partial_sums(model, params, columns):
    """Compute the sums over a block of rows that a step of a fit needs: cost, gradient, JᵀJ and a few more.

    Parameters
    ----------
    model : str or callable
        As for `fit`: a formula, a built-in model, a sum of them, or a function ``f(x, a, b, ...)``.
    params : array_like, shape (n,)
        All parameters, in the order of the function's arguments. For a formula, in the order of their first
        appearance, which `fit` shows.
    columns : tuple ``(x, y)`` or ``(x, y, sigma)``
        The rows: predictors and data as for `fit`, and standard deviations of y, shape (M,) or a number.

    Returns
    -------
    ndarray, shape (k,)
        Float64 numbers. Add those of several blocks: ``sum(partial_sums(...) for ...)``. If the model is not
        finite, all of them are NaN except the number of rows.

    Notes
    -----
    In each call, a recorded function is compared with its recording on every row of the block. A function
    that cannot be recorded is called some 2 n + 3 times, and its derivatives are differences. Beside a large
    offset of y they are extrapolated, by about ten calls for each parameter.

    Examples
    --------
    >>> import numpy as np, nlsqfit as nf
    >>> x = np.linspace(0, 4, 50)
    >>> whole = nf.partial_sums("a*x + b", [1, 2], (x, 3 * x))
    >>> parts = [nf.partial_sums("a*x + b", [1, 2], (x[s], 3 * x[s])) for s in (slice(20), slice(20, 50))]
    >>> print(np.allclose(sum(parts), whole), whole[0], round(whole[1], 5))
    True 50.0 238.77551
    """
    if not isinstance(columns, (tuple, list)) or len(columns) not in (2, 3):
        raise TypeError("columns must be (x, y) or (x, y, sigma)")
    x, y, sigma = columns if len(columns) == 3 else (*columns, None)
    y = np.asarray(y, dtype=float).reshape(-1)
    p = np.atleast_1d(np.asarray(params, dtype=float))
    if sigma is not None:
        sigma = np.broadcast_to(np.asarray(sigma, dtype=float), y.shape)
    if isinstance(model, str):
        names, arrays = predictors(x)
        compiled = _text_model(model, None if names is None else tuple(names), len(arrays))
        _check_count(p, compiled.names)
        return _sums(compiled, arrays, p, y, sigma)
    if not callable(model):
        raise TypeError(f"a model is a text or a function, not {type(model).__name__}")
    _check_count(p, parameter_names(model, p))
    curve = _curve(model, x, y, p)
    if not curve.reason:
        return _sums(curve.model, curve.columns, p, y, sigma)
    return _called_sums(curve, p, sigma)


def solve_sums(sums, at, *, bounds=None, absolute_sigma=None, max_iterations=None, xtol=None, gtol=None):
    """Compute the next step of a fit, from the sums of all blocks of rows.

    Parameters
    ----------
    sums : array_like, shape (k,)
        The sum of `partial_sums` of all blocks.
    at : array_like, shape (n,), or SumsStep
        Where they were taken: the starting values, or the result of the previous call.
    bounds : 2-tuple or Bounds, optional
        Lower and upper bounds of all parameters. Give these and the options below only in the first call.
    absolute_sigma : bool, optional
        Whether `sigma` has the units of y. If not, errors are scaled by the scatter of the fit.
    max_iterations : int, optional
        The most steps. Default: 1000.
    xtol, gtol : float, optional
        The tests of the answer, as in `fit`. Default: 1e-10.

    Returns
    -------
    SumsStep

    Notes
    -----
    The steps and tests are those of `fit` in float64. The start is used as it is: linear parameters are not
    solved for first, so poor starts need more passes. Nothing is certified if columns of the Jacobian are so
    alike that sums of their products have too few digits, or if rounding errors may hide the minimum. Only
    the number of rows is checked to find out whether every pass had the same rows.

    Examples
    --------
    >>> import numpy as np, nlsqfit as nf
    >>> x = np.linspace(0, 4, 50)
    >>> blocks = [(part, 2.5 * np.exp(-1.3 * part) + 0.5) for part in np.array_split(x, 4)]
    >>> def total(p):
    ...     return sum(nf.partial_sums("a*exp(-b*x)+c", p, block) for block in blocks)
    >>> step = nf.solve_sums(total([1, 1, 0]), [1, 1, 0])
    >>> while not step.done:
    ...     step = nf.solve_sums(total(step.parameters), step)
    >>> print(np.round(step.parameters, 6), step.success)
    [2.5 1.3 0.5] True
    """
    given = dict(
        bounds=bounds, absolute_sigma=absolute_sigma, max_iterations=max_iterations, xtol=xtol, gtol=gtol
    )
    sums = doubles(sums).reshape(1, -1)
    if isinstance(at, SumsStep):
        if at.done:
            raise ValueError("this step is the answer; there is no other one behind it")
        if any(value is not None for value in given.values()):
            raise ValueError("options belong to the first call; the step knows them")
        given = at._options
        point, points, sums_before = at.parameters, at._points, at._sums
    else:
        point = np.atleast_1d(np.asarray(at, dtype=float)).reshape(-1)
        points, sums_before = np.empty((0, point.size)), np.empty((0, sums.size))
    n = point.size
    wanted = lib.nlsq_sums_size(n)
    if sums.size != wanted:
        raise ValueError(f"there are {sums.size} sums; {n} parameters have {wanted}")
    points, sums = np.vstack([points, point]), np.vstack([sums_before, sums])
    following, result, options = np.empty(n), c_void_p(), _options(given, n)
    status = lib.nlsq_solve_sums(
        points.ctypes.data, sums.ctypes.data, len(points), n, options.handle, following.ctypes.data,
        byref(result),
    )  # fmt: skip
    check(status)
    if not result.value:
        return SumsStep(following, _points=points, _sums=sums, _options=given)
    return _answer(Result(result), len(points))


def _answer(result, passes):
    texts = {name: result.text(name) for name in ("verdict", "status", "message", "governed_by")}
    return SumsStep(
        result.array("parameters"), True, success=bool(result.number("success")), cost=result.number("cost"),
        covariance=result.square("covariance"), std_errors=result.array("std_errors"),
        decrement_sigma=result.number("decrement_sigma"), condition=result.number("condition"),
        rank=int(result.number("rank")), rows=int(result.number("rows")), passes=passes, **texts,
    )  # fmt: skip


def _options(given, n):
    options = Options()
    for name in ("absolute_sigma", "max_iterations", "xtol", "gtol"):
        options.set(name, given[name])
    if given["bounds"] is not None:
        lower, upper = limits(given["bounds"], [f"x[{j}]" for j in range(n)])
        options.set_array("lower", lower)
        options.set_array("upper", upper)
    return options


@lru_cache(maxsize=16)
def _text_model(text, names, predictors):
    return Model.from_text(text, names, predictors)


def _check_count(p, names):
    if p.shape != (len(names),):
        raise ValueError(f"params has shape {p.shape} for {len(names)} parameters ({', '.join(names)})")


def _curve(function, x, y, p):
    """Return the curve over these rows, recorded if the recording agrees at p on every row."""
    if isinstance(x, (list, np.ndarray)):
        x = np.asarray(x, dtype=float)

    def stand_in():
        data = guarded(x)
        return lambda *p: function(data, *p)

    curve = Curve(lambda *p: function(x, *p), stand_in, y, p.size, source=(function, x))
    curve.prepare(p, None, None)
    objection = curve.meanwhile() if not curve.reason and curve.meanwhile is not None else ""
    if objection:
        curve._doubt(objection)
    return curve


def _sums(model, arrays, p, y, sigma, user=None):
    keep, options = [], Options()
    if sigma is not None:
        options.set_column("sigma", sigma)
    sums = np.empty(lib.nlsq_sums_size(p.size))
    arguments = (
        model.handle, columns_of(arrays, keep), len(arrays), byref(column_of(y, keep)), p.ctypes.data,
        options.handle, sums.ctypes.data,
    )  # fmt: skip
    if user is not None:
        call_library(lib.nlsq_model_sums, *arguments, user=user)
    else:
        check(lib.nlsq_model_sums(*arguments))
    return sums


def _called_sums(curve, p, sigma):
    """Return the sums for a function that is called. The library takes differences at points beside p."""
    curve.release()
    curve.plain = False
    return curve.beside(
        p, np.array(curve.values(p)), lambda model, user: _sums(model, [], p, curve.y, sigma, user)
    )
