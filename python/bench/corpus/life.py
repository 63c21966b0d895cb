"""Models of pharmacology, biochemistry, ecology and epidemiology."""

import numpy as np

from .registry import model

DOSE = np.logspace(-3, 2, 50)
TIME = np.linspace(0, 24, 60)


@model([10.0, 1.5], DOSE)
def michaelis_menten(S, Vmax, Km):
    return Vmax * S / (Km + S)


@model([0.2, 9.5, 0.7, 1.3], DOSE)
def hill(x, bottom, top, ec50, n):
    return bottom + (top - bottom) / (1 + (ec50 / x) ** n)


@model([0.1, 2.0, -0.2, 1.1, 0.8], DOSE)
def five_pl(x, bottom, top, logec50, slope, s):
    return bottom + (top - bottom) / (1 + 10 ** ((logec50 - np.log10(x)) * slope)) ** s


@model([8.0, 1.2, 15.0], DOSE)
def substrate_inhibition(S, Vmax, Km, Ki):
    return Vmax * S / (Km + S * (1 + S / Ki))


@model([100.0, 1.2, 0.25, 20.0], TIME)
def one_compartment_oral(t, dose, ka, ke, V):
    return dose * ka / (V * (ka - ke)) * (np.exp(-ke * t) - np.exp(-ka * t))


@model([50.0, 0.9, 0.3, 0.2, 10.0], TIME)
def two_compartments(t, dose, k10, k12, k21, V):
    total = k10 + k12 + k21
    root = np.sqrt(total**2 - 4 * k10 * k21)
    alpha, beta = (total + root) / 2, (total - root) / 2
    A = (alpha - k21) / (alpha - beta)
    return dose / V * (A * np.exp(-alpha * t) + (1 - A) * np.exp(-beta * t))


@model([10.0, 0.4, 8.0], TIME)
def logistic_growth(t, K, r, tm):
    return K / (1 + np.exp(-r * (t - tm)))


@model([10.0, 0.6, 4.0], TIME)
def gompertz_zwietering(t, A, mu, lag):
    return A * np.exp(-np.exp(mu * np.e / A * (lag - t) + 1))


@model([30.0, 0.15, -1.0], TIME + 1)
def von_bertalanffy(t, Linf, k, t0):
    return Linf * (1 - np.exp(-k * (t - t0)))


@model([1.0, 5.0, 0.8, 6.0], TIME)
def lag_then_growth(t, y0, lag, rate, top):
    y = np.where(t < lag, y0, y0 + rate * (t - lag))
    return np.minimum(y, top)


@model([2.0, 0.3, 1.5, 12.0], TIME)
def hinge(t, a, b, c, t0):
    return np.piecewise(t, [t < t0, t >= t0], [lambda t: a + b * t, lambda t: a + b * t0 + c * (t - t0)])


@model([3.0, 0.5, 24.0, 1.0], TIME)
def cosinor(t, mesor, amp, period, acro):
    return mesor + amp * np.cos(2 * np.pi * t / period - acro)


@model([5.0, 0.6, 0.2], DOSE)
def tight_binding(L, scale, Kd, P):
    b = L + P + Kd
    return scale * (b - np.sqrt(b**2 - 4 * L * P)) / (2 * P)


@model([1.0, 0.4, 2.0, 0.05], TIME)
def biphasic_dose(t, a, k1, b, k2):
    y = a * np.exp(-k1 * t)
    y += b * np.exp(-k2 * t)
    y /= a + b
    return y
