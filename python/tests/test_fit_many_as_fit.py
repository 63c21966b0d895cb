"""Tests that fit_many gives for each data set what fit gives for it alone, for all models and options."""

from collections import namedtuple

import numpy as np
import nlsqfit as nf
import pytest

X = np.linspace(1, 9, 30)


def recorded(x, a, t):
    return a * np.sin(t * x) / (1 + x)


def called(x, a, t):
    return float(a) * np.sin(float(t) * x) / (1 + x)


every_kind = pytest.mark.parametrize("model", [recorded, called, "a*sin(t*x)/(1+x)"], ids=["rec", "call", "text"])


def both(model, x, y, p0=None, **options):
    """Return the Fit of y. Fits of y in a batch are first compared with it."""
    one = nf.fit(model, x, y, p0=p0, **options)
    many = nf.fit_many(model, x, np.stack([y, y]), p0=p0, **options)
    assert list(many.success) == [one.success] * 2
    assert np.allclose(many.parameters, one.x, rtol=1e-6)
    assert np.allclose(many.std_errors, one.stderr, rtol=1e-4, equal_nan=True)
    return one


@every_kind
@pytest.mark.parametrize("low, high, guess", [(2, 5, 3.5), (1, 5, 3), (None, -3, -4), (2, None, 3)])
@pytest.mark.parametrize("p0", [None, {"a": 1}])
def test_a_parameter_without_a_start_begins_within_its_bounds(model, low, high, guess, p0):
    y = 2 * np.sin(3.4 * X) / (1 + X) + 0.001 * np.cos(70 * X)
    fit = both(model, X, y, p0=p0, bounds={"t": (low, high)})
    assert fit.params["t"].guess == guess
    assert fit.success and abs(abs(fit.params["t"].value) - 3.4) < 0.01


def test_fits_of_a_formula_look_for_starts_where_ones_lead_to_a_poor_minimum():
    model = "a*sin(t*x)/(1+x)"
    y = 2 * np.sin(3.4 * X) / (1 + X) + 0.001 * np.cos(70 * X)
    bounds = {"t": (None, 0.5)}
    fit, many = nf.fit(model, X, y, bounds=bounds), nf.fit_many(model, X, np.stack([y, y]), bounds=bounds)
    assert fit.success and abs(fit.params["t"].value + 3.4) < 0.01
    assert np.allclose(many.parameters[:, 1], -3.4, atol=0.01)


@pytest.mark.parametrize("model", [lambda x, a, b, t: np.where(x < t, a * x, a * t + b * (x - t)),
                                   "if(x<t, a*x, a*t+b*(x-t))"], ids=["rec", "text"])  # fmt: skip
def test_an_undetermined_parameter_without_a_start_is_no_success(model):
    y = 3 + 0.5 * X + 0.1 * np.sin(77 * X)  # no x is below t = 1, where t begins
    assert not both(model, X, y).success
    assert both(model, X, y, p0=[1, 1, 1]).success


@every_kind
@pytest.mark.parametrize("options", [
    dict(absolute_sigma=True), dict(sigma=0.01, absolute_sigma=True),
    *(dict(loss=loss, f_scale=0.02) for loss in ("soft_l1", "huber", "cauchy", "arctan", "tukey")),
    dict(loss="huber", sigma=0.02), dict(loss="poisson"),
], ids=lambda o: "-".join(map(str, o.values())))  # fmt: skip
def test_scale_of_sigma_and_losses(model, options):
    y = 0.5 * np.sin(0.4 * X) / (1 + X) + 0.01 * np.cos(70 * X)
    y[::9] += 0.5
    if options.get("loss") == "poisson":
        y = np.round(np.abs(100 * y))
        options = dict(options, bounds={"t": (0, 0.3), "a": (0, None)})  # so that the curve stays positive
    fit = both(model, X, y, p0=[1, 0.2], **options)
    assert fit.success


Where = namedtuple("Where", "which t")
WHICH, TIMES = np.repeat(np.arange(3), 10), np.tile(np.linspace(0, 3, 10), 3)
OFFSETS = np.array([0.0, 1.0, 2.0])


def _by_index(x, a, b):
    return a * np.exp(-b * x[1]) + OFFSETS[x[0]]


def _by_name(x, a, b):
    return a * np.exp(-float(b) * x.t) + OFFSETS[x.which]


@pytest.mark.parametrize("single", [np.float32, np.float64])
@pytest.mark.parametrize("kind", [tuple, dict, list, Where])
def test_parts_of_x_are_numbers_of_float64_and_indices(kind, single):
    which, t = (WHICH.tolist(), TIMES.tolist()) if kind is list else (WHICH, TIMES.astype(single))
    x = Where(which, t) if kind is Where else {0: which, 1: t} if kind is dict else (which, t)
    model = _by_name if kind is Where else _by_index
    y = model(Where(WHICH, TIMES), 2.0, 0.7) + 0.01 * np.cos(70 * TIMES)
    fit = both(model, x, y, p0=[1, 1])
    assert fit.certificate.verdict == "CONVERGED" and abs(fit["b"].value - 0.7) < 0.1
    assert np.allclose(fit.predict(x), fit.fitted, rtol=1e-12)


def test_a_called_function_of_float32_arrays_in_a_tuple_gets_float64():
    t = np.linspace(0, 3, 30).astype(np.float32)
    y = 2 * np.exp(-0.7 * t) + 0.01 * np.cos(70 * t)
    assert both(lambda x, a, b: float(a) * np.exp(-float(b) * x[0]), (t,), y, p0=[1, 1]).success


def decay(x, a, b, c):
    return a * np.exp(-b * x) + c


def called_decay(x, a, b, c):
    return float(a) * np.exp(-float(b) * x) + float(c)


decays = pytest.mark.parametrize("model", [decay, called_decay, "a*exp(-b*x)+c"], ids=["rec", "call", "text"])
DECAY = 2 * np.exp(-0.5 * X) + 0.2 + 0.01 * np.cos(70 * X)


@decays
@pytest.mark.parametrize("p0", [{"a": 1, "b": 0.4}, [1, 0.4, np.nan], None])
def test_tied_parameters(model, p0):
    options = dict(ties=["c = a/10"])
    one = nf.fit(model, X, DECAY, p0=p0 if p0 is None else {"a": 1, "b": 0.4}, **options)
    many = nf.fit_many(model, X, np.stack([DECAY] * 40), p0=p0, **options)
    assert many.success.all() and np.allclose(many.parameters, one.x, rtol=1e-6)
    assert np.allclose(many.std_errors, one.stderr, rtol=1e-4)
    assert np.array_equal(many["c"], many["a"] / 10)
    assert np.allclose(nf.fit_many(model, X, DECAY[None], p0=p0, ties="c = a/10").parameters, one.x)


@decays
def test_mistakes_about_ties_are_those_of_all_fits(model):
    for ties, told in ((["d = a"], "no parameter 'd'"), (["c = 2*q"], "no parameter 'q'")):
        with pytest.raises(ValueError, match=told):
            nf.fit_many(model, X, np.stack([DECAY] * 3), p0={"a": 1, "b": 1}, ties=ties)
    for p0 in ([1, 0.4, 0.1], [[1, 0.4, 0.1]] * 3):
        with pytest.raises(ValueError, match="c is tied and has no start of its own"):
            nf.fit_many(model, X, np.stack([DECAY] * 3), p0=p0, ties=["c = a/10"])
    with pytest.raises(ValueError, match="c is tied"):
        nf.fit_many(model, X, np.stack([DECAY] * 3), p0={"a": 1}, ties=["c = a/10"], bounds={"c": (0, 1)})


@decays
@pytest.mark.parametrize("options", [
    dict(fixed=["a", "b", "c"]), dict(bounds=([2, 0.4, 0.2], [2, 0.4, 0.2])),
    dict(fixed={"a": 2, "b": 0.5, "c": 0}),
], ids=["fixed", "equal bounds", "fixed at"])  # fmt: skip
def test_fits_without_a_free_parameter_give_the_cost(model, options):
    fit = both(model, X, DECAY, p0=[2, 0.4, 0.2], **options)
    many = nf.fit_many(model, X, np.stack([DECAY, 2 * DECAY] * 20), p0=[2, 0.4, 0.2], **options)
    assert fit.success and np.isclose(many.cost[0], fit.cost) and many.success.all()
    assert np.array_equal(many.parameters[1], fit.x) and not many.std_errors.any()


@decays
def test_several_starts(model):
    wave = 1.5 * np.sin(3.7 * X) + 0.05 * np.cos(70 * X)
    waves = {decay: lambda x, a, w: a * np.sin(w * x),
             called_decay: lambda x, a, w: float(a) * np.sin(float(w) * x)}  # fmt: skip
    options = dict(p0=[1, 0.5], bounds=([-10, 0.1], [10, 10]))
    fit = both(waves.get(model, "a*sin(w*x)"), X, wave, starts=32, **options)
    assert np.isclose(fit["w"].value, 3.7, rtol=0.01)
    one = nf.fit_many(waves.get(model, "a*sin(w*x)"), X, wave[None], **options)
    assert abs(one["w"][0] - 3.7) > 0.5  # a single start misses it


@decays
def test_values_that_parameters_are_fixed_at_hold_for_starts_of_each_fit(model):
    many = nf.fit_many(model, X, np.stack([DECAY] * 3), p0=[[1, 0.3, 0.1]] * 3, fixed={"b": 0.4})
    assert np.array_equal(many["b"], [0.4] * 3)
    assert np.allclose(many.parameters, nf.fit(model, X, DECAY, p0={"a": 1}, fixed={"b": 0.4}).x)


def line(x, a, b):
    return a * (x / x.max()) + b


def called_line(x, a, b):
    return float(a) * (x / x.max()) + float(b)


@pytest.mark.parametrize("model", [line, called_line, "a*(x/9)+b"], ids=["rec", "call", "text"])
@pytest.mark.parametrize("x", [X, X - 3, np.arange(1.0, 6), np.random.default_rng(0).random(10)])
def test_a_line_through_zeros_is_zero(model, x):
    for p0 in ([1, 1], [0.3, 7], [-2, 1e3], [1e-5, 1], None):
        fit = nf.fit(model, x, 0 * x, p0=p0)
        assert fit.success and abs(fit.x).max() < 1e-15
        for in_lanes in (True, False):
            many = nf.fit_many(model, x, np.zeros((40, x.size)), p0=p0, in_lanes=in_lanes)
            assert many.success.all() and abs(many.parameters).max() < 1e-15


def test_rows_of_huge_weight_that_hide_the_others_are_no_success():
    x = 1e5 + np.arange(8) / 2
    y = 2 - 3 * x - 3.5 * x * x + 1e-5 * np.random.default_rng(1).normal(size=8)
    sigma = np.ones(8)
    sigma[0] = 1e-6
    for fits in [1, 40]:
        many = nf.fit_many("a+b*x+c*x^2", x, np.tile(y, (fits, 1)), p0=[1, 1, 1], sigma=sigma)
        assert not many.success.any()
    x = 1e5 + np.linspace(0, 4, 12)
    w = np.where(np.arange(12) < 3, 1.8e6, 1.0)
    y = (1e7 - 212.6 * x + 3.3 * x * x + 0.02 * np.random.default_rng(41).normal(size=12)) * w
    many = nf.fit_many("(a+b*x+c*x^2)*w", {"x": x, "w": w}, np.tile(y, (3, 1)), p0=[1, 1, 1])
    alone = nf.fit("(a+b*x+c*x^2)*w", {"x": x, "w": w}, y, p0=[1, 1, 1])
    assert many.success.tolist() == [alone.success] * 3
