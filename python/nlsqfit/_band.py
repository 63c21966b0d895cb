"""Computes bands of a fitted curve by the delta method, as the library's predict() does."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ._handles import Model

_MOST_ROUNDING = 1e-2  # the relative rounding error of a variance that changes the third digit of an error


@dataclass(frozen=True)
class Noise:
    """Holds the given errors of the data. `sigma` is None, a number, a vector or a matrix."""

    sigma: np.ndarray | None
    absolute: bool
    loss: str
    x_errors: bool  # whether the predictors have errors, too

    def of_new(self, sigma, rows):
        """Return given errors of new observations as a vector, or None. Raises ValueError if they do not suit."""
        if sigma is None:
            return None
        if self.loss == "poisson":
            raise ValueError("sigma: the standard deviation of a count is the root of the model; leave sigma out")
        if self.sigma is None:
            raise ValueError("sigma: the fit had no sigma, so the scatter of a new measurement is that of the fit")
        sigma = np.asarray(sigma, dtype=float)
        if sigma.shape not in ((), (1,), (rows,)):
            raise ValueError(f"sigma has shape {sigma.shape}; a number or ({rows},) is wanted")
        if not (np.isfinite(sigma) & (sigma > 0)).all():
            raise ValueError("sigma: standard deviations must be positive and finite")
        return np.broadcast_to(sigma, (rows,))

    def variance(self, curve, chi2_reduced, at_data, of_new):
        """Return the variance of a new observation where the curve has these values, or why there is none.

        `of_new` are the errors of new observations, or None.
        """
        if self.loss == "poisson":
            return curve, None
        if self.loss != "linear" and not self.absolute:
            return np.nan, "the scatter of the fit contains the outliers, unless sigma is absolute"
        factor = 1.0 if self.absolute else chi2_reduced
        if self.sigma is None:
            return factor, None
        if of_new is not None:
            return factor * of_new**2, None
        sigma = np.sqrt(np.diag(self.sigma)) if self.sigma.ndim == 2 else self.sigma.reshape(-1)
        if at_data:
            return factor * sigma**2, None
        of_data = "sigma is a matrix" if self.sigma.ndim == 2 else "the sigma of the data differs by row"
        if self.sigma.ndim == 2 or np.any(sigma != sigma[0]):
            return np.nan, f"{of_data}, and that of a new measurement is not known; give it as sigma"
        return factor * sigma[0] ** 2, None


def tie_slopes(names, values, ties):
    """Return ∂p/∂p_free, shape (n, n). Tied parameters have rows that follow from ties, and columns of 0."""
    tied = [j for j, tie in enumerate(ties) if tie]
    direct, slopes = np.zeros((len(names), len(names))), np.eye(len(names))
    for j in tied:
        model = Model.from_text(f"0*nothing_+({ties[j]})", ["nothing_"], 1)
        at = [names.index(name) for name in model.names]
        direct[j, at] = model.evaluate([np.zeros(1)], 1, values[at], True)[1][0]
    slopes[tied] = 0.0
    for _ in tied:  # a tie may use a tied parameter
        slopes[tied] = direct[tied] @ slopes
    return slopes


def curve_variance(fit, J):
    """Return variances of the curve in rows with the derivatives J, and the reasons why some are NaN."""
    slopes = tie_slopes(list(fit.params), fit.x, fit._ties)
    fixed = np.array([p.fixed for p in fit.params.values()])
    held = np.array([p.at_bound for p in fit.params.values()])
    free = ~fixed & (np.diag(slopes) != 0)
    moved = free & ~held
    with np.errstate(all="ignore"):
        G = (J @ slopes)[:, moved]
        errors = np.sqrt(np.diag(fit.cov)[moved])
        scaled = np.where(G == 0, 0.0, G * errors)
        correlation = fit.cov[np.ix_(moved, moved)] / np.outer(errors, errors)
        np.fill_diagonal(correlation, 1.0)
        used = (G != 0).astype(float)
        lost = ((used @ ~np.isfinite(correlation)) * used).sum(axis=1) > 0
        known = np.where(np.isfinite(correlation), correlation, 0.0)
        value = ((scaled @ known) * scaled).sum(axis=1)
        size = ((np.abs(scaled) @ np.abs(known)) * np.abs(scaled)).sum(axis=1)
        lost |= ~np.isfinite(size)
        rounding = (used.sum(axis=1) + 2) * 2.0**-53 * size
        rounded = ~lost & (size > 0) & ~(rounding <= _MOST_ROUNDING * value)
    if rounded.any():
        value[rounded] = _by_rows(fit, G[rounded], slopes[:, moved])
    value[lost] = np.nan
    infinite = ~np.isfinite(G).all(axis=1)
    determined = np.isfinite(np.diag(fit.cov)[free]).any()
    return value, {
        "the model or a derivative is not finite there": infinite,
        "the curve depends on a parameter that the data do not determine": lost & ~infinite & determined,
        "the fit has no standard errors": lost & ~infinite & ~determined,
        "the parameters are so strongly correlated that rounding exceeds it": rounded & np.isnan(value),
    }


def _by_rows(fit, G, slopes):
    """Return the variances from a QR factor of the data's J, which loses fewer digits, or NaN if too many."""
    noise = fit._noise
    out = np.full(len(G), np.nan)
    if noise.loss != "linear" or noise.x_errors or noise.sigma is not None and noise.sigma.ndim == 2:
        return out
    rows = fit._model.evaluate(None, fit.x, True)[1] @ slopes
    if noise.sigma is not None:
        rows = rows / noise.sigma.reshape(-1, 1)
    if len(rows) < rows.shape[1] or not np.isfinite(rows).all():
        return out
    R = np.linalg.qr(rows, mode="r")
    z, size = G.T.copy(), np.abs(G.T)
    with np.errstate(all="ignore"):
        for k in range(len(z)):  # solves Rᵀ z = g, and adds up the sizes of the terms of each sum
            terms = R[:k, k, None] * z[:k]
            z[k] = (z[k] - terms.sum(axis=0)) / R[k, k]
            size[k] = (size[k] + np.abs(terms).sum(axis=0)) / abs(R[k, k])
        sums = (z**2).sum(axis=0)
        error = 2 * (len(z) + 2) * 2.0**-53 * size.max(axis=0) / np.sqrt(sums)
        return np.where(error <= _MOST_ROUNDING, (1.0 if noise.absolute else fit.chi2_reduced) * sums, np.nan)


def bands(fit, x, sigma=None):
    """Return values, standard errors, confidence band, prediction band, and why a band is undefined.

    `sigma` are the errors of new observations, or None.
    """
    values, J = fit._model.evaluate(x, fit.x, True)
    variance, states = curve_variance(fit, J)
    variance[~np.isfinite(values)] = np.nan
    of_new = fit._noise.of_new(sigma, values.size)
    scatter, lack = fit._noise.variance(values, fit.chi2_reduced, x is None, of_new)
    with np.errstate(all="ignore"):
        error = np.sqrt(variance)
        half = np.where(error == 0, 0.0, fit._quantile * error)  # this is 0 even if there is no quantile
        whole = fit._quantile * np.sqrt(variance + scatter)
    low = values - whole
    if fit._noise.loss == "poisson":
        low = np.where(low < 0, 0.0, low)
    of_curve = [
        f"no band in {rows.sum()} of {rows.size} rows: {why}" for why, rows in states.items() if rows.any()
    ]
    if lack is None and np.isnan(fit._quantile) and not of_curve:
        lack = "no parameter has a standard error"
    why_none = [] if lack is None else [f"no band for a new measurement: {lack}"]
    return (values, error, (values - half, values + half), (low, values + whole)), of_curve, why_none
