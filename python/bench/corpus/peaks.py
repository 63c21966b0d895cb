"""Models of the peaks of spectroscopy, chromatography and diffraction."""

import numpy as np
from scipy import special
from scipy.special import erf, erfc, erfcx, voigt_profile, wofz

from .registry import model

AXIS = np.linspace(-5, 5, 81)


@model([3, 0.4, 0.9], AXIS)
def gauss(x, A, mu, sigma):
    return A * np.exp(-((x - mu) ** 2) / (2 * sigma**2))


@model([2, 0.3, 0.7, 0.5], AXIS)
def lorentz_offset(x, A, x0, gamma, c):
    return A * gamma**2 / ((x - x0) ** 2 + gamma**2) + c


@model([2, 0.1, 0.6, 0.4], AXIS)
def voigt_by_wofz(x, A, x0, sigma, gamma):
    z = ((x - x0) + 1j * gamma) / (sigma * np.sqrt(2))
    return A * wofz(z).real / (sigma * np.sqrt(2 * np.pi))


@model([2, 0.1, 0.6, 0.4], AXIS)
def voigt_by_scipy(x, A, x0, sigma, gamma):
    return A * voigt_profile(x - x0, sigma, gamma)


@model([2, 0.1, 0.6, 0.3], AXIS)
def pseudo_voigt(x, A, x0, w, eta):
    sigma = w / (2 * np.sqrt(2 * np.log(2)))
    g = np.exp(-((x - x0) ** 2) / (2 * sigma**2)) / (sigma * np.sqrt(2 * np.pi))
    lor = (w / 2) / np.pi / ((x - x0) ** 2 + (w / 2) ** 2)
    return A * (eta * lor + (1 - eta) * g)


@model([5, -0.5, 0.6, 0.8], AXIS)
def emg(x, area, mu, sigma, tau):
    z = (sigma / tau - (x - mu) / sigma) / np.sqrt(2)
    return area / (2 * tau) * np.exp(-0.5 * ((x - mu) / sigma) ** 2) * erfcx(z)


@model([2, 0.2, 0.8, 2.5], AXIS)
def skewed(x, A, loc, scale, alpha):
    t = (x - loc) / scale
    return A * np.exp(-(t**2) / 2) * (1 + erf(alpha * t / np.sqrt(2)))


@model([1, -1.5, 0.5, 2, 1.2, 0.8, 0.1, 0.3], AXIS)
def two_gauss_line(x, a1, m1, s1, a2, m2, s2, slope, offset):
    def g(a, m, s):
        return a * np.exp(-0.5 * ((x - m) / s) ** 2)

    return g(a1, m1, s1) + g(a2, m2, s2) + slope * x + offset


@model([1, -1.5, 0.5, 2, 1.2, 0.8, 0.7, 0.0, 1.5], AXIS)
def n_gauss_from_args(x, *params):
    y = np.zeros_like(x)
    for i in range(0, len(params), 3):
        amp, ctr, wid = params[i : i + 3]
        y = y + amp * np.exp(-(((x - ctr) / wid) ** 2))
    return y


@model([1.2, 0.1, 0.5, 1.7], AXIS)
def moffat(x, A, x0, alpha, beta):
    return A * (1 + ((x - x0) / alpha) ** 2) ** (-beta)


@model([1.0, 0.2, 1.0, 0.9], AXIS)
def fano(x, A, x0, gamma, q):
    eps = 2 * (x - x0) / gamma
    return A * (q + eps) ** 2 / (1 + eps**2)


@model([2, 0.5, 0.7, 1.4], AXIS)
def split_gauss(x, A, mu, s_left, s_right):
    s = np.where(x < mu, s_left, s_right)
    return A * np.exp(-0.5 * ((x - mu) / s) ** 2)


@model([2.0, 0.3, 0.8, 1.2, 2.5], AXIS)
def crystal_ball(x, N, mu, sigma, alpha, n):
    t = (x - mu) / sigma
    a = (n / alpha) ** n * np.exp(-0.5 * alpha**2)
    b = n / alpha - alpha
    tail = a * np.maximum(b - t, 1e-9) ** (-n)
    return N * np.where(t > -alpha, np.exp(-0.5 * t**2), tail)


@model([3.0, 0.2, 1.3, 0.4], AXIS)
def step_of_detector(x, A, x0, sigma, c):
    return 0.5 * A * erfc((x - x0) / (np.sqrt(2) * sigma)) + c


@model(
    [1.5, 1.0, 0.7, 1.2, 2.0, 0.3],
    np.vstack([g.ravel() for g in np.meshgrid(np.linspace(-2, 3, 9), np.linspace(-1, 4, 8))]),
)
def gauss_2d(xy, A, x0, y0, sx, sy, theta):
    x, y = xy
    a = np.cos(theta) ** 2 / (2 * sx**2) + np.sin(theta) ** 2 / (2 * sy**2)
    b = -np.sin(2 * theta) / (4 * sx**2) + np.sin(2 * theta) / (4 * sy**2)
    c = np.sin(theta) ** 2 / (2 * sx**2) + np.cos(theta) ** 2 / (2 * sy**2)
    g = A * np.exp(-(a * (x - x0) ** 2 + 2 * b * (x - x0) * (y - y0) + c * (y - y0) ** 2))
    return g.ravel()


@model([0.9, 0.4, 2.0], AXIS + 0.003)
def airy(x, I0, x0, w):
    u = w * (x - x0)
    return I0 * (2 * special.j1(u) / u) ** 2


@model([1.0, 0.2, 1.8, 0.05], AXIS)
def slit(x, I0, x0, a, bg):
    return I0 * np.sinc(a * (x - x0)) ** 2 + bg
