"""The result of `fit`: parameters with errors, the certificate, predictions and a plot."""

from __future__ import annotations

import html
import json
import warnings
from dataclasses import dataclass

import numpy as np

from ._band import bands
from ._bootstrap import bootstrap
from ._fit_options import refuse_masked
from ._handles import Result
from ._intervals import derive, profile_intervals
from ._scipy_words import OptimizeWarning


@dataclass(frozen=True)
class Parameter:
    """A fitted parameter, in units of the model.

    Attributes
    ----------
    name : str
    value, stderr : float
        `stderr` is 0 for a fixed parameter, and NaN where the data do not determine it or a bound holds it.
    ci : tuple of float
        Confidence interval; NaN as above.
    fixed, at_bound : bool
    guess : float
        Where the iteration started.
    """

    name: str
    value: float
    stderr: float
    ci: tuple[float, float]
    fixed: bool
    at_bound: bool
    guess: float

    def __str__(self):
        note = "  (fixed)" if self.fixed else "  (at bound)" if self.at_bound else ""
        return f"{self.name} = {self.value:.6g} ± {self.stderr:.2g}{note}"


@dataclass(frozen=True)
class Certificate:
    """The checks of the answer in float64, and what they found (docs/precision.md).

    Attributes
    ----------
    passed : bool
    verdict : str
        CONVERGED, NOISE_FLOOR, RANK_DEFICIENT, TOLERANCE, BUDGET or FAILED.
    governed_by : str
        The test that decided.
    gradient_norm : float
        Largest cosine between the residuals and a derivative.
    distance : float
        Distance to the optimum, in standard errors.
    condition : float
        Condition number of the scaled normal matrix.
    rank : int
    """

    passed: bool
    verdict: str
    governed_by: str
    gradient_norm: float
    distance: float
    condition: float
    rank: int


@dataclass(frozen=True)
class Prediction:
    """The fitted curve at some x, in units of y. All arrays have one entry for each row.

    Attributes
    ----------
    fit, std_error : ndarray
    confidence : tuple of ndarray
        Low and high ends of the interval for the curve.
    prediction : tuple of ndarray
        The interval for a new measurement.
    """

    fit: np.ndarray
    std_error: np.ndarray
    confidence: tuple[np.ndarray, np.ndarray]
    prediction: tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class _Texts:
    """The texts of a result of the library that are kept when a `Fit` is pickled."""

    _json: str
    _report: str

    def json(self):
        return self._json

    def report(self):
        return self._report


class Fit:
    """The result of `fit`. It can be pickled if its model is a text, or a function that can be pickled.

    After unpickling, the first call of `profile_intervals`, `bootstrap` or `derive` makes the fit again.

    Attributes
    ----------
    params : dict of str to Parameter
    x, stderr : ndarray, shape (n,)
        All values and standard errors in the order of `params`.
    cov, correlation : ndarray, shape (n, n)
    certificate : Certificate
    success : bool
        Whether the answer is certified as a minimum, and the model explains something of y.
    message : str
    cost, rss, chi2_reduced, r_squared, aic, aicc, bic : float
    rows, dof, iterations : int
    residuals, fitted : ndarray, shape (M,)
        Model minus data, and the model, in units of y.
    evaluator : str
        "formula", "recorded", or why the function was called.
    formula : str
        The model as a formula; "" for a function that was called.
    warnings : list of str
    """

    def __init__(self, result, names, formula, evaluator, model, options, begun, x, y, noise, fitted=None):
        # ``model.fit(options, *begun)`` makes the result again.
        self._result, self._model, self._options, self._begun = result, model, options, begun
        self._x, self._y, self._noise = x, np.asarray(y, dtype=float), noise
        array, number, text = result.array, result.number, result.text
        self.x, self.stderr = array("parameters"), array("std_errors")
        low, high = array("ci_low"), array("ci_high")
        fixed, at_bound, guess = array("fixed"), array("at_bound"), array("guess")
        self.params = {
            name: Parameter(
                name, float(self.x[i]), float(self.stderr[i]), (float(low[i]), float(high[i])),
                bool(fixed[i]), bool(at_bound[i]), float(guess[i]),
            )
            for i, name in enumerate(names)
        }  # fmt: skip
        self.cov, self.correlation = result.square("covariance"), result.square("correlation")
        if fitted is None:
            self.residuals, self.fitted = array("residuals"), array("fitted")
        else:
            self.residuals, self.fitted = fitted - self._y, fitted
        self.success, self.message = bool(number("success")), text("message")
        for name in ("cost", "rss", "chi2_reduced", "r_squared", "aic", "aicc", "bic"):
            setattr(self, name, number(name))
        for name in ("rows", "dof", "iterations"):
            setattr(self, name, int(number(name)))
        self.evaluator, self.formula = evaluator, formula
        self.warnings = [line for line in text("warnings").split("\n") if line]
        self.certificate = Certificate(
            self.success, text("verdict"), text("governed_by"), number("gradient_norm"),
            number("decrement_sigma"), number("condition"), int(number("rank")),
        )  # fmt: skip
        self._ties = text("ties").split("\n")
        self._again = None  # the result of the same fit after unpickling
        has_errors = (np.isfinite(self.stderr) & (self.stderr > 0)).any()
        self._quantile = number("quantile") if has_errors else float("nan")

    def __getitem__(self, name):
        return self.params[name]

    def __getstate__(self):
        """Return the state for pickle, in which a handle of the library becomes the texts that it gives."""
        texts = _Texts(self._result.json(), self._result.report())
        return {**self.__dict__, "_result": texts, "_again": None}

    def _solved(self):
        """Return the library's result. A fit that was unpickled has lost it, and makes it again."""
        if isinstance(self._result, Result):
            return self._result
        if self._again is None:
            result = self._model.fit(self._options, *self._begun)
            error = np.nan_to_num(self.stderr)
            far = np.abs(result.array("parameters") - self.x) > 1e-6 * np.abs(self.x) + 1e-3 * error
            far |= np.abs(np.nan_to_num(result.array("std_errors")) - error) > 1e-3 * error
            if far.any() or bool(result.number("success")) != self.success:
                raise ValueError("the fit that was unpickled ends elsewhere when it is made again")
            self._again = result
        return self._again

    def predict(self, x=None, band=False, sigma=None):
        """Evaluate the fitted curve at `x` (default: the data), and its uncertainty by the delta method.

        Parameters
        ----------
        x : as in `fit`, with any number of rows, optional
        band : bool
            Whether to return a `Prediction` instead of the values. A band that is undefined is NaN.
        sigma : array_like, shape (rows,), or float, optional
            Standard deviations of new measurements, for their band. Default: that of the data, if it is the
            same in all rows or `x` is that of the data.

        Returns
        -------
        ndarray, shape (rows,), or Prediction

        Warns
        -----
        OptimizeWarning
            Where a band is undefined. The warning says why.
        """
        refuse_masked(x, "x", "leave out the rows that it hides")
        if not band:
            return self._model.evaluate(x, self.x, False)
        parts, of_curve, of_new = bands(self, x, sigma)
        if of_curve or of_new:
            warnings.warn("; ".join(of_curve + of_new), OptimizeWarning, stacklevel=2)
        return Prediction(*parts)

    def profile_intervals(self, parameters=None, confidence=None):
        """Compute confidence intervals by profile likelihood, which need not be symmetric.

        A parameter is fixed further and further from its estimate, and the others are fitted again. The
        interval ends where the cost has risen by as much as chance would explain. An end takes about six
        fits.

        Parameters
        ----------
        parameters : str or list of str, optional
            Names. Default: all fitted parameters that are not on a bound.
        confidence : float, optional
            In (0, 1). Default: the level of the fit, which is 0.95 unless it was given.

        Returns
        -------
        dict of str to ProfileInterval

        Raises
        ------
        ValueError
            For a fit that is not certified, a robust loss, a fixed parameter or one on its bound.

        Warns
        -----
        OptimizeWarning
            If a fit with a parameter fixed has a lower cost: the answer is then no global minimum.
        """
        return profile_intervals(self, parameters, confidence)

    def bootstrap(self, samples=1000, method=None, derive=(), seed=1, confidence=None):
        """Compute standard errors and intervals from fits to resampled data, without a linear approximation.

        Parameters
        ----------
        samples : int
            At least 2; for stable ends of 95 % intervals, 400 or more.
        method : {'residual', 'case', 'parametric'}, optional
            A sample is the curve plus residuals drawn at random in units of sigma; or rows drawn at random; or
            the curve plus normal errors, or Poisson counts. Default: 'parametric' for counts and for as many
            parameters as rows, 'case' with errors in x, otherwise 'residual'.
        derive : str or list of str
            Further quantities, as in `derive`.
        seed : int
            Chooses the random numbers. The same seed gives the same samples.
        confidence : float, optional
            As in `profile_intervals`.

        Returns
        -------
        Bootstrap

        Raises
        ------
        ValueError
            For a fit that is not certified, for `sigma` as a matrix, and for a method that does not suit the
            fit.

        Warns
        -----
        OptimizeWarning
            If many fits fail, or if there are few samples beyond the ends of the intervals.
        """
        return bootstrap(self, samples, method, derive, seed, confidence)

    def derive(self, *quantities, confidence=None):
        """Compute quantities from the parameters, with errors by the delta method.

        Parameters
        ----------
        *quantities : str
            Such as ``"half_life = log(2)/b"``. Each may use those before it.
        confidence : float, optional
            As in `profile_intervals`.

        Returns
        -------
        dict of str to Quantity

        Warns
        -----
        OptimizeWarning
            Where a number is undefined. The warning says why.
        """
        return derive(self, quantities, confidence)

    def to_dict(self):
        """Return everything, as the JSON of ``nlsq-fit --json``."""
        return json.loads(self._result.json())

    def plot(self, axes=None, band=True):
        """Draw data, fit, confidence band and residuals by matplotlib. Returns the figure."""
        from ._plot import plot

        return plot(self, self._x, self._y, self._noise.sigma, axes, band)

    def __str__(self):
        return self._result.report()

    def __repr__(self):
        return f"<Fit {self.certificate.verdict}: {', '.join(str(p) for p in self.params.values())}>"

    def _repr_html_(self):
        rows = "".join(
            f"<tr><td>{html.escape(p.name)}</td><td>{p.value:.8g}</td><td>{p.stderr:.3g}</td>"
            f"<td>[{p.ci[0]:.6g}, {p.ci[1]:.6g}]</td>"
            f"<td>{'fixed' if p.fixed else 'at bound' if p.at_bound else ''}</td></tr>"
            for p in self.params.values()
        )
        notes = "".join(f"<p>{html.escape(w)}</p>" for w in self.warnings)
        return (
            f"<p><b>{self.certificate.verdict}</b>: {html.escape(self.message)}</p>"
            f"<p><code>{html.escape(self.formula or self.evaluator)}</code></p>"
            "<table><thead><tr><th>parameter</th><th>value</th><th>std. error</th>"
            "<th>interval</th><th></th></tr>"
            f"</thead><tbody>{rows}</tbody></table>"
            f"<p>{self.rows} rows, χ²/dof = {self.chi2_reduced:.6g}, R² = {self.r_squared:.6g}, "
            f"AIC = {self.aic:.6g}</p>{notes}"
        )
