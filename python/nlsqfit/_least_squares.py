"""Provides least_squares, with SciPy's arguments and results."""

from __future__ import annotations

import numpy as np

from . import _losses
from ._callback import refuse_hidden
from ._curve import Curve
from ._handles import Options
from ._scipy_words import LOSSES, MESSAGES, METHODS, SCHEMES, TR_SOLVERS
from ._scipy_words import bounds_pair, check_bounds, check_scale, status_of, warn_if_doubtful
from .recording import guarded


class LeastSquaresResult(dict):
    """The result of `least_squares`: SciPy's fields as attributes, and more.

    Attributes
    ----------
    x : ndarray, shape (n,)
        The parameters.
    cost : float
        Half the sum of rho of the squared residuals.
    fun : ndarray, shape (m,)
        The residuals at `x`, without the loss.
    jac : ndarray, shape (m, n)
        Derivatives, scaled for the loss as in SciPy.
    grad : ndarray, shape (n,)
        Gradient of the cost.
    optimality : float
        Largest component of the gradient that no bound explains.
    active_mask : ndarray of int, shape (n,)
        -1 or 1 where `x` is on its lower or upper bound.
    nfev, njev : int
        Steps that were evaluated, and those that were accepted; `njev` is None for 'lm'.
    status, message, success : int, str, bool
        As in SciPy. If the answer is not certified and met no tolerance, status is 0 and `message` says why.
    certified : bool
        Whether the minimum passed the checks in float64.
    std_errors : ndarray, shape (n,)
        Standard errors of `x`, scaled by the scatter of the residuals.
    evaluator : str
        "recorded", or why `fun` was called; "scipy" if SciPy solved the problem.
    """

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    __setattr__ = dict.__setitem__

    def __repr__(self):
        width = max(map(len, self), default=0)
        return "\n".join(f"{k:>{width}}: {v!r}" for k, v in self.items())


def least_squares(
    fun,
    x0,
    jac="2-point",
    bounds=(-np.inf, np.inf),
    method="trf",
    ftol=1e-8,
    xtol=1e-8,
    gtol=1e-8,
    x_scale=1.0,
    loss="linear",
    f_scale=1.0,
    diff_step=None,
    tr_solver=None,
    tr_options=None,
    jac_sparsity=None,
    max_nfev=None,
    verbose=0,
    args=(),
    kwargs=None,
    callback=None,
    workers=None,
):
    """Minimize half the sum of squares of a vector function, as ``scipy.optimize.least_squares`` does.

    Parameters
    ----------
    fun : callable
        ``fun(x, *args, **kwargs)`` gives m residuals. It is recorded and differentiated symbolically if
        that is possible.
    x0 : array_like, shape (n,)
        Starting values.
    jac : {'2-point', '3-point', 'cs'} or callable
        ``jac(x, *args, **kwargs)`` gives the derivatives, shape (m, n). It is used if `fun` is not recorded.
    bounds, method, x_scale, loss, f_scale, max_nfev, verbose, args, kwargs
        As in SciPy.
    ftol, xtol, gtol : float or None
        SciPy's tests stop a search. Here they can only make the checks stricter: a value below 1e-10
        replaces that default of `xtol` and `gtol`.
    diff_step, tr_solver, tr_options
        Checked as in SciPy. They choose between ways to the same minimum.
    jac_sparsity, callback, workers
        With them, with a sparse `jac`, with a function as `loss`, and with fewer residuals than parameters,
        SciPy solves the problem.

    Returns
    -------
    LeastSquaresResult

    Warns
    -----
    OptimizeWarning
        If the answer is neither certified nor known to be within 0.1 standard errors of the minimum.

    Examples
    --------
    >>> import numpy as np, nlsqfit as nf
    >>> res = nf.least_squares(lambda p: np.array([10 * (p[1] - p[0] ** 2), 1 - p[0]]), [-1.2, 1])
    >>> print(np.round(res.x, 8), res.certified)
    [1. 1.] True
    """
    kwargs = {} if kwargs is None else kwargs
    _check(method, jac, tr_solver, loss, verbose, max_nfev, ftol, xtol, gtol)
    if np.iscomplexobj(x0):
        raise ValueError("`x0` must be real.")
    x0 = np.atleast_1d(x0).astype(float)
    if x0.ndim > 1:
        raise ValueError("`x0` must have at most 1 dimension.")
    lower, upper = bounds_pair(bounds, x0.size)
    bounded = bool(np.any((lower > -np.inf) | (upper < np.inf)))
    if method == "lm" and bounded:
        raise ValueError("Method 'lm' doesn't support bounds.")
    check_bounds(lower, upper, x0)
    check_scale(x_scale, x0.size)
    f0 = fun(x0.copy(), *args, **kwargs)
    refuse_hidden(f0)
    f0 = np.atleast_1d(np.array(f0))
    if f0.ndim != 1:
        raise ValueError(f"`fun` must return at most 1-d array_like. f0.shape: {f0.shape}")
    if not np.all(np.isfinite(f0)):
        raise ValueError("Residuals are not finite in the initial point.")
    if method == "lm" and f0.size < x0.size:
        raise ValueError(
            "Method 'lm' doesn't work when the number of residuals is less than the number of variables."
        )
    jacobian = _jacobian(jac, f0.size, x0, args, kwargs, method)
    newer = {
        name: value for name, value in (("callback", callback), ("workers", workers)) if value is not None
    }
    if jac_sparsity is not None or jacobian == "sparse" or callable(loss) or f0.size < x0.size or newer:
        return _by_scipy(fun, x0, jac=jac, bounds=bounds, method=method, ftol=ftol, xtol=xtol, gtol=gtol,
                         x_scale=x_scale, loss=loss, f_scale=f_scale, diff_step=diff_step, tr_solver=tr_solver,
                         tr_options=tr_options or {}, jac_sparsity=jac_sparsity, max_nfev=max_nfev,
                         verbose=verbose, args=args, kwargs=kwargs, **newer)  # fmt: skip
    options = Options(solve_linear_start=False, residuals=False)
    _set_options(options, method, loss, f_scale, max_nfev, xtol, gtol, bounded, lower, upper)
    def stand_in():
        data, named = guarded(tuple(args)), guarded(dict(kwargs))
        return lambda p: fun(p, *data, **named)

    curve = Curve(
        lambda p: np.atleast_1d(fun(p, *args, **kwargs)), stand_in, np.zeros(f0.size), x0.size,
        as_vector=True, jacobian=jacobian,
    )  # fmt: skip
    curve.first_single = f0.dtype == np.float32
    curve.prepare(x0, lower, upper, first=np.asarray(f0, dtype=float))
    result = _collect(curve, curve.fit(x0, options), lower, upper, loss, f_scale, method)
    if verbose:
        print(result.message)
        print(f"Function evaluations {result.nfev}, final cost {result.cost:.4e}, "
              f"first-order optimality {result.optimality:.2e}.")  # fmt: skip
    return result


def _check(method, jac, tr_solver, loss, verbose, max_nfev, ftol, xtol, gtol):
    if method not in METHODS:
        raise ValueError("`method` must be 'trf', 'dogbox' or 'lm'.")
    if not callable(jac) and jac not in SCHEMES:
        raise ValueError("`jac` must be '2-point', '3-point', 'cs' or callable.")
    if tr_solver not in TR_SOLVERS:
        raise ValueError("`tr_solver` must be None, 'exact' or 'lsmr'.")
    if not callable(loss) and loss not in LOSSES:
        raise ValueError(f"`loss` must be one of {LOSSES} or a callable.")
    if method == "lm" and loss != "linear":
        raise ValueError("method='lm' supports only 'linear' loss function.")
    if verbose not in (0, 1, 2):
        raise ValueError("`verbose` must be in [0, 1, 2].")
    if max_nfev is not None and max_nfev <= 0:
        raise ValueError("`max_nfev` must be None or positive integer.")
    eps = np.finfo(float).eps
    small = [t is None or t < eps for t in (ftol, xtol, gtol)]
    if all(small) or method == "lm" and any(small):
        raise ValueError(
            f"the tolerances ftol, xtol and gtol must not be below the machine epsilon {eps:.2e}"
        )


def _jacobian(jac, m, x0, args, kwargs, method):
    """Return the user's derivatives as a function of p, or "sparse" if they are, or None if there are none."""
    if not callable(jac):
        return None
    first = jac(x0.copy(), *args, **kwargs)
    if not isinstance(first, np.ndarray) and hasattr(first, "shape") and hasattr(first, "dot"):
        if method == "lm":
            raise ValueError("method='lm' works only with dense Jacobian matrices.")
        return "sparse"
    first = np.atleast_2d(first)
    if first.shape != (m, x0.size):
        raise ValueError(
            f"The return value of `jac` has wrong shape: expected {(m, x0.size)}, actual {first.shape}."
        )
    return lambda p: np.atleast_2d(jac(p, *args, **kwargs))


def _set_options(options, method, loss, f_scale, max_nfev, xtol, gtol, bounded, lower, upper):
    for name, value in (("xtol", xtol), ("gtol", gtol)):
        if value is not None and 0 < value < 1e-10:
            options.set(name, value)
    if loss != "linear":
        options.set("loss", loss)
        options.set("f_scale", f_scale)
    if max_nfev is not None:
        options.set("max_iterations", max_nfev - 1)
    if method == "dogbox":
        options.set("strategy", "dogleg")
    if bounded:
        options.set_array("lower", lower)
        options.set_array("upper", upper)


def _collect(curve, result, lower, upper, loss, f_scale, method):
    x = result.array("parameters")
    fun = curve.fitted
    J = curve.jacobian_at(x)
    gradient, jac = _losses.scaled(loss, f_scale, fun, J)
    active = np.where(x <= lower, -1, np.where(x >= upper, 1, 0))
    pushed = (active == -1) & (gradient > 0) | (active == 1) & (gradient < 0)
    certified, ended = bool(result.number("success")), result.text("status")
    status = status_of(result, certified)
    if ended != "max_iterations":  # as in SciPy, `success` says so
        warn_if_doubtful(result, certified, stacklevel=3)
    own_words = status == 0 and ended != "max_iterations"
    message = result.text("message") if own_words else MESSAGES[status]
    if result.text("verdict") == "RANK_DEFICIENT":
        message += f" The residuals determine only {int(result.number('rank'))} of {x.size} parameters."
    steps = int(result.number("iterations"))
    return LeastSquaresResult(
        x=x, cost=result.number("cost"), fun=fun, jac=jac, grad=gradient,
        optimality=float(np.abs(np.where(pushed, 0.0, gradient)).max()), active_mask=active,
        nfev=1 + steps, njev=None if method == "lm" else 1 + int(result.number("accepted")),
        status=status, message=message, success=status > 0,
        certified=certified, std_errors=result.array("std_errors"),
        evaluator=curve.evaluator,
    )  # fmt: skip


def _by_scipy(fun, x0, **options):
    try:
        from scipy.optimize import least_squares as theirs
    except ImportError:
        raise NotImplementedError(
            "sparse Jacobians, jac_sparsity, functions as loss and fewer residuals than parameters need SciPy"
        ) from None
    result = LeastSquaresResult(theirs(fun, x0, **options))
    result.update(certified=False, evaluator="scipy")
    return result
