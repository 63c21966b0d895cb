"""Tests that the bands of Fit.predict are those of the library's own predict()."""

import warnings
from ctypes import byref, c_void_p

import numpy as np
import nlsqfit as nf
import pytest
from nlsqfit._handles import Options, Result, columns_of
from nlsqfit._library import check, lib

RNG = np.random.default_rng(3)
X = np.linspace(0, 6, 30)
S = 0.02 + 0.1 * X
Y = 3 * np.exp(-0.7 * X) + 0.5 + S * RNG.normal(size=X.size)
COUNTS = RNG.poisson(100 * np.exp(-0.7 * X) + 1.0).astype(float)
AT = np.array([0.0, 1.5, 6.0, 9.0])
DECAY = "a*exp(-b*x)+c"
MATRIX = np.diag(S**2) + 1e-4


def of_library(fit, x, sigma=None):
    keep, made, options = [], c_void_p(), Options()
    if sigma is not None:
        options.set_column("sigma", sigma)
    model = fit._model.model.handle
    check(
        lib.nlsq_model_predict(
            model, columns_of([x], keep), 1, fit._result.handle, options.handle, byref(made)
        )
    )
    result = Result(made)
    names = ("std_error", "confidence_low", "confidence_high", "prediction_low", "prediction_high")
    return [result.array(name) for name in names]


def assert_same(fit, x=None, sigma=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", nf.OptimizeWarning)
        band = fit.predict(x, band=True)
    theirs = of_library(fit, X if x is None else x, sigma)
    for ours, other in zip((band.std_error, *band.confidence, *band.prediction), theirs):
        assert np.allclose(ours, other, rtol=1e-9, atol=1e-12, equal_nan=True)
    return band


@pytest.mark.parametrize(
    "model, y, options",
    [
        (DECAY, Y, {}),
        (DECAY, Y, dict(sigma=0.3)),
        (DECAY, Y, dict(sigma=np.full(30, 0.3), absolute_sigma=True)),
        (DECAY, Y, dict(sigma=S)),
        (DECAY, Y, dict(sigma=S, absolute_sigma=True)),
        (DECAY, Y, dict(sigma=MATRIX, absolute_sigma=True)),
        (DECAY, Y, dict(loss="huber", f_scale=0.1)),
        (DECAY, Y, dict(loss="cauchy", sigma=0.3, absolute_sigma=True)),
        (DECAY, COUNTS, dict(loss="poisson", p0={"a": 90, "b": 1, "c": 2})),
        (DECAY, Y, dict(bounds={"c": (0.8, 2)})),
        (DECAY, Y, dict(fixed={"c": 0.5})),
        (DECAY, Y, dict(ties=["c = a/6"])),
        ("a*exp(-b*x)+c+d", Y, dict(ties=["c = a/9", "d = c/2"], bounds={"a": (0, 2)})),
        ("a*x+b+c", Y, {}),
        ("a+b*c*x", Y, {}),
    ],
)
def test_bands_are_those_of_the_library(model, y, options):
    assert_same(nf.fit(model, X, y, **options), AT)


def test_an_undetermined_parameter_gives_no_band_where_the_curve_depends_on_it():
    fit = nf.fit("a*x + (b+c)*(x > 3)", X, Y, p0={"a": 0, "b": 0, "c": 0})
    assert np.isnan(fit.stderr[1])
    with pytest.warns(nf.OptimizeWarning, match="1 of 2 rows.*do not determine") as caught:
        band = fit.predict(np.array([2.0, 5.0]), band=True)
    assert len(caught) == 1
    assert np.array_equal(np.isnan(band.std_error), [False, True])
    assert np.array_equal(np.isnan(band.prediction[0]), [False, True])


@pytest.mark.parametrize("sigma", [S, MATRIX])
def test_the_scatter_of_a_new_measurement_is_known_at_the_data_only(sigma):
    fit = nf.fit(DECAY, X, Y, sigma=sigma, absolute_sigma=True)
    with pytest.warns(nf.OptimizeWarning, match="differs by row" if sigma.ndim == 1 else "sigma is a matrix"):
        assert np.isnan(fit.predict(AT, band=True).prediction[1]).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit.predict(band=True)
    assert_same(fit, sigma=S if sigma.ndim == 1 else np.sqrt(np.diag(MATRIX)))


def test_derivatives_that_overflow_raise_no_warning_of_numpy():
    fit = nf.fit("a*exp(b*x)", X, np.exp(0.5 * X), p0={"a": 1, "b": 0.4})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        band = fit.predict(np.array([1.0, 1419.0, 1e4]), band=True)
    assert {w.category for w in caught} == {nf.OptimizeWarning}
    assert np.array_equal(np.isnan(band.std_error), [False, True, True])


@pytest.mark.parametrize("given", [dict(loss="huber"), dict(sigma_x=0.1)])
def test_a_matrix_beside_a_loss_or_errors_in_x_is_refused_by_its_name(given):
    with pytest.raises(ValueError, match="^sigma is a matrix"):
        nf.fit(DECAY, X, Y, sigma=MATRIX, **given)


def test_a_robust_loss_leaves_the_prediction_band_undefined():
    fit = nf.fit(DECAY, X, Y, loss="huber", f_scale=0.1)
    with pytest.warns(nf.OptimizeWarning, match="outliers"):
        band = fit.predict(AT, band=True)
    assert np.isnan(band.prediction[0]).all() and np.isfinite(band.confidence[0]).all()


def test_counts_scatter_by_the_value_of_the_curve():
    fit = nf.fit(DECAY, X, COUNTS, loss="poisson", p0={"a": 90, "b": 1, "c": 2})
    band = fit.predict(AT, band=True)
    half = (band.confidence[1] - band.confidence[0]) / 2
    whole = band.prediction[1] - band.fit
    assert np.allclose(whole / half * band.std_error, np.sqrt(band.std_error**2 + band.fit))
    assert (band.prediction[0] >= 0).all()


def test_strong_correlations_are_computed_from_the_rows():
    x = 1000 + X
    fit = nf.fit("a + b*x + c*x^2 + d*x^3", x, Y)
    middle = nf.fit("a + b*x + c*x^2 + d*x^3", X, Y)
    ours, theirs = (f.predict(at, band=True) for f, at in ((fit, x), (middle, X)))
    assert np.isfinite(fit.stderr).all()
    assert np.allclose(ours.std_error, theirs.std_error, rtol=2e-2)


def test_a_function_that_is_called_has_the_same_bands():
    def called(x, a, b, c):
        return float(a) * np.exp(-b * x) + c

    for options in (dict(sigma=0.3, absolute_sigma=True), dict(bounds={"c": (0.8, 2)})):
        one, two = (nf.fit(model, X, Y, **options).predict(AT, band=True) for model in (DECAY, called))
        assert np.allclose(one.prediction, two.prediction, rtol=1e-5)
        assert np.allclose(one.std_error, two.std_error, rtol=1e-4)


@pytest.mark.parametrize("options", [{"sigma": S}, {"sigma": S, "absolute_sigma": True}, {"sigma": 0.3}])
def test_the_sigma_of_new_measurements_gives_their_band(options):
    fit = nf.fit(DECAY, X, Y, **options)
    new = np.array([0.1, 0.2, 0.3, 0.4])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        band, one = fit.predict(AT, band=True, sigma=new), fit.predict(AT, band=True, sigma=0.2)
    theirs = of_library(fit, AT, new)
    for ours, other in zip((band.std_error, *band.confidence, *band.prediction), theirs):
        assert np.allclose(ours, other, rtol=1e-9)
    assert np.isclose(one.prediction[1][1], band.prediction[1][1])


def test_a_sigma_of_new_measurements_that_does_not_suit_is_refused():
    weighted, plain = nf.fit(DECAY, X, Y, sigma=S), nf.fit(DECAY, X, Y)
    counts = nf.fit(DECAY, X, COUNTS, loss="poisson", p0={"a": 90, "b": 1, "c": 2})
    for fit, sigma, text in (
        (plain, 0.1, "the fit had no sigma"),
        (counts, 0.1, "the root of the model"),
        (weighted, [0.1, 0.2], r"sigma has shape \(2,\); a number or \(4,\) is wanted"),
        (weighted, -1.0, "positive and finite"),
    ):
        with pytest.raises(ValueError, match=text):
            fit.predict(AT, band=True, sigma=sigma)


@pytest.mark.parametrize("scatter", [1e-5, 1e-3])
def test_bands_of_values_with_many_leading_digits(scatter):
    y = 1.7e9 + scatter * np.random.default_rng(0).normal(size=1000)
    fit = nf.fit("t0+0*x", np.linspace(0, 1, 1000), y, sigma=scatter)
    band = fit.predict(np.array([0.5]), band=True, sigma=1.0)
    half = 1.9623 * np.sqrt(fit.chi2_reduced)  # Student's t of 999 degrees of freedom
    assert band.prediction[1] - band.prediction[0] == pytest.approx(2 * half, rel=1e-4)
