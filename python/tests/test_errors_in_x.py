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
