"""Tests arguments of fit and fit_many that would lose something as float64, and forms that are allowed."""

import numpy as np
import nlsqfit as nf
import pytest
from nlsqfit._fit_options import SOLVER
from nlsqfit._handles import Options

X = np.linspace(0.1, 4, 20)
Y = np.array([[1.0], [2.0], [3.0]]) * np.exp(-0.5 * X) + 0.01 * np.cos(70 * X)
START = [1, 0.4]


def recorded(x, a, b):
    return a * np.exp(-b * x)


def called(x, a, b):
    return float(a) * np.exp(-float(b) * x)


every_kind = pytest.mark.parametrize("model", [recorded, called, "a*exp(-b*x)"], ids=["rec", "call", "text"])


def refused(kind, match, model, x, y, **options):
    """Checks that both functions refuse it, for one data set and for several."""
    with pytest.raises(kind, match=match):
        nf.fit(model, x, y[0], p0=START, **options)
    with pytest.raises(kind, match=match.replace("y ", "Y ")):
        nf.fit_many(model, x, y, p0=START, **options)


@every_kind
def test_what_would_lose_its_imaginary_part_or_unit_is_refused(model):
    refused(TypeError, "y is complex", model, X, Y + 0j)
    refused(TypeError, "x is complex", model, X + 0j, Y)
    refused(TypeError, "sigma is complex", model, X, Y, sigma=np.ones(20) + 0j)
    dates = np.datetime64("2026-01-01") + np.arange(20).astype("m8[D]")
    dates[3] = np.datetime64("NaT")  # as a number it would be -9.2e18
    refused(TypeError, r"x holds dates; give numbers, such as \(x - x\[0\]\) / np.timedelta64", model, dates, Y)
    refused(TypeError, "x holds times", model, dates - dates[0], Y)
    refused(TypeError, "y holds dates", model, X, np.stack([dates] * 3))


def test_predictors_of_a_formula_are_numbers_and_those_of_a_function_are_its_own():
    with pytest.raises(TypeError, match="x2 is complex"):
        nf.fit("a*exp(-b*x1)+0*x2", (X, 1j * X), Y[0])
    with pytest.raises(TypeError, match=r"x\['t'\] is complex"):
        nf.fit_many("a*exp(-b*t)", {"t": 1j * X}, Y)

    def model(x, a, b):
        return a * np.exp(-b * x[0].imag)

    assert np.allclose(nf.fit(model, (1j * X,), Y[0], p0=START).x, nf.fit(recorded, X, Y[0], p0=START).x)


@pytest.mark.parametrize("x", [X, np.stack([X] * 3)], ids=["one x", "x of each"])
def test_what_a_function_gives_is_refused_in_the_same_words(x):
    for model, kind, told in (
        (lambda x, a, b: a * np.exp(1j * b * x), ValueError, "gives complex values"),
        (lambda x, a, b: float(a) * np.exp(1j * float(b) * x), ValueError, "gives complex values"),
        (lambda x, a, b: None, TypeError, "gives None"),
        (lambda x, a, b: (a * x)[..., :-1], ValueError, "the model gives 19 values"),
    ):
        with pytest.raises(kind, match=told):
            nf.fit_many(model, x, Y, p0=START)
        with pytest.raises(kind, match=told):
            nf.fit(model, X, Y[0], p0=START)


@every_kind
def test_a_mask_is_of_truth_values(model):
    for mask in (np.full(20, np.nan), "yes", np.ones(20)):
        with pytest.raises(TypeError, match="mask is of .*; give True where a value takes no part"):
            nf.fit_many(model, X, Y, p0=START, mask=mask)
    assert nf.fit_many(model, X, Y, p0=START, mask=(Y > 2.5).astype(int)).success.all()


@every_kind
def test_none_in_a_pair_of_bounds_is_no_bound(model):
    free = nf.fit_many(model, X, Y, p0=START)
    for bounds in ((None, None), ([0, None], [9, 9]), (None, [None, 9])):
        assert np.allclose(nf.fit_many(model, X, Y, p0=START, bounds=bounds).parameters, free.parameters)
        assert np.allclose(nf.fit(model, X, Y[0], p0=START, bounds=bounds).x, free.parameters[0])


@every_kind
def test_starts_by_name_for_each_fit(model):
    many = nf.fit_many(model, X, Y, p0={"a": [1, 2, 3], "b": 0.4})
    assert np.array_equal(many.parameters, nf.fit_many(model, X, Y, p0=[[1, 0.4], [2, 0.4], [3, 0.4]]).parameters)
    with pytest.raises(ValueError, match=r"p0\['a'\] has shape \(2,\); one number or \(3,\) is wanted"):
        nf.fit_many(model, X, Y, p0={"a": [1, 2], "b": 0.4})
    with pytest.raises(TypeError, match="p0 is a masked array; give NaN"):
        nf.fit_many(model, X, Y, p0=np.ma.array(START, mask=[0, 1]))


@every_kind
def test_Y_without_an_axis_is_refused(model):
    for Y in (3.0, None):
        with pytest.raises(ValueError, match="Y is one number or none"):
            nf.fit_many(model, X, Y, p0=START)


def test_every_option_of_the_library_can_be_given():
    """An option that the C interface has and the lists of this package lack would be refused."""
    with pytest.raises(ValueError, match="there is no option") as error:
        Options().set("nonsense", 1)
    listed = set(str(error.value).partition("the options are ")[2].split(", "))
    of_problems = {"step_solver", "preconditioner", "eta", "max_linear_iterations"}
    in_other_words = {"loss", "f_scale", "absolute_sigma", "bounds", "fix", "tie", "residuals", "recheck_tolerance"}
    assert listed == {*SOLVER} | of_problems | in_other_words


class NAType:
    """Stands for the missing value of pandas, which is no number."""


@every_kind
def test_missing_values_of_pandas_are_told_with_their_rows(model):
    y, some = Y.astype(object), X.astype(object)
    y[:, 4] = some[4] = some[7] = NAType()
    refused(TypeError, "y is missing .NA. in row 4", model, X, y)
    refused(TypeError, "sigma is missing .NA. in row 4 and in 1 more: leave out such rows", model, X, Y, sigma=some)
    refused(TypeError, "x is missing .NA. in row 4 and in 1 more", model, some, Y)


@every_kind
def test_a_fixed_value_outside_its_bounds_is_not_called_a_start(model):
    refused(ValueError, "fixed: b = 9 is outside its bounds, 0 to 5", model, X, Y, fixed={"b": 9}, bounds={"b": (0, 5)})


def test_arguments_of_other_packages_are_told_what_stands_here():
    for name, match in (("weights", "sigma=1/weights"), ("maxfev", "max_iterations"), ("nan_policy", "isfinite")):
        refused(TypeError, f"no option '{name}'. .*{match}", recorded, X, Y, **{name: 1})
    with pytest.raises(ValueError, match="does not name its parameters: give p0"):
        nf.fit(lambda x, *p: p[0] * x, X, X)
    with pytest.raises(ValueError, match=r"p0 has 2 values for 1 parameter \(x\)"):
        nf.fit(lambda p, x: p[0] * x + p[1], X, X, p0=[1, 2])
