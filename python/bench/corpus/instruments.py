"""Models of calibrations, images and global fits, written with arrays of constants."""

import numpy as np

from .registry import model

X = np.linspace(0.1, 4, 60)
BASIS = np.vander(X, 4)
NODES, WEIGHTS = np.polynomial.legendre.leggauss(12)
GROUP = np.repeat([0, 1, 2], 20)
YY, XX = np.mgrid[0:8, 0:9]


@model([0.1, -0.3, 0.5, 1.0], X)
def design_matrix(x, a, b, c, d):
    return BASIS @ np.array([a, b, c, d])


@model([1.0, 2.0, 0.5], X)
def sum_of_lines(x, a, b, w):
    centers = np.arange(5)
    return a * np.exp(-((x[:, None] - centers * b / 4) ** 2) / w**2).sum(axis=1)


@model([1.4, 0.8], X)
def quadrature(x, a, b):
    t = 0.5 * (NODES + 1)
    inside = np.exp(-a * x[:, None] * t) * t**2
    return b * 0.5 * (inside @ WEIGHTS)


@model([1.0, 1.5, 2.0, 0.6], X)
def grouped_amplitudes(x, a0, a1, a2, k):
    amplitude = np.array([a0, a1, a2])[GROUP]
    return amplitude * np.exp(-k * x)


@model([1.0, 0.3, 2.0, 0.9], X)
def shared_rate(x, a1, c1, a2, k):
    first, second = x[:30], x[30:]
    return np.hstack((a1 * np.exp(-k * first) + c1, a2 * np.exp(-k * second)))


@model([10.0, 4.2, 3.1, 1.5, 0.5], (YY, XX))
def spot(grid, A, x0, y0, w, bg):
    yy, xx = grid
    image = A * np.exp(-((xx - x0) ** 2 + (yy - y0) ** 2) / (2 * w**2)) + bg
    return image.ravel()


@model([2.0, 1.5, 0.3], X)
def masked_assignment(x, a, x0, k):
    y = np.zeros_like(x)
    low = x < 2
    y[low] = a * x[low]
    y[~low] = a * 2 + k * (x[~low] - x0)
    return y


@model([2.0, 1.5, 0.3], X)
def mask_by_parameter(x, a, x0, k):
    y = a * np.ones_like(x)
    above = x > x0
    y[above] = a + k * (x[above] - x0) ** 2
    return y


@model([1.0, 2.0, 0.4, 0.8], X)
def selected(x, a, b, c, s):
    return np.select([x < 1, x < 2.5], [a * x, b + c * x], default=s * x**2)


@model([0.8, 0.3, 1.2], X)
def with_mean_removed_axis(x, a, b, c):
    centered = x - x.mean()
    return a + b * centered + c * centered**2


@model([1.1, 0.7], np.vstack([X, X**2 + 1]))
def rows_by_index(X_, a, b):
    return a * X_[0] ** b * X_[1] ** (1 - b)


@model([0.2, 1.3, 0.6, 2.2], X)
def saturated(x, gain, offset, low, high):
    return np.clip(gain * x**2 + offset, low, high)


@model([2.0, 0.4, 1.0], X)
def with_default_arguments(x, a, b, c=1.0):
    if c is None:
        c = 0
    return a * np.log1p(b * x) + c


@model([1.3, 0.9, 0.2], X)
def rotation(x, a, b, phi):
    R = np.array([[np.cos(phi), -np.sin(phi)], [np.sin(phi), np.cos(phi)]])
    points = np.vstack((a * x, b * x**2))
    return (R @ points)[1]
