"""Provides curve_fit, with SciPy's arguments, results, errors and warnings."""

from __future__ import annotations

import warnings

import numpy as np

from ._agreement import all_finite
from ._callback import takes_long
from ._curve import Curve
from ._curve_fit_input import (
    called_options,
    check_method,
    data,
    derivatives,
    options_of,
    plain_options,
    start,
    without_weight_0,
)
from ._losses import scaled
from ._scipy_words import (
    MESSAGES,
    OptimizeWarning,
    bounds_pair,
    check_bounds,
    feasible_start,
    pivoted_qr,
    pseudo_inverse_covariance,
    status_of,
    warn_if_doubtful,
)
from .recording import guarded

_NO_BOUNDS = (-np.inf, np.inf)
_USABLE = ("converged", "tolerance", "no_progress")  # ends that are no error, if not certified
_UNKNOWN = 0.02  # if the relative error of standard errors exceeds this, they are not known


def curve_fit(
    f,
    xdata,
    ydata,
    p0=None,
    sigma=None,
    absolute_sigma=False,
    check_finite=None,
    bounds=_NO_BOUNDS,
    method=None,
    jac=None,
    *,
    full_output=False,
    nan_policy=None,
    **kwargs,
):
    """Fit a function to data by nonlinear least squares, as ``scipy.optimize.curve_fit`` does.

    The function is recorded once and differentiated symbolically, if that is possible, and otherwise
    called. Every answer is checked in float64.

    Parameters
    ----------
    f : callable
        The model, ``f(x, a, b, ...)``. It gives M values in units of `ydata`.
    xdata : array_like or any object, shape (M,) or (k, M)
        Passed to `f`. Lists, tuples and arrays become arrays of float64.
    ydata : array_like, shape (M,)
        The data.
    p0 : array_like, shape (N,), optional
        Starting values, in units of the parameters. Default: ones, or values within the bounds; if a function
        that is recorded then explains less than 95 % of `ydata`, starts are looked for in the ranges of the data.
    sigma : array_like, shape (M,) or (M, M), optional
        Standard deviations of `ydata` in its units, or its covariance matrix. A row with ``inf`` has no weight,
        and does not count among the data. (SciPy counts it for the scale of `pcov`.)
    absolute_sigma : bool, optional
        Whether `sigma` has the units of `ydata`. If not, `pcov` is scaled by the reduced chi-square.
    check_finite : bool, optional
        Whether NaN and infinity in the data are an error. Default: True without `nan_policy`.
    bounds : 2-tuple of array_like, or scipy.optimize.Bounds, optional
        Lower and upper bounds of the parameters.
    method : {'lm', 'trf', 'dogbox'}, optional
        'dogbox' takes dogleg steps, the others Levenberg-Marquardt steps. All reach the same minimum.
        As in SciPy, 'lm' refuses bounds, and more parameters than data.
    jac : callable or {'2-point', '3-point', 'cs'}, optional
        ``jac(x, a, b, ...)`` gives derivatives, shape (M, N). It is used if `f` is not recorded.
    full_output : bool, optional
        Whether to return `infodict`, `mesg` and `ier`, too.
    nan_policy : {'raise', 'omit'} or None, optional
        What to do about NaN in the data. 'omit' leaves out the rows.
    **kwargs
        `maxfev` or `max_nfev`, `ftol`, `xtol`, `gtol`, `loss`, `f_scale`, `x_scale`, `verbose`, as in
        SciPy, and `col_deriv` with 'lm'.

    Returns
    -------
    popt : ndarray, shape (N,)
        The parameters.
    pcov : ndarray, shape (N, N)
        Their covariance.
    infodict, mesg, ier : dict, str, int
        Only with `full_output`. `infodict` has `nfev`, `fvec`, and for 'lm' `fjac`, `ipvt`, `qtf`; and
        `evaluator`, which says whether `f` was recorded, and if not, why. `ier` is 0 where the answer is
        neither certified nor met a tolerance, and `mesg` says why; otherwise it is 1 to 4, as in SciPy.

    Raises
    ------
    ValueError
        For data that are not finite, and for options that do not fit.
    TypeError
        For fewer data than parameters with 'lm'.
    RuntimeError
        If no minimum was found, or if differences contradict `jac`.

    Warns
    -----
    OptimizeWarning
        If the covariance cannot be estimated, or if the answer is neither certified nor known to be
        within 0.1 standard errors of the minimum.

    Examples
    --------
    >>> import numpy as np, nlsqfit as nf
    >>> x = np.linspace(0, 4, 50)
    >>> popt, pcov = nf.curve_fit(lambda x, a, b: a * np.exp(-b * x), x, 2.5 * np.exp(-1.3 * x))
    >>> print(np.round(popt, 6))
    [2.5 1.3]
    """
    p0, n = start(f, p0)
    lower, upper, bounded = -np.inf, np.inf, False
    if bounds is not _NO_BOUNDS:
        lower, upper = bounds_pair(bounds, n)
        bounded = bool(np.any((lower > -np.inf) | (upper < np.inf)))
    without_start = p0 is None
    if without_start:
        p0 = feasible_start(lower, upper) if bounded else np.array([1.0] * n)
    method = method or ("trf" if bounded else "lm")
    check_method(method, jac, bounded)
    x, y, sigma, check = data(xdata, ydata, sigma, check_finite, nan_policy)
    f, jac, y, sigma, kept = without_weight_0(f, jac, y, sigma)
    if not takes_long(y.size):
        check() if y.size == 1 else check([y])  # the library checks y itself
    if "args" in kwargs:
        raise ValueError("'args' is not a supported keyword argument.")
    if method == "lm":
        if y.size != 1 and n > y.size:
            raise TypeError(
                f"The number of func parameters={n} must not exceed the number of data points={y.size}"
            )
    elif bounds is not _NO_BOUNDS:
        check_bounds(lower, upper, p0)
    own = bounded or absolute_sigma or sigma is not None or y.size == 1 or takes_long(y.size)
    options = options_of(method, kwargs, n, own)
    by_rows = method == "lm" and bool(kwargs.get("col_deriv", False))
    job = _Job(f, x, y, sigma, p0, lower, upper, jac, options, by_rows, "xtol" in kwargs, check)
    if method != "lm":
        job.loss, job.f_scale = kwargs.get("loss", "linear"), kwargs.get("f_scale", 1.0)
        job.check_start()
    if bounded:
        options.set_array("lower", lower)
        options.set_array("upper", upper)
    if absolute_sigma:
        options.set("absolute_sigma", True)
    popt, pcov, result = job.run(method, absolute_sigma, without_start)
    if kwargs.get("verbose", 0):
        cost = result.number("cost")
        print(f"{result.text('message')}\n{int(result.number('iterations'))} steps, final cost {cost:.4e}.")
    if not full_output:
        return popt, pcov
    return (popt, pcov, *job.information(result, popt, method, kept))


def _stand_in(f, x):
    data = guarded(x)
    return lambda *p: f(data, *p)


class _Job:
    """One call of curve_fit, once its arguments are checked."""

    def __init__(self, f, x, y, sigma, p0, lower, upper, jac, options, by_rows, tolerance, check):
        self.loss, self.f_scale = "linear", 1.0
        self.options, self.p0, self.sigma = options, p0, sigma
        first = None
        if y.size == 1:  # then the data may be one number for all rows
            first = np.array(f(x, *p0), dtype=float).reshape(-1)
            y = np.full(first.size, y[0])
        jacobian = derivatives(jac, x, y.size, p0.size, by_rows)
        self.missing = max(0, p0.size - y.size)
        self.curve = Curve(
            lambda *p: f(x, *p), lambda: _stand_in(f, x), y, p0.size, jacobian=jacobian, source=(f, x),
            check=check,
        )  # fmt: skip
        if self.missing:
            raise ValueError(
                f"{p0.size} parameters cannot be fitted to {y.size} data values; fix some of them, or add data"
            )
        if sigma is not None:
            if sigma.ndim == 2:
                options.set_matrix("sigma_matrix", self._covariance(sigma))
            else:
                options.set_column("sigma", np.broadcast_to(sigma, y.shape))
        self.curve.prepare(p0, lower, upper, first=first)
        if self.curve.reason and not tolerance:
            self._end_as_scipy_does()

    def _end_as_scipy_does(self):
        """Sets SciPy's xtol of 1e-8 for a function that is called."""
        if self.options is plain_options():  # these are shared and must not change
            self.options = called_options()
        else:
            self.options.set("xtol", 1e-8)

    @staticmethod
    def _covariance(sigma):
        try:
            np.linalg.cholesky(sigma)
        except np.linalg.LinAlgError as error:
            raise ValueError("`sigma` must be positive definite.") from error
        return sigma

    def check_start(self):
        """Raises the exception of SciPy's 'trf' and 'dogbox' if the model is not finite at the start."""
        first = self.curve.at_start
        if not np.isfinite(self.curve.values(self.p0) if first is None else first).all():
            raise ValueError("Residuals are not finite in the initial point.")

    def run(self, method, absolute_sigma, without_start):
        curve = self.curve
        result = curve.fit(self.p0, self.options)
        if without_start and self._is_poor(result):
            result = self._search(result)
        popt = curve.answer
        self._judge(result)
        pcov = curve.covariance
        infinite = False
        if self.loss != "linear":
            pcov = self._robust_covariance(popt, result, absolute_sigma)
        elif not all_finite(pcov):
            J = self.weighted(curve.jacobian_at(popt))
            rank = np.linalg.matrix_rank(J / np.maximum(np.linalg.norm(J, axis=0), 1e-300), tol=1e-11)
            if method == "lm" and rank < popt.size:
                infinite = True
            else:
                pcov = pseudo_inverse_covariance(J)
                if rank < popt.size:
                    warnings.warn(
                        f"the data determine {rank} of {popt.size} directions of the parameters: pcov is that of a "
                        "pseudo-inverse, as in SciPy, and its standard errors are too small",
                        OptimizeWarning,
                        stacklevel=3,
                    )
                if not absolute_sigma and curve.rows > popt.size:
                    pcov *= 2 * result.number("cost") / (curve.rows - popt.size)
        # Without any scatter, parameters that the data do not determine would seem exact.
        infinite = infinite or not curve.certified and not pcov.any()
        infinite = infinite or curve.slopes_error > _UNKNOWN  # differences have too few digits
        if infinite or not absolute_sigma and curve.rows <= popt.size:
            pcov = np.full((popt.size, popt.size), np.inf)
            warnings.warn(
                "Covariance of the parameters could not be estimated", OptimizeWarning, stacklevel=3
            )
        return popt, pcov, result

    def _is_poor(self, result):
        """Return True if a fit of a recorded function is no success, or explains less than 95 % of y."""
        return not self.curve.reason and not (self.curve.certified and result.number("r_squared") >= 0.95)

    def _search(self, result):
        """Return the better one of this fit and of one for which the library looks for starting values."""
        curve = self.curve

        def rank(fit):
            return curve.certified, fit.text("status") in _USABLE, -fit.number("cost")

        before, kept = rank(result), (curve.certified, curve.answer, curve.covariance, curve.fitted)
        curve.unstarted = np.full(self.p0.size, True)
        found = curve.fit(self.p0, self.options)
        if rank(found) > before or curve.reason:  # the function may turn out to differ from its recording
            return found
        curve.certified, curve.answer, curve.covariance, curve.fitted = kept
        curve.slopes = None
        return result

    def _robust_covariance(self, popt, result, absolute_sigma):
        """Return SciPy's covariance with a loss: the inverse Gauss-Newton matrix, scaled by the cost."""
        curve = self.curve
        _, J = scaled(
            self.loss,
            self.f_scale,
            self.weighted(curve.fitted - curve.y),
            self.weighted(curve.jacobian_at(popt)),
        )
        pcov = pseudo_inverse_covariance(J)
        if not absolute_sigma and curve.rows > popt.size:
            pcov *= 2 * result.number("cost") / (curve.rows - popt.size)
        return pcov

    def _judge(self, result):
        """Raises if there is no minimum, and warns if it is neither certified nor known to be near."""
        if self.curve.certified:
            return
        if self.curve.reason and self._changes_x():
            raise RuntimeError(
                "Optimal parameters not found: the function changes its x; let it work on a copy (x = x.copy())"
            )
        contradicted = self.curve.jacobian is not None and result.number("wrong_column") >= 0
        if not contradicted and result.text("status") in _USABLE:
            warn_if_doubtful(result, False, stacklevel=4)
            return
        raise RuntimeError("Optimal parameters not found: " + result.text("message"))

    def _changes_x(self):
        """Return True if the function changes x in each call. Restores x."""
        x = self.curve.source[1]
        if not isinstance(x, np.ndarray) or x.dtype.kind != "f" or not x.flags.writeable:
            return False
        before = x.copy()
        try:
            self.curve.values(self.curve.answer)
        except Exception:
            return False
        changed = not np.array_equal(x, before, equal_nan=True)
        x[...] = before
        return changed

    def weighted(self, values):
        """Return residuals or derivatives in units of their standard deviations."""
        if self.sigma is None:
            return values
        if self.sigma.ndim == 2:
            return np.linalg.solve(np.linalg.cholesky(self.sigma), values)
        sigma = np.broadcast_to(self.sigma, (self.curve.rows,))
        return values / (sigma if values.ndim == 1 else sigma[:, None])

    def information(self, result, popt, method, kept):
        """Return infodict, mesg and ier. `kept` marks the rows of the fit, or is None for all."""
        ier, words = status_of(result, self.curve.certified), result.text("message")
        information = {"nfev": self.curve.calls + int(result.number("iterations"))}
        information["fvec"] = self.weighted(self.curve.fitted - self.curve.y)
        information["evaluator"] = self.curve.evaluator
        if method == "lm":
            R, pivots, Q = pivoted_qr(self.weighted(self.curve.jacobian_at(popt)))
            fjac = np.zeros((popt.size, self.curve.rows))
            fjac[:, : popt.size] = R.T
            information.update(fjac=fjac, ipvt=(pivots + 1).astype(np.int32), qtf=Q.T @ information["fvec"])
        for name in ("fvec", "fjac") if kept is not None else ():
            if name in information:
                whole = np.zeros((*information[name].shape[:-1], kept.size))
                whole[..., kept] = information[name]
                information[name] = whole
        return information, MESSAGES[ier] + " " + words if ier else words, ier
