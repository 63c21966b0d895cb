"""These models cannot be recorded on a tape, or hardly. They are called whole."""

import math
from functools import lru_cache

import numpy as np
from scipy import integrate, interpolate, optimize, special

from .registry import model

X = np.linspace(0.1, 4, 40)


@model([1.5, 0.8], X, hard=True)
def math_functions(x, a, b):
    return np.array([a * math.exp(-b * xi) for xi in x])


@model([1.5, 0.8], X, hard=True)
def loop_over_elements(x, a, b):
    y = np.zeros(len(x))
    for i in range(len(x)):
        y[i] = a * x[i] / (1 + b * x[i])
    return y


@model([0.3, 0.2], X, hard=True)
def ode(t, r, K):
    return integrate.odeint(lambda y, s: r * y * (1 - K * y), 0.5, np.append(0, t))[1:, 0]


@model([0.9, 1.3], X, hard=True)
def ivp(t, k, y0):
    s = integrate.solve_ivp(lambda s, y: -k * y, (0, 5), [y0], t_eval=t, rtol=1e-10, atol=1e-12)
    return s.y[0]


@model([1.2, 0.5], X, hard=True)
def quad_for_each(x, a, b):
    return np.array([integrate.quad(lambda s: np.exp(-a * s**2), 0, b * xi)[0] for xi in x])


@model([0.2, 0.8, 1.1, 0.4], X, hard=True)
def table(x, *y):
    return np.interp(x, np.linspace(0, 4, 4), y)


@model([0.2, 0.8, 1.1, 0.4], X, hard=True)
def spline(x, *y):
    return interpolate.CubicSpline(np.linspace(0, 4, 4), y)(x)


@model([1.4, 0.8], X, hard=True)
def normalised(x, a, b):
    y = np.exp(-a * x) * x**b
    return y / y.max()


@model([1.4, 0.8], X, hard=True)
def cumulative(x, a, b):
    return np.cumsum(a * np.exp(-b * x))


@model([1.2, 0.5], X, hard=True)
def implicit(x, a, b):
    return np.array([optimize.brentq(lambda y: y + a * np.exp(b * y) - xi - 3, -10, 10) for xi in x])


@model([1.2, 0.8], X, hard=True)
def convolved(x, tau, width):
    kernel = np.exp(-0.5 * (np.linspace(-1, 1, 9) / width) ** 2)
    return np.convolve(np.exp(-x / tau), kernel / kernel.sum(), mode="same")


@model([1.2, 2.3], X, hard=True)
def higher_bessel(x, a, k):
    return a * special.jv(2, k * x)


@model([1.2, 0.4], X, hard=True)
def vectorized(x, a, b):
    return np.vectorize(lambda s: a * s if s < 2 else a * 2 + b * (s - 2))(x)


@model([1.5, 0.7], X, hard=True)
def cached(x, a, b):
    @lru_cache(maxsize=None)
    def amplitude(v):
        return v * 2.0

    return amplitude(a) * np.exp(-b * x)


@model([1.5, 0.7], X, hard=True)
def newton_inside(x, a, b):
    y = x.copy()
    for _ in range(50):
        step = (y + a * np.log(1 + b * y * y) - x) / (1 + 2 * a * b * y / (1 + b * y * y))
        y = y - step
        if np.max(np.abs(step)) < 1e-13:
            break
    return y


@model([1.3, 0.2], X, hard=True)
def fft_filter(x, a, b):
    spectrum = np.fft.rfft(np.sin(a * x))
    return np.fft.irfft(spectrum * np.exp(-b * np.arange(spectrum.size)), n=x.size)


@model([1.3, 0.6], X, hard=True)
def matrix_exponential(x, k1, k2):
    from scipy.linalg import expm

    K = np.array([[-k1, 0], [k1, -k2]])
    return np.array([(expm(K * xi) @ [1, 0])[1] for xi in x])


@model([1.1, 0.6, 0.3], X, hard=True)
def sorted_values(x, a, b, c):
    return np.sort(a * np.cos(b * x) + c)
