"""Tests errors in x of functions. Slopes by x must be those of the whole function."""

import numpy as np
import pytest

import nlsqfit as nf

X = np.linspace(0.5, 4, 40)
W = np.cos(X)
START = {"a": 1, "b": 2, "c": 0.3}
OF_X, OF_W = np.full(40, 0.1), np.full(40, 0.05)


def in_place(x, a, b, c):
    out = np.zeros_like(x)
    for k, p in enumerate((a, b, c)):
        out += p * x**k
    return out


def masked(x, a, b, c):
    out = np.empty_like(x)
    low = x < 2
    out[low] = a + b * x[low]
    out[~low] = a + 2 * b + c * (x[~low] - 2)
    return out


CASES = [
    (lambda x, a, b, c: a + b * x + c * x**2, "a+b*x+c*x^2", X, OF_X),
    (lambda x, a, b, c: a * np.exp(-b / (8.3 * x)) + c, "a*exp(-b/(8.3*x))+c", X, OF_X),
    (lambda x, a, b, c: a * np.sqrt(x) + b * np.log(x) + c, "a*sqrt(x)+b*log(x)+c", X, 0.1 * X),
    (lambda x, a, b, c: np.polyval([c, b, a], x), "a+b*x+c*x^2", X, 0.1),
    (lambda x, a, b, c: a + b * np.where(x < 2, x, 2 * x - 2) + c * x**2, "a+b*if(x<2,x,2*x-2)+c*x^2", X, OF_X),
    (in_place, "a+b*x+c*x^2", X, OF_X),
    (masked, "if(x<2,a+b*x,a+2*b+c*(x-2))", X, OF_X),
    (lambda x, a, b, c: a * x[0] ** 2 + b * x[1] ** 2 + c, "a*x1^2+b*x2^2+c", np.array([X, W]), [OF_X, OF_W]),
    (lambda x, a, b, c: a * x[0] ** 2 + b * x[1] ** 2 + c, "a*x1^2+b*x2^2+c", (X, W), OF_X),
    (lambda x, a, b, c: a * x["u"] ** 2 + b * x["w"] + c, "a*u^2+b*w+c", {"u": X, "w": W}, [OF_X, OF_W]),
    (lambda x, a, b, c: a * W + b * x + c * x**2, "a*w+b*x+c*x^2", X, OF_X),  # numbers that do not come from x come first
]  # fmt: skip


@pytest.mark.parametrize("function, formula, x, sigma_x", CASES)
def test_errors_in_x_of_a_function_are_those_of_the_formula(function, formula, x, sigma_x):
    y = function(x, *START.values()) + 0.05 * np.random.default_rng(0).normal(size=X.size)
    of_formula = {"x": X, "w": W} if "*w" in formula and not isinstance(x, dict) else x
    ours = nf.fit(function, x, y, p0=START, sigma=0.05, sigma_x=sigma_x)
    wanted = nf.fit(formula, of_formula, y, p0=START, sigma=0.05, sigma_x=sigma_x)
    assert ours.success and wanted.success
    assert np.isclose(ours.cost, wanted.cost) and np.allclose(ours.x, wanted.x, rtol=1e-6)
    assert np.allclose(ours.cov, wanted.cov, rtol=1e-5)


POS, ROW = np.arange(30.0), np.arange(30.0)
PEAK_START = {"a": 4, "m": 11, "w": 3, "d": 0.2}


@pytest.mark.parametrize(
    "function, x",
    [
        (lambda x, a, m, w, d: a * np.exp(-0.5 * ((x[0] - m) / w) ** 2) + d * x[1], (POS, ROW)),
        (lambda x, a, m, w, d: a * np.exp(-0.5 * ((x - m) / w) ** 2) + d * ROW, POS),
        (lambda x, a, m, w, d: a * np.exp(-0.5 * ((x - m) / w) ** 2) + d * np.arange(len(x)), POS),
    ],
)
def test_exact_numbers_that_equal_those_of_x_stay_exact(function, x):
    """They were taken for x with its errors, and standard errors were up to 2.8 times too large."""
    shifted = POS + 0.3 * np.random.default_rng(3).normal(size=30)
    y = 4 * np.exp(-0.5 * ((shifted - 11) / 3) ** 2) + 0.2 * ROW
    errors = {"sigma": 0.02, "sigma_x": [0.3] if x is POS else 0.3, "absolute_sigma": True, "p0": PEAK_START}
    ours = nf.fit(function, x, y, **errors)
    wanted = nf.fit("a*exp(-0.5*((x1-m)/w)^2)+d*x2", (POS, ROW), y, **{**errors, "sigma_x": 0.3})
    assert ours.success and np.allclose(ours.x, wanted.x, rtol=1e-6) and np.allclose(ours.cov, wanted.cov, rtol=1e-5)


def test_functions_of_numbers_that_equal_those_of_x_do_not_use_it():
    with pytest.raises(Exception, match="does not use its x"):
        nf.fit(lambda x, a, b: a + b * np.arange(len(x)), ROW, 2 + 3 * ROW, sigma=0.1, sigma_x=0.1)


@pytest.mark.parametrize(
    "function, words",
    [
        (lambda x, a, b, c: a + b * (x - x.mean()) + c * x**2, "sum of all 40 values"),
        (lambda x, a, b, c: a + b * x[::-1] + c * x, "different rows"),
        (lambda x, a, b, c: a + b * W + c * W**2, "does not use its x"),
    ],
)
def test_functions_without_slopes_by_x_are_refused(function, words):
    with pytest.raises(ValueError, match=words):
        nf.fit(function, X, X, p0=START, sigma=0.05, sigma_x=OF_X)


def test_more_errors_than_predictors_are_refused():
    with pytest.raises(ValueError, match="2 predictors; x has 1"):
        nf.fit(lambda x, a, b: a * x + b * W, X, X, sigma=0.05, sigma_x=[OF_X, OF_W])


def test_errors_of_several_predictors_have_several_forms():
    model, y = "a*u^2+b*w+c", X**2 + 2 * W + 0.3 + 0.05 * np.cos(40 * X)
    x = {"w": W, "u": X}
    wanted = nf.fit(model, {"u": X, "w": W}, y, sigma=0.1, sigma_x=[OF_X, OF_W])
    function = lambda x, a, b, c: a * x["u"] ** 2 + b * x["w"] + c  # noqa: E731
    for of_x in ({"u": 0.1, "w": OF_W}, {"w": 0.05, "u": OF_X}, [0.05, 0.1], np.array([OF_W, OF_X]), (OF_W, 0.1)):
        for one in (model, function):
            fit = nf.fit(one, x, y, sigma=0.1, sigma_x=of_x, p0=START)
            assert np.allclose([fit[p].value for p in "abc"], wanted.x, rtol=1e-9)
            assert np.allclose([fit[p].stderr for p in "abc"], wanted.stderr, rtol=1e-6)
    of_u = nf.fit(model, x, y, sigma=0.1, sigma_x={"u": 0.1})
    assert np.allclose(of_u.x, nf.fit(model, x, y, sigma=0.1, sigma_x=[None, OF_X]).x)
    assert np.allclose(sorted(of_u.x), sorted(nf.fit(model, {"u": X, "w": W}, y, sigma=0.1, sigma_x=0.1).x))


def test_errors_that_fit_no_predictor_are_refused():
    x = {"u": X, "w": W}
    with pytest.raises(ValueError, match="sigma_x has 'v'; the predictors are u, w"):
        nf.fit("a*u+b*w", x, W, sigma=0.1, sigma_x={"v": 0.1})
    with pytest.raises(ValueError, match="sigma_x has names, and x has none"):
        nf.fit("a*x+b", X, W, sigma=0.1, sigma_x={"x": 0.1})
    with pytest.raises(ValueError, match=r"sigma_x of predictor 1 has shape \(3,\); a number or \(40,\) is wanted"):
        nf.fit("a*x+b", X, W, sigma=0.1, sigma_x=np.full(3, 0.1))
