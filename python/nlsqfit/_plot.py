"""Plots a fit by matplotlib, with data, fit and band above, and residuals below."""

from __future__ import annotations

import warnings

import numpy as np

from ._band import bands
from ._scipy_words import OptimizeWarning


def plot(fit, x, y, sigma, axes=None, band=True):
    """Draw a fit over its first predictor. `axes` are two axes of matplotlib, or None for a new figure."""
    import matplotlib.pyplot as plt

    single, at = _predictor(x, y.size)
    if axes is None:
        _, axes = (
            plt.subplots(2, 1, sharex=True, height_ratios=(3, 1))
            if _has_ratios()
            else plt.subplots(2, 1, sharex=True)
        )
    top, bottom = axes
    errors = None
    if sigma is not None:
        errors = np.sqrt(np.diag(sigma)) if sigma.ndim == 2 else np.broadcast_to(sigma, y.shape)
    top.errorbar(at, y, yerr=errors, fmt=".", color="0.5", label="data", zorder=1)
    if single:
        fine = np.linspace(at.min(), at.max(), 400)
        try:
            _curve(fit, top, fine, band)
        except (ValueError, TypeError):  # a function may accept only its own data
            _at_data(fit, top, at)
    else:
        _at_data(fit, top, at)
    bottom.errorbar(at, -fit.residuals, yerr=errors, fmt=".", color="0.5")
    bottom.axhline(0, color="C0")
    bottom.set_ylabel("data − fit")
    top.set_ylabel("y")
    bottom.set_xlabel("x")
    top.set_title(f"{fit.certificate.verdict}, χ²/dof = {fit.chi2_reduced:.4g}", fontsize="medium")
    top.legend()
    return top.figure


def _has_ratios():
    import matplotlib

    return tuple(int(n) for n in matplotlib.__version__.split(".")[:2]) >= (3, 6)


def _predictor(x, rows):
    """Return whether there is one predictor of plain numbers, and what to draw along the axis."""
    if isinstance(x, dict):
        values = list(x.values())
        return False, np.asarray(values[0], dtype=float).reshape(-1)
    try:
        x = np.asarray(x, dtype=float)
    except (TypeError, ValueError):
        return False, np.arange(rows)
    if x.ndim == 1 and x.size == rows:
        return True, x
    return False, x.reshape(-1)[:rows] if x.size >= rows else np.arange(rows)


def _curve(fit, top, fine, band):
    if not band:
        top.plot(fine, fit.predict(fine), color="C0", label="fit")
        return
    (values, _, confidence, _), undefined, _ = bands(fit, fine)
    if values.size != fine.size:
        raise ValueError("the function does not follow x")
    top.plot(fine, values, color="C0", label="fit")
    top.fill_between(fine, *confidence, color="C0", alpha=0.3, linewidth=0, label="confidence band")
    if undefined:
        warnings.warn("; ".join(undefined), OptimizeWarning, stacklevel=4)


def _at_data(fit, top, at):
    order = np.argsort(at)
    top.plot(at[order], fit.fitted[order], color="C0", label="fit")
