"""Models of decays, oscillations, spectra and matter."""

import numpy as np
from scipy.special import expit, gamma, j0

from .registry import model

T = np.linspace(0, 6, 70)
K_B = 8.617333262e-5


@model([2.5, 1.3, 0.5], T)
def decay(t, a, b, c):
    return a * np.exp(-b * t) + c


@model([2, 3, 1, 0.4, 0.1], T)
def two_decays(t, a1, k1, a2, k2, c):
    return a1 * np.exp(-k1 * t) + a2 * np.exp(-k2 * t) + c


@model([1.5, 1.2, 0.7], T + 0.05)
def kohlrausch(t, A, tau, beta):
    return A * np.exp(-((t / tau) ** beta))


@model([1, 0.3, 2.1, 0.4, 0.2], T)
def ringing(t, A, gamma_, omega, phi, c):
    return A * np.exp(-gamma_ * t) * np.cos(omega * t + phi) + c


@model([1.0, 2.0, 0.8, 0.3], T)
def rabi(t, V, omega, T2, p0):
    return p0 + V * np.sin(omega * t / 2) ** 2 * np.exp(-t / T2)


@model([1e2, 0.55], np.linspace(0.2, 3, 50))
def planck(x, a, kT):
    return a * x**3 / np.expm1(x / kT)


@model([1.0, 0.3, 0.05], np.linspace(-1, 1, 61))
def fermi(E, A, mu, kT):
    return A * expit(-(E - mu) / kT)


@model([0.8, 0.2, 2.0], np.linspace(-1, 1, 61) + 0.01)
def bose_like(E, A, mu, width):
    return A / np.abs(np.tanh((E - mu + 3) / width))


@model([1.2e3, 0.35], np.linspace(280, 400, 40))
def arrhenius(T_, A, Ea):
    return A * np.exp(-Ea / (K_B * T_))


@model([3.0, 1.0, 4.0, 0.7], np.linspace(0.9, 3, 50))
def morse(r, D, re, a, E0):
    return D * (1 - np.exp(-a * (r - re))) ** 2 + E0


@model([0.9, 1.1], np.linspace(0.95, 3, 60))
def lennard_jones(r, eps, sigma):
    sr6 = np.power(sigma / r, 6)
    return 4 * eps * (sr6**2 - sr6)


@model([70.0, 4.5, 4.0], np.linspace(50, 75, 30))
def birch_murnaghan(V, V0, E0, B0):
    x = (V0 / V) ** (2.0 / 3)
    return -E0 + 9 * V0 * B0 / 16 * ((x - 1) ** 3 * 4 + (x - 1) ** 2 * (6 - 4 * x))


@model([1e-3, 0.6, 2.0], np.linspace(0, 1, 40))
def diode(V, I0, n, R):
    return I0 * np.expm1(V / (n * 0.2585)) + V / R


@model([100.0, 30.0, 0.01], np.logspace(-1, 3, 50))
def impedance(w, Rs, Rp, C):
    Z = Rs + 1 / (1 / Rp + 1j * w * C)
    return np.abs(Z)


@model([5.0, 20.0, 0.4, 0.8], np.logspace(-2, 3, 60))
def cole_cole(w, eps_inf, delta, tau, alpha):
    eps = eps_inf + delta / (1 + (1j * w * tau) ** alpha)
    return np.concatenate([eps.real, -eps.imag])


@model([1.0, 0.8, 0.3, 2.0], T)
def chirp(t, A, f0, k, phi):
    phase = 2 * np.pi * (f0 * t + 0.5 * k * t**2) + phi
    return A * np.sin(phase)


@model([2.0, 1.7, 0.2], T)
def bessel_beam(r, I0, k, c):
    return I0 * j0(k * r) ** 2 + c


@model([1.5, 2.2, 0.8], T + 0.05)
def gamma_pdf(x, A, k, theta):
    return A * x ** (k - 1) * np.exp(-x / theta) / (gamma(k) * theta**k)


@model([1.2, 0.5, 0.9, 0.1], np.linspace(0, 10, 80))
def damped_step(t, K, zeta, wn, t0):
    s = np.clip(t - t0, 0, None)
    wd = wn * np.sqrt(1 - zeta**2)
    return K * (
        1 - np.exp(-zeta * wn * s) * (np.cos(wd * s) + zeta / np.sqrt(1 - zeta**2) * np.sin(wd * s))
    )


@model([1.0, 0.5, 0.25, 0.1, 0.7], np.linspace(0, 2 * np.pi, 50))
def fourier(x, *c):
    w = c[-1]
    return sum(a * np.cos((k + 1) * w * x) for k, a in enumerate(c[:-1]))


@model([0.3, 0.8, 2.0], np.linspace(0.05, 2, 60))
def sphere_form_factor(q, scale, bg, R):
    qr = q * R
    return scale * (3 * (np.sin(qr) - qr * np.cos(qr)) / qr**3) ** 2 + bg
