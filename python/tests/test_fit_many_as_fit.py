"""fit_many gives for each data set what fit gives for it alone, whatever kind of model and options it has."""

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
    """The Fit of y, after fits of it in a batch were compared with it."""
    one = nf.fit(model, x, y, p0=p0, **options)
    many = nf.fit_many(model, x, np.stack([y, y]), p0=p0, **options)
    assert list(many.success) == [one.success] * 2
    assert np.allclose(many.parameters, one.x, rtol=1e-6)
    assert np.allclose(many.std_errors, one.stderr, rtol=1e-4, equal_nan=True)
    return one


@every_kind
@pytest.mark.parametrize("low, high, guess", [(2, 5, 3.5), (1, 5, 3), (None, 0.5, -0.5), (2, None, 3)])
@pytest.mark.parametrize("p0", [None, {"a": 1}])
def test_a_parameter_without_a_start_begins_within_its_bounds(model, low, high, guess, p0):
    y = 2 * np.sin(3.4 * X) / (1 + X) + 0.001 * np.cos(70 * X)
    fit = both(model, X, y, p0=p0, bounds={"t": (low, high)})
    assert fit.params["t"].guess == guess
    if high is None or high > 3.4:
        assert fit.success and abs(fit.params["t"].value - 3.4) < 0.01


@pytest.mark.parametrize("model", [lambda x, a, b, t: np.where(x < t, a * x, a * t + b * (x - t)),
                                   "if(x<t, a*x, a*t+b*(x-t))"], ids=["rec", "text"])  # fmt: skip
def test_an_undetermined_parameter_without_a_start_is_no_success(model):
    y = 3 + 0.5 * X + 0.1 * np.sin(77 * X)  # no x is below t = 1, where it begins
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
