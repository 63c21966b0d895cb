"""Tests the messages of fit_many about fits without success, and about wrong starts and bounds."""

import numpy as np
import nlsqfit as nf
import pytest

X = np.linspace(0.1, 4, 20)
START = [1, 0.5, 0.1]


def decay(x, a, b, c):
    return a * np.exp(-b * x) + c


def called_decay(x, a, b, c):
    return float(a) * np.exp(-float(b) * x) + float(c)


every_kind = pytest.mark.parametrize("model", [decay, called_decay, "a*exp(-b*x)+c"], ids=["rec", "call", "text"])


def data(fits=40):
    """Return decays. Those of fits 1, 5 and 6 cannot be fitted."""
    scale = np.linspace(1, 3, fits)[:, None]
    Y = scale * np.exp(-0.5 * X) + 0.1 + 0.01 * np.cos(70 * X)
    Y[1, 3], Y[5], Y[6] = np.nan, np.where(X > 2, 1.0, -1.0) * 1e-9 * X**7, 1e200
    return Y


def said_of(model, y, **options):
    """Return the message of a fit alone, or of the exception that it raises."""
    try:
        return nf.fit(model, X, y, p0=START, **options).message
    except ValueError as error:
        return str(error)


@every_kind
@pytest.mark.parametrize("fits", [40, 8])  # fits in lanes, and fits one by one
def test_each_fit_without_success_says_why_as_a_fit_alone_does(model, fits):
    Y = data(fits)
    many = nf.fit_many(model, X, Y, p0=START)
    assert set(many.messages) == set(np.flatnonzero(~many.success)) >= {1, 6}
    for fit, why in many.messages.items():
        assert why == said_of(model, Y[fit])
    assert "y has 1 value(s) that are not finite; the first is nan in row 3" in many.messages[1]
    assert "squares overflow" in many.messages[6]
    ended = nf.fit_many(model, X, Y, p0=[1, 30, 0.1], max_iterations=1)
    assert "iteration limit reached" in ended.messages[0]


@every_kind
def test_keys_of_messages_are_places_in_the_results(model):
    Y = data(8).reshape(2, 4, -1)
    many = nf.fit_many(model, X, Y, p0=START)
    assert {(0, 1), (1, 2)} <= set(many.messages)
    for place in many.messages:
        assert not many.success[place]
    alone = nf.fit_many(model, X, Y[0, 1], p0=START)
    assert list(alone.messages) == [()] and "row 3" in alone.messages[()]
    assert nf.fit_many(model, X, Y[:1, :1], p0=START).messages == {}


@every_kind
def test_a_message_says_how_rows_are_counted_beside_a_mask(model):
    mask = np.zeros((8, X.size), bool)
    mask[1, 0] = mask[2, 2:] = mask[3] = True
    many = nf.fit_many(model, X, data(8), p0=START, mask=mask)
    assert "in row 2" in many.messages[1] and "without those that the mask leaves out" in many.messages[1]
    assert "2 rows cannot determine 3 parameters" in many.messages[2] and 3 in many.messages


def test_a_fit_that_is_called_beside_recorded_ones_has_its_own_message():
    x = np.stack([X + 0.01 * fit for fit in range(8)])
    x[2, 4] = np.nan  # the function must be called for this fit
    many = nf.fit_many(decay, x, data(8), p0=START)
    assert many.evaluator.startswith("recorded, but called for 1 of 8")
    assert {1, 2, 6} <= set(many.messages) and "not finite" in many.messages[2]


@every_kind
@pytest.mark.parametrize("p0", [START, None, {"a": 1}])
def test_bounds_the_wrong_way_round_are_named(model, p0):
    told = "bounds: the lower one of b, 2, is above the upper one, 0: exchange them"
    for bounds in ({"b": (2, 0)}, ([0, 2, 0], [9, 0, 1])):
        for fixed in (None, ["a"]):
            with pytest.raises(ValueError, match=told):
                nf.fit_many(model, X, data(8), p0=p0, bounds=bounds, fixed=fixed)
            with pytest.raises(ValueError, match=told):
                nf.fit(model, X, data(8)[0], p0=p0, bounds=bounds, fixed=fixed)
    with pytest.raises(ValueError, match="bounds: the lower one of b is NaN"):
        nf.fit_many(model, X, data(8), p0=p0, bounds={"b": (np.nan, 1)})


@every_kind
def test_a_start_that_is_infinite_or_outside_the_bounds_is_named_with_its_fit(model):
    starts = np.array([START] * 8)
    starts[2, 1] = np.inf
    with pytest.raises(ValueError, match="p0 of fit 2: b = inf is not finite"):
        nf.fit_many(model, X, data(8), p0=starts)
    with pytest.raises(ValueError, match="p0: b = inf is not finite"):
        nf.fit_many(model, X, data(8), p0=starts[2])
    with pytest.raises(ValueError, match="p0: b = inf is not finite"):
        nf.fit(model, X, data(8)[0], p0=starts[2])
    starts[2, 1], starts[3, 1] = 0.5, 5
    for fixed in (None, ["b"]):
        with pytest.raises(ValueError, match="p0 of fit 3: b = 5 is above its upper bound 2: start within"):
            nf.fit_many(model, X, data(8), p0=starts, bounds={"b": (0, 2)}, fixed=fixed)


@every_kind
def test_warnings_of_fits_with_success_are_those_of_a_fit_alone(model):
    options = dict(p0=START, loss="tukey", f_scale=5e-3)
    many = nf.fit_many(model, X, data()[7:10], **options)
    assert many.success.any()
    for fit in np.flatnonzero(many.success):
        assert any(w.startswith(f"fit {fit}: ") and "beyond the scale of the loss" in w for w in many.warnings)


@every_kind
@pytest.mark.parametrize("fits", [40, 3])
def test_a_curve_worse_than_a_constant_has_a_warning(model, fits):
    rising = 5 + X + 0.1 * np.cos(70 * X) + np.linspace(0, 1, fits)[:, None]
    many = nf.fit_many(model, X, rising, p0=START, fixed={"c": 0.0, "b": 1.0})
    assert many.success.all()
    alone = nf.fit(model, X, rising[0], p0=START, fixed={"c": 0.0, "b": 1.0})
    assert any("R² is below 0" in w for w in alone.warnings)
    assert sum("R² is below 0" in w for w in many.warnings) == fits


def test_few_rows_within_the_scale_of_tukeys_loss_are_no_success():
    x = [0, 0.8, 1.6, 2.4, 3.2, 4]
    y = [1.204, 1.352, 1.874, -0.385, 1.083, 0.178]
    fit = nf.fit("a+b*x+c*x^2", x, y, loss="tukey", f_scale=0.2)
    assert not fit.success and "only 3 of 6 rows are within the scale" in fit.message
    assert not nf.fit_many("a+b*x+c*x^2", x, [y], loss="tukey", f_scale=0.2).success.any()


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_a_polynomial_through_as_many_points_as_parameters_is_certified(degree):
    model = "+".join(["a", "b*x", "c*x^2", "d*x^3"][: degree + 1])
    random = np.random.default_rng(1)
    for _ in range(50):
        x = random.choice(np.arange(-99, 100), degree + 1, replace=False) / 10
        y = random.integers(-50, 51, degree + 1) / 10
        assert nf.fit(model, x, y).success
        basis = np.vander(x, increasing=True)
        assert nf.least_squares(lambda p: basis @ p - y, np.ones(degree + 1)).success
