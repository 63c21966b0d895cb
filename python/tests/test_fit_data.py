"""Tests what a `Fit` keeps of the caller's data, and its use by several threads."""

import math
import threading

import numpy as np
import nlsqfit as nf
import pytest


@pytest.mark.parametrize("model", ["a*exp(-b*x)+c", lambda x, a, b, c: a * np.exp(-b * x) + c])
def test_a_fit_does_not_follow_changes_of_the_callers_arrays(model):
    x = np.linspace(0, 4, 40)
    y = 2.5 * np.exp(-1.3 * x) + 0.5 + 0.02 * np.cos(50 * x)
    sigma = np.full(40, 0.02)
    fit = nf.fit(model, x, y, p0=[2, 1, 0], sigma=sigma)

    def numbers():
        band = fit.predict(band=True)
        return [fit.predict(), band.confidence[0], fit.bootstrap(50)["b"].stderr, fit.profile_intervals()["b"].low]

    before = numbers()
    x += 1
    y -= fit.fitted
    sigma *= 3
    for value, expected in zip(numbers(), before):
        assert np.array_equal(value, expected)


def test_a_fit_of_a_called_function_serves_several_threads():
    x = np.linspace(0, 4, 40)
    y = 2.5 * np.exp(-1.3 * x) + 0.5 + 0.02 * np.cos(50 * x)

    def called(x, a, b, c):
        return np.array([a * math.exp(-b * v) + c for v in x])

    fit = nf.fit(called, x, y, p0=[2, 1, 0])
    expected = fit.bootstrap(20)["b"].stderr
    found = []

    def work():
        found.extend(fit.bootstrap(20)["b"].stderr for _ in range(5))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 20


def test_prediction_refuses_masked_x():
    fit = nf.fit("a*x+b", np.arange(5.0), np.arange(5.0) * 2 + [0.1, 0, -0.1, 0, 0.1])
    with pytest.raises(TypeError, match="masked"):
        fit.predict(np.ma.array([1.0, 2], mask=[0, 1]))
