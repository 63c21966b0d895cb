"""Models that are programs, with branches, methods, helper functions and arrays of parameters."""

import numpy as np

from .registry import model

X = np.linspace(0.1, 4, 60)


@model([1.5, 0.8], X)
def branch_on_parameter(x, a, b):
    if abs(b) < 1e-8:
        return a * x
    return a * (1 - np.exp(-b * x)) / b


@model([1.5, 0.8, 0.2], X)
def penalty(x, a, b, c):
    if a < 0 or b < 0:
        return np.full(x.shape, 1e10)
    return a * np.sqrt(x) + b * x + c


@model([1.5, 0.8, 0.3], X)
def parameters_as_array(x, *p):
    p = np.asarray(p)
    return p[0] * np.exp(-p[1] * x) + p[2]


class Instrument:
    """A model that is a method. The calibration is in the attributes."""

    def __init__(self, gain):
        self.gain = gain

    def response(self, x, a, tau):
        return self.gain * a * (1 - np.exp(-x / tau))


@model([2.0, 0.7], X)
def method(x, a, tau):
    return Instrument(1.7).response(x, a, tau)


@model([2.0, 0.7, 0.4], X)
def dictionary(x, a, b, c):
    p = {"amplitude": a, "rate": b, "offset": c}
    parts = [p["amplitude"] * np.exp(-p["rate"] * x), p["offset"] * np.ones(len(x))]
    return np.sum(parts, axis=0)


@model([0.4, 1.2, 0.7], X)
def in_place(x, a, b, c):
    y = a * x
    y *= np.cos(b * x)
    np.exp(y, out=y)
    y -= c
    return y


@model([0.4, 1.2], X)
def float_of_array(x, a, b):
    x = np.asarray(x, dtype=float)
    return a * np.power(x, b)
