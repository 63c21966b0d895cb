"""Tests that a fit of a function that jumps says so, and that smooth functions are not blamed."""

import math
import warnings

import numpy as np
import nlsqfit as nf
import pytest
from nlsqfit._roughness import note_on_jumps

T = np.linspace(0, 5, 40)
Y = 3 * np.exp(-1.1 * T) + 1 + 0.05 * np.random.default_rng(0).normal(size=40)


def rounded(digits):
    return lambda x, a, b, c: [round(a * math.exp(-b * t) + c, digits) for t in x]


def uneven(size):
    """Return a function with errors that change at once with b, as those of an integrator do."""

    def decay(x, a, b, c):
        errors = [((int(1e12 * b) * 7919 + i * 104729) % 1000 / 1000 - 0.5) * size for i in range(len(x))]
        return [(a * math.exp(-b * t) + c) * (1 + e) for t, e in zip(x, errors)]

    return decay


@pytest.mark.parametrize("function", [rounded(3), rounded(4), uneven(1e-2), uneven(1e-3), uneven(1e-4)])
def test_a_function_that_jumps_is_told_of(function):
    fit = nf.fit(function, T, Y, p0=[2, 1, 0.5])
    assert not fit.success and "the function is not smooth: while" in fit.message
    with pytest.warns(nf.OptimizeWarning, match=r"not smooth.*tighten its tolerances \(rtol, atol\)"):
        nf.curve_fit(function, T, Y, p0=[2, 1, 0.5])


@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("shift", [0.0, 1.7e9])
def test_smooth_functions_are_not_blamed(offset, shift):
    x = T + shift
    functions = [
        (lambda a, b, c: a * np.exp(-b * (x - c)) + offset, [2.0, 1.0, shift]),
        (lambda a, b, c: a * np.sin(b * (x - shift) + c) + offset, [2.0, 30.0, 0.0]),
        (lambda a, b, c: a * np.exp(-(((x - c) / b) ** 2)) + offset, [2.0, 0.01, shift + 2.5]),
        (lambda a, b, c: a * (x - shift) ** b + c * 0 + offset, [1e-9, 5.0, 0.0]),
    ]
    for function, p in functions:
        values = lambda p: np.asarray(function(*p), dtype=float)  # noqa: E731, B023
        assert note_on_jumps(values, np.array(p), "abc", -np.inf, np.inf) == ""
        assert note_on_jumps(values, np.array(p), "abc", np.array([-9, *p[1:]]), np.array([9, *p[1:]])) == ""


def test_a_smooth_function_without_a_minimum_is_not_blamed():
    def runs_off(x, a, b):
        return [a * math.exp(-b * b * t) for t in x.tolist()]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert "not smooth" not in nf.fit(runs_off, T, T, p0=[1, 1]).message
