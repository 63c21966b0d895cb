"""fit_many gives for each data set what fit gives for it alone, whatever kind of model and options it has."""

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
