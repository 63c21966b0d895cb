"""Tests that curve_fit takes SciPy's arguments, and gives its results, errors and warnings."""

import numpy as np
import nlsqfit as nf
import pytest
import scipy.optimize
import scipy_suite
from scipy.optimize import Bounds, OptimizeWarning

X = np.linspace(0, 4, 60)


def decay(x, a, b, c):
    return a * np.exp(-b * x) + c


Y = decay(X, 2.5, 1.3, 0.5) + 0.05 * np.random.default_rng(0).normal(size=X.size)


def test_scipys_own_tests_of_curve_fit():
    outcome = scipy_suite.run("-k", "TestCurveFit")
    assert len(outcome.passed) >= 20
    assert [n for n in outcome.failed if scipy_suite.reason(n) is None] == []


@pytest.mark.parametrize("method", ["lm", "trf", "dogbox"])
@pytest.mark.parametrize("sigma", [None, "vector", "matrix"])
@pytest.mark.parametrize("absolute", [False, True])
def test_the_same_answer_as_scipy(method, sigma, absolute):
    errors = 0.02 + 0.01 * X
    given = {None: None, "vector": errors, "matrix": np.diag(errors**2)}[sigma]
    ours = nf.curve_fit(decay, X, Y, sigma=given, absolute_sigma=absolute, method=method)
    theirs = scipy.optimize.curve_fit(decay, X, Y, sigma=given, absolute_sigma=absolute, method=method)
    assert np.allclose(ours[0], theirs[0], rtol=1e-5)
    assert np.allclose(ours[1], theirs[1], rtol=1e-3)


def test_a_callable_that_cannot_be_recorded_gives_the_same_answer_and_says_why():
    def called(x, a, b, c):
        return decay(x, float(a), b, c)

    one, two = nf.curve_fit(decay, X, Y, full_output=True), nf.curve_fit(called, X, Y, full_output=True)
    assert np.allclose(one[0], two[0], rtol=1e-6) and np.allclose(one[1], two[1], rtol=1e-4)
    assert one[2]["evaluator"] == "recorded"
    assert "plain numbers" in two[2]["evaluator"] and "differences" in two[2]["evaluator"]


@pytest.mark.parametrize("method", ["lm", "trf", "dogbox"])
@pytest.mark.parametrize("model", [lambda x, a, b: np.round(a * x + b), lambda x, a, b: np.round(float(a) * x + b)])
def test_full_output_of_an_end_without_progress_says_not_found(model, method):
    with pytest.warns(OptimizeWarning, match="not certified"):
        _, _, _, message, ier = nf.curve_fit(model, X, 2 * X + 1, p0=[1, 1], method=method, full_output=True)
    assert ier == 0 and "condition is satisfied" not in message
    *_, message, ier = nf.curve_fit(decay, X, Y, method=method, full_output=True)
    assert ier == 1 and message.startswith("`gtol` termination condition is satisfied. converged")


def test_jac_is_used_where_the_function_is_called():
    calls = []

    def called(x, a, b):
        return float(a) * np.exp(-b * x)

    def jac(x, a, b):
        calls.append(1)
        e = np.exp(-b * x)
        return np.column_stack([e, -a * x * e])

    popt, _, info, *_ = nf.curve_fit(called, X, 2 * np.exp(-X), jac=jac, full_output=True)
    assert calls and np.allclose(popt, [2, 1]) and "by jac" in info["evaluator"]


def test_bounds_as_pair_and_as_object():
    for bounds in (([0, 0, 0.6], [5, 5, 1]), Bounds([0, 0, 0.6], [5, 5, 1])):
        popt, pcov = nf.curve_fit(decay, X, Y, bounds=bounds)
        theirs, _ = scipy.optimize.curve_fit(decay, X, Y, bounds=bounds)
        assert popt[2] == 0.6 and np.allclose(popt, theirs, rtol=1e-3)
        assert np.isfinite(pcov).all()


@pytest.mark.parametrize(
    "arguments, error, words",
    [
        (dict(method="lm", bounds=(0, 1)), ValueError, "unconstrained"),
        (dict(method="what"), ValueError, "method"),
        (dict(jac="4-point"), ValueError, "jac"),
        (dict(sigma=np.ones(3)), ValueError, "incorrect shape"),
        (dict(sigma=-np.eye(60)), ValueError, "positive definite"),
        (dict(p0=[10, 1, 1], bounds=(0, 5)), ValueError, "outside of provided bounds.*infeasible"),
        (dict(nan_policy="what"), ValueError, "nan_policy"),
        (dict(args=(1,)), ValueError, "args"),
        (dict(maxfev=1), RuntimeError, "Optimal parameters not found"),
        (dict(nonsense=1), TypeError, "nonsense"),
        (dict(loss="cauchy"), ValueError, "linear"),
    ],
)
def test_mistakes_are_named(arguments, error, words):
    with pytest.raises(error, match=words):
        nf.curve_fit(lambda x, a, b, c: a * np.exp(-(b**2) * x) + c**3, X, Y, **arguments)


def test_nan_in_the_data():
    y = Y.copy()
    y[3] = np.nan
    with pytest.raises(ValueError):
        nf.curve_fit(decay, X, y)
    with pytest.raises(ValueError, match="nan"):
        nf.curve_fit(decay, X, y, nan_policy="raise")
    popt, _ = nf.curve_fit(decay, X, y, nan_policy="omit")
    keep = np.isfinite(y)
    assert np.allclose(popt, nf.curve_fit(decay, X[keep], Y[keep])[0])


def test_a_covariance_that_cannot_be_estimated():
    with pytest.warns(OptimizeWarning):
        _, pcov = nf.curve_fit(lambda x, a, b: a * x + 0 * b, X, Y)
    assert np.isinf(pcov).all()


def test_the_exception_of_a_model_is_the_users_own():
    def failing(x, a, b):
        if len(calls) > 3:
            raise ZeroDivisionError("the user's own")
        calls.append(1)
        return float(a) * x + b

    calls = []
    with pytest.raises(ZeroDivisionError, match="the user's own") as caught:
        nf.curve_fit(failing, X, Y)
    assert any(entry.name == "failing" for entry in caught.traceback)


def test_least_squares_with_losses_as_scipy():
    y = Y.copy()
    y[::9] += 2
    for loss in ("soft_l1", "huber", "cauchy", "arctan"):
        ours = nf.least_squares(lambda p: decay(X, *p) - y, [2, 1, 0.4], loss=loss, f_scale=0.1)
        theirs = scipy.optimize.least_squares(
            lambda p: decay(X, *p) - y,
            [2, 1, 0.4],
            loss=loss,
            f_scale=0.1,
            xtol=1e-12,
            gtol=1e-12,
            ftol=1e-12,
        )
        assert ours.evaluator == "recorded" and ours.certified
        assert np.allclose(ours.x, theirs.x, rtol=1e-5) and np.isclose(ours.cost, theirs.cost)
        assert np.allclose(ours.jac, theirs.jac, rtol=1e-4, atol=1e-4)


def test_what_ours_leave_to_scipy_says_so():
    result = nf.least_squares(lambda p: np.array([p[0] + p[1] - 1]), [0.0, 0.0])
    assert result.evaluator == "scipy" and not result.certified and np.isclose(result.cost, 0)


T = np.arange(1, 7.0)


@pytest.mark.parametrize("loss", ["linear", "cauchy"])
@pytest.mark.parametrize(
    "fun, start",
    [
        (lambda p: 10 * np.cos(p[0]) * T - 2 * T, [0.0]),  # a maximum
        (lambda p: p[0] * p[1] * T - 2 * T, [0.0, 0.0]),  # a saddle
        (lambda p: np.tanh(p[0]) * T - 0.5 * T, [40.0]),  # a plateau
    ],
)
def test_an_end_without_a_certificate_is_no_success_and_warns(fun, start, loss):
    with pytest.warns(OptimizeWarning, match="not certified"):
        result = nf.least_squares(fun, start, loss=loss)
    assert not result.success and result.status == 0 and not result.certified
    assert "no further progress" in result.message


def test_an_end_by_the_limit_of_steps_has_scipys_words():
    result = nf.least_squares(lambda p: np.exp(p[0] * T) - 3, [1.0], max_nfev=1)
    assert not result.success and result.status == 0 and "maximum number" in result.message


def test_an_end_by_the_rounding_of_y_is_a_success_that_warns():
    x = np.linspace(0, 1, 50)
    y = 1e13 + np.exp(-2 * x)
    with pytest.warns(OptimizeWarning, match="as far as float64 can see"):
        result = nf.least_squares(lambda p: float(p[0]) + p[1] * np.exp(-p[2] * x) - y, [1e13, 1, 1.5])
    assert result.success and result.status == 3 and not result.certified


def test_exact_systems_of_equations_succeed_recorded_or_called():
    t = np.linspace(0, 6, 30)
    x, y = 3 + 2 * np.cos(t), 1 + 2 * np.sin(t)

    def circle(p):
        a, b, r = map(float, p)
        return np.hypot(x - a, y - b) - r

    for functions in (
        (circle, lambda p: np.hypot(x - p[0], y - p[1]) - p[2], lambda p: (x - p[0]) ** 2 + (y - p[1]) ** 2 - p[2] ** 2),
        (lambda p: np.array([float(p[0]) ** 2 + float(p[1]) ** 2 - 4, float(p[0]) * float(p[1]) - 1]),),
    ):
        for function in functions:
            start = [0.1, 0.2, 1] if len(functions) > 1 else [2, 0.3]
            result = nf.least_squares(function, start)
            assert result.success, (result.message, result.evaluator)
            assert result.cost < 1e-28


@pytest.mark.parametrize("number", [float, np.float64], ids=["called", "recorded"])
def test_residuals_that_do_not_determine_all_parameters_are_minimized(number):
    """There is no y that such a model could explain or not. SciPy, too, calls these ends a success."""
    t = np.linspace(0, 4, 50)
    data = 6 * t + 0.1 * np.sin(9 * t)
    for residuals, least in (
        (lambda p: number(p[0]) * p[1] * t - data if number is float else p[0] * p[1] * t - data, None),
        (lambda p: np.array([number(q) ** 2 for q in p]) if number is float else p**2, 0.0),
    ):
        ours = nf.least_squares(residuals, [1.0, 1.0])
        theirs = scipy.optimize.least_squares(residuals, [1.0, 1.0])
        assert ours.success and ours.status == 1 and ours.cost <= theirs.cost * (1 + 1e-9)
        assert least is None or ours.cost == least
        assert ours.evaluator.startswith("called" if number is float else "recorded")


def test_a_scale_without_a_robust_loss_is_refused():
    x = np.arange(5.0)
    with pytest.raises(ValueError, match="f_scale is the scale of a robust loss"):
        nf.fit("a*x", x, x, f_scale=3)
    with pytest.raises(ValueError, match="f_scale is the scale of a robust loss"):
        nf.fit_many("a*x", x, np.array([x, x]), f_scale=3)


@pytest.mark.parametrize("function", [lambda x, a, b, c, d: a + b * x + (c + d) * x**2, lambda x, a, b, c, d: a + b * x + c * x**2 + 0 * d])
def test_a_pseudo_inverse_of_undetermined_parameters_has_a_warning(function):
    """As in SciPy, standard errors of `method='trf'` may then be tiny or 0."""
    x = np.linspace(0, 4, 40)
    y = 1 + 0.5 * x + 0.2 * x**2 + 0.01 * np.sin(37 * x)
    with pytest.warns(OptimizeWarning, match="the data determine 3 of 4 directions"):
        nf.curve_fit(function, x, y, p0=[1, 1, 1, 1], method="trf")
