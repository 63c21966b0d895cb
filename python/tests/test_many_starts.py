"""Tests many fits without starting values."""

import numpy as np
import pytest

import nlsqfit as nf

T = np.linspace(0, 20, 100)


def wave(x, a, w, p, c):
    return a * np.sin(w * x + p) + c


def pair(x, a, m, w, b, n, v, c):
    return a * np.exp(-(((x - m) / w) ** 2)) + b * np.exp(-(((x - n) / v) ** 2)) + c


def waves(fits):
    random = np.random.default_rng(4)
    truth = np.column_stack(
        [random.uniform(2, 4, fits), random.uniform(2.1, 2.3, fits), random.uniform(0, 1, fits), random.uniform(4, 6, fits)]
    )  # fmt: skip
    Y = np.array([wave(T, *p) for p in truth]) + 0.05 * random.normal(size=(fits, T.size))
    return Y, 0.5 * np.sum(np.array([wave(T, *p) for p in truth] - Y) ** 2, axis=1)


@pytest.mark.parametrize("model", ["a*sin(w*x+p)+c", wave])
@pytest.mark.parametrize("fits", [3, 200])
def test_starts_are_looked_for_where_ones_lead_nowhere(model, fits):
    Y, cost = waves(fits)
    many = nf.fit_many(model, T, Y)
    assert many.success.all()
    assert (many.cost <= cost).all()
    assert np.allclose(np.abs(many.parameters[:, 1]), 2.2, atol=0.15)
    if fits == 3:
        for one, y in zip(many.parameters, Y):
            assert np.allclose(one[1], [nf.fit(model, T, y).params["w"].value], atol=1e-6)


def test_starts_of_the_caller_and_fixed_values_are_kept():
    Y, cost = waves(40)
    far = nf.fit_many(wave, T, Y, p0=[1, 1, 1, 1])
    assert (far.cost > 10 * cost).any()
    some = nf.fit_many(wave, T, Y, p0={"w": 2.2})
    assert (some.cost <= cost).all()
    held = nf.fit_many(wave, T, Y, fixed={"c": 5.0})
    assert (held.parameters[:, 3] == 5.0).all() and held.success.all()
    tied = nf.fit_many("a*sin(w*x+p)+c", T, Y, ties=["c = 5 + 0*a"])
    assert (tied.parameters[:, 3] == 5.0).all()


def test_noise_and_gaps_stay_as_they_are():
    random = np.random.default_rng(8)
    Y = random.normal(size=(50, T.size))
    Y[7] = np.nan
    many = nf.fit_many("a*sin(w*x+p)+c", T, Y)
    assert not many.success[7] and np.isnan(many.cost[7])


@pytest.mark.parametrize("model, name", [("2*gaussian+constant", "g1_mu"), (pair, "m")])
def test_a_peak_that_is_held_at_the_place_of_another_is_that_peak(model, name):
    x = np.linspace(0, 10, 200)
    one = pair(x, 3, 3, 0.7, 2, 6, 1, 1)
    Y = np.array([1, 2, 5])[:, None] * (one + 0.02 * (np.arange(200) % 3 - 1))
    assert nf.fit(model, x, Y[0], fixed={name: 6}).r_squared > 0.99
    many = nf.fit_many(model, x, Y, fixed={name: 6})
    assert (2 * many.cost < 0.01 * Y.shape[1] * Y.var(axis=1)).all()
