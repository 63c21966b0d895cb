"""Tests axes, masks and x of each fit in fit_many, where a wrong shape would silently give a wrong answer."""

import gc

import numpy as np
import nlsqfit as nf
import pytest
from nlsqfit._library import live_handles

RNG = np.random.default_rng(3)
T = np.linspace(0, 4, 12)
TRUTH = RNG.uniform(1, 3, (4, 4))
Y = TRUTH[..., None] * np.exp(-0.7 * T)


def recorded(t, a, k):
    return a * np.exp(-k * t)


def called(t, a, k):
    return float(a) * np.exp(-k * t)


every_kind = pytest.mark.parametrize("model", [recorded, called, "a*exp(-k*x)"], ids=["rec", "call", "text"])
P0 = dict(p0=[1, 0.5])


@every_kind
@pytest.mark.parametrize("count, rows", [(5, 5), (4, 6)])
def test_x_of_each_fit_along_another_axis(model, count, rows):
    x, truth = RNG.uniform(0, 4, (count, rows)), RNG.uniform(1, 3, count)
    data = truth[:, None] * np.exp(-0.7 * x)
    assert np.allclose(nf.fit_many(model, x.T, data.T, axis=0, **P0)["a"], truth)
    assert np.allclose(nf.fit_many(model, x, data, **P0)["a"], truth)


@every_kind
@pytest.mark.parametrize("axis", [-1, 0])
def test_a_mask_of_whole_fits_fails_those_alone(model, axis):
    bad = np.zeros((4, 4), bool)
    bad[0, 1] = True
    many = nf.fit_many(model, T, np.moveaxis(Y, -1, axis), mask=bad, axis=axis, **P0)
    assert many.verdict[0, 1] == "FAILED" and np.array_equal(many.success, ~bad)
    assert np.allclose(many.parameters[0, 1], P0["p0"]) and np.allclose(many["a"][~bad], TRUTH[~bad])


@every_kind
def test_what_a_masked_array_hides_takes_no_part(model):
    hidden = np.ma.masked_array(np.where(T > 3, 9.0, Y), mask=np.broadcast_to(T > 3, Y.shape))
    assert np.allclose(nf.fit_many(model, T, hidden, **P0)["a"], TRUTH)
    assert np.allclose(nf.fit_many(model, T, hidden, mask=T < 0.5, **P0)["a"], TRUTH)


@every_kind
def test_no_fits_and_no_data(model):
    assert nf.fit_many(model, T, np.empty((0, 12)), **P0)["a"].shape == (0,)
    with pytest.raises(ValueError, match="no data"):
        nf.fit_many(model, np.empty(0), np.empty((3, 0)), **P0)


@every_kind
@pytest.mark.parametrize("x", [T[:-1], np.ones((2, 7))])
def test_x_of_another_length_is_refused(model, x):
    with pytest.raises(ValueError, match="shape"):
        nf.fit_many(model, x, Y, **P0)


@every_kind
def test_complex_data_are_refused(model):
    with pytest.raises(TypeError, match="complex"):
        nf.fit_many(model, T, Y + 1j, **P0)


@every_kind
def test_a_start_outside_the_bounds_is_refused(model):
    with pytest.raises(ValueError, match="within"):
        nf.fit_many(model, T, Y, p0=[5, 0.5], bounds=([0, 0], [2, 9]))


@pytest.mark.parametrize("scale", [1.0, np.float64(1.0)])
def test_a_tuple_of_arrays_that_differ_between_fits(scale):
    def model(x, a, k):
        return (a if type(scale) is float else float(a)) * np.exp(-k * x[0]) + x[1]

    x = np.broadcast_to(T, Y.shape) * RNG.uniform(0.5, 1.5, (4, 4, 1))
    data = TRUTH[..., None] * np.exp(-0.7 * x) + T
    assert np.allclose(nf.fit_many(model, (x, T), data, **P0)["a"], TRUTH)


def test_one_fit_of_many_that_divides_by_another_maximum():
    x = np.tile(np.linspace(0.1, 4, 12), (1000, 1))
    x[7] *= 0.5  # all others have the same maximum, so that most of them agree with a wrong recording

    def model(x, a, k):
        return a * np.exp(-k * x / x.max())

    many = nf.fit_many(model, x, np.array([model(row, 2.0, 0.7) for row in x]), **P0)
    assert many.evaluator != "recorded" and np.allclose(many["k"], 0.7)


def test_a_ValueError_of_the_function_is_the_users_own():
    def model(t, a, k):
        if float(a) != 1:
            raise ValueError("mine")
        return a * t * k

    with pytest.raises(ValueError, match="mine"):
        nf.fit_many(model, T, Y, **P0)


def test_p0_of_one_parameter_may_be_a_number():
    assert np.allclose(nf.fit_many(lambda t, a: a * np.exp(-0.7 * t), T, Y, p0=1)["a"], TRUTH)


@pytest.mark.parametrize("left", [0, 2])
@pytest.mark.parametrize(
    "model",
    [
        "a*exp(-b*x)+c",
        "exp",
        lambda x, a, b, c: a * np.exp(-b * x) + c,
        lambda x, a, b, c: a * np.exp(-float(b) * x) + c,  # this cannot be recorded
    ],
)
def test_a_fit_of_too_few_data_fails_alone(model, left):
    x = np.linspace(0, 3, 12)
    Y = np.outer([1, 2, 3], np.exp(-0.7 * x)) + 0.5
    mask = np.zeros(Y.shape, bool)
    mask[1, left:] = True
    many = nf.fit_many(model, x, Y, mask=mask)
    assert list(many.success) == [True, False, True] and many.verdict[1] == "FAILED"
    assert sum(w.startswith("fit 1: ") for w in many.warnings) == 1  # the others have no scatter, and may say so


def test_a_start_of_some_parameters_leaves_the_others_to_the_guess():
    x = np.linspace(-3, 120, 400)
    Y = np.array([[np.exp(-(((x - m) / 2) ** 2)) + 0.001 * np.cos(x)] for m in (20, 60, 90)])
    whole = nf.fit_many("gaussian", x, Y)
    assert whole.success.all()
    some = nf.fit_many("gaussian", x, Y, p0={whole.names[-1]: 1.5})
    assert some.success.all() and np.allclose(some.parameters, whole.parameters, rtol=1e-6)


def test_long_results_live_as_long_as_they_are_used():
    Y = np.exp(-0.5 * T) * np.linspace(1, 2, 5000)[:, None]
    nf.fit_many(recorded, T, Y, **P0)  # the model is kept for later calls
    gc.collect()
    handles = live_handles()
    many = [nf.fit_many(recorded, T, Y, **P0) for _ in range(3)]
    gc.collect()
    many[2]["a"][0] = 7  # the array belongs to the caller
    for one in many:
        assert np.allclose(one["a"][1:], np.linspace(1, 2, 5000)[1:]) and np.allclose(one["k"], 0.5)
    assert many[0]["a"][0] != 7 and one.verdict.shape == (5000,)
    del many, one
    gc.collect()
    assert live_handles() == handles


def test_the_verdict_of_one_fit_has_no_axes():
    assert nf.fit_many(recorded, T, Y[0, 0], **P0).verdict.shape == ()


def test_a_mask_that_may_mean_rows_or_fits_is_refused():
    x = np.arange(6.0)
    Y = np.outer(np.arange(1, 7), x) + 0.01 * np.cos(9 * x)
    mask = np.array([True, False, False, False, False, False])
    with pytest.raises(ValueError, match=r"mask has shape \(6,\), .* rows of all fits or whole fits"):
        nf.fit_many("a*x+b", x, Y, mask=mask)
    by_rows = nf.fit_many("a*x+b", x, Y, mask=np.broadcast_to(mask, (6, 6)))
    assert by_rows.success.all()
    of_fits = nf.fit_many("a*x+b", x, Y, mask=np.repeat(mask[:, None], 6, axis=1))
    assert list(of_fits.success) == [False] + [True] * 5
