"""Models of adsorption, kinetics, thermodynamics and materials."""

import numpy as np

from .registry import model

P = np.linspace(0.05, 0.9, 50)
T = np.linspace(290, 360, 50)
R = 8.314462618


@model([3.0, 2.5], P)
def langmuir(p, q, K):
    return q * K * p / (1 + K * p)


@model([2.0, 80.0], P)
def bet(x, vm, c):
    return vm * c * x / ((1 - x) * (1 + (c - 1) * x))


@model([2.0, 1.7, 0.8], P)
def sips(p, q, b, n):
    bp = (b * p) ** n
    return q * bp / (1 + bp)


@model([8.07, 1730.6, 233.4], np.linspace(10, 90, 40))
def antoine(t, A, B, C):
    return 10 ** (A - B / (C + t))


@model([60e3, 330.0, 0.1, 1.2], T)
def two_state_melting(T_, dH, Tm, yn, yu):
    K = np.exp(-dH / R * (1 / T_ - 1 / Tm))
    f = K / (1 + K)
    return yn * (1 - f) + yu * f


@model([25.0, 1e-2, -1e-5], T)
def shomate_short(T_, A, B, C):
    t = T_ / 1000
    return np.polyval([C, B, A], t)


@model([1.0, 0.3, 0.9], np.linspace(0, 20, 50))
def second_order(t, a0, k, order):
    return a0 / (1 + k * a0 * t) ** order


@model([0.5, 2.0, 0.1, 1.0], np.logspace(-2, 3, 50))
def carreau(g, eta_inf, eta0, lam, n):
    return eta_inf + (eta0 - eta_inf) * (1 + (lam * g) ** 2) ** ((n - 1) / 2)


@model([1.0, 0.8, 0.5], np.linspace(0.1, 40, 50))
def herschel_bulkley(g, tau0, K, n):
    return tau0 + K * g**n


@model([4.0, 0.5, 2.0], np.linspace(0, 14, 60))
def titration(pH, pKa, low, high):
    return (low + high * 10 ** (pH - pKa)) / (1 + 10 ** (pH - pKa))


@model([0.4, -0.2, 0.05], np.linspace(0.02, 0.98, 49))
def redlich_kister(x, a, b, c):
    coeffs = [a, b, c]
    total = 0
    for k, ck in enumerate(coeffs):
        total = total + ck * (2 * x - 1) ** k
    return x * (1 - x) * total


@model([0.6, 0.03, 0.1], np.linspace(1, 100, 60))
def avrami(t, n, k, c):
    return 1 - np.exp(-((k * t) ** n)) + c


@model([1.0, 0.2, 0.7, 3.0], np.linspace(0, 10, 40))
def consecutive(t, a0, k1, k2, scale):
    A = a0 * np.exp(-k1 * t)
    B = a0 * k1 / (k2 - k1) * (np.exp(-k1 * t) - np.exp(-k2 * t))
    return scale * np.stack([A, B], axis=0).sum(axis=0)
