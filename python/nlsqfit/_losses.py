"""Computes SciPy's losses: rho, its slope and its curvature, as functions of z = (f / f_scale)²."""

from __future__ import annotations

import numpy as np


def _soft_l1(z):
    t = 1 + z
    return 2 * (np.sqrt(t) - 1), t**-0.5, -0.5 * t**-1.5


def _huber(z):
    inside = z <= 1
    safe = np.where(inside, 1.0, z)
    root = np.sqrt(safe)
    return (
        np.where(inside, z, 2 * root - 1),
        np.where(inside, 1.0, 1 / root),
        np.where(inside, 0.0, -0.5 * safe**-1.5),
    )


def _cauchy(z):
    t = 1 + z
    return np.log1p(z), 1 / t, -1 / t**2


def _arctan(z):
    t = 1 + z**2
    return np.arctan(z), 1 / t, -2 * z / t**2


FUNCTIONS = {"soft_l1": _soft_l1, "huber": _huber, "cauchy": _cauchy, "arctan": _arctan}


def scaled(loss, f_scale, f, J):
    """Return the gradient of the cost, and J scaled so that JᵀJ is its Gauss-Newton matrix."""
    if loss == "linear":
        return J.T @ f, J
    _, slope, curvature = FUNCTIONS[loss]((f / f_scale) ** 2)
    eps = np.finfo(float).eps
    scale = np.sqrt(np.maximum(slope + 2 * curvature * (f / f_scale) ** 2, eps))
    return J.T @ (slope * f), J * scale[:, None]
