"""Tests functions that are fitted without starting values."""

import numpy as np
import pytest

import nlsqfit as nf


def peak(x, a, m, w, c):
    return a * np.exp(-(((x - m) / w) ** 2)) + c


def wave(x, a, w, p, c):
    return a * np.sin(w * x + p) + c


def step(x, L, k, x0):
    return L / (1 + np.exp(-k * (x - x0)))


def tilted(x, a, m, w, c, d):
    return a * np.exp(-(((x - m) / w) ** 2)) * (x / 20) + c + d * x


CURVES = [
    (peak, (3, 32, 2.5, 1), 50),
    (wave, (3, 2.2, 0.7, 5), 20),
    (step, (100, 0.7, 30), 60),
    (tilted, (3, 32, 2.5, 1, 0.1), 50),
]


def data_of(function, truth, end):
    x = np.linspace(0, end, 120)
    y = function(x, *truth)
    return x, y + 0.01 * np.std(y) * np.random.default_rng(5).normal(size=x.size)


@pytest.mark.parametrize("function, truth, end", CURVES)
def test_a_function_needs_no_starting_values(function, truth, end):
    x, y = data_of(function, truth, end)
    best = nf.fit(function, x, y, p0=truth)
    found = nf.fit(function, x, y)
    assert found.success and found.cost < 1.0001 * best.cost
    popt, pcov = nf.curve_fit(function, x, y)
    assert np.sum((function(x, *popt) - y) ** 2) < 1.0001 * 2 * best.cost
    assert np.isfinite(pcov).all()
    many = nf.fit_many(function, x, np.array([y, y]))
    assert many.success.all() or function in (wave, tilted)  # these are no built-in models


def test_starting_values_of_the_caller_are_kept():
    x, y = data_of(*CURVES[0])
    fit = nf.fit(peak, x, y, p0={"m": 30})
    assert fit.success and abs(fit.params["m"].value - 32) < 0.1
    far = nf.fit(peak, x, y, p0=(1, 1, 1, 1))
    assert far.cost > 10 * fit.cost
    popt, _ = nf.curve_fit(peak, x, y, p0=(1, 1, 1, 1))
    assert np.allclose(popt, [one.value for one in far.params.values()])


def test_a_start_that_explains_y_is_not_left():
    x, y = data_of(lambda x, a, b: a * np.exp(-b * x), (3, 0.7), 5)
    calls = []

    def decay(x, a, b):
        calls.append(1)
        return a * np.exp(-b * x)

    nf.curve_fit(decay, x, y, p0=(1, 1))
    given, calls[:] = len(calls), []
    nf.curve_fit(decay, x, y)
    assert len(calls) <= given


def test_bounds_hold_for_the_starts_that_are_tried():
    x, y = data_of(*CURVES[1])
    popt, _ = nf.curve_fit(wave, x, y, bounds=([0, 1.5, -4, 0], [10, 4, 4, 10]))
    assert np.allclose(popt, (3, 2.2, 0.7, 5), atol=0.1)


def test_noise_alone_is_fitted_as_from_ones():
    x = np.linspace(0, 10, 50)
    y = np.random.default_rng(2).normal(size=50)

    def line(x, a, b):
        return a + b * x

    popt, pcov = nf.curve_fit(line, x, y)
    assert np.allclose(popt, np.polyfit(x, y, 1)[::-1])
    assert np.isfinite(pcov).all()


@pytest.mark.parametrize("seed", [9, 18, 41, 53])
def test_an_end_at_the_limit_of_iterations_replaces_no_other(seed):
    x = np.linspace(0, 20, 100)
    y = np.random.default_rng(seed).normal(size=100)

    def two_peaks(x, a, b, c, d, e, f):
        return a * np.exp(-(((x - b) / c) ** 2)) + d * np.exp(-(((x - e) / f) ** 2))

    with pytest.warns(nf.OptimizeWarning):
        popt, _ = nf.curve_fit(two_peaks, x, y)
    assert np.isfinite(popt).all()
