"""Tests functions that fill one array every time, change their arguments, or are defined on one side only."""

import numpy as np
import nlsqfit as nf
import pytest
from scipy import optimize

x = np.linspace(0.1, 4, 60)
rng = np.random.default_rng(3)
y = 2.5 * np.exp(-1.3 * x) + 0.5 + 0.02 * rng.normal(size=x.size)
y[::11] += 1.0


def exact(x, a, b, c):
    return a * np.exp(-b * x) + c


class Buffered:
    """Returns the same array every time."""

    def __init__(self, function, size):
        self.function, self.buffer = function, np.zeros(size)

    def __call__(self, *arguments):
        self.buffer[:] = self.function(*[np.asarray(a, dtype=float) for a in arguments])
        return self.buffer


@pytest.mark.parametrize("loss", ["linear", "soft_l1", "cauchy"])
def test_curve_fit_of_a_function_that_fills_one_array(loss):
    options = dict(p0=[1, 1, 0], method="trf", loss=loss, f_scale=0.05)
    wanted, covariance = optimize.curve_fit(exact, x, y, **options)
    found, ours = nf.curve_fit(Buffered(exact, x.size), x, y, **options)
    np.testing.assert_allclose(found, wanted, rtol=1e-4)
    np.testing.assert_allclose(ours, covariance, rtol=5e-3)


@pytest.mark.parametrize("loss", ["linear", "huber"])
def test_least_squares_of_a_function_that_fills_one_array_and_changes_p(loss):
    def residuals(p):
        a, b, c = np.array(p, dtype=float)
        p *= 0  # it is the function's own copy
        return a * np.exp(-b * x) + c - y

    start = np.array([1.0, 1.0, 0.0])
    wanted = optimize.least_squares(lambda p: exact(x, *p) - y, start, loss=loss, f_scale=0.05)
    found = nf.least_squares(Buffered(residuals, x.size), start, loss=loss, f_scale=0.05)
    assert (start == [1, 1, 0]).all()
    np.testing.assert_allclose(found.x, wanted.x, rtol=1e-4)
    np.testing.assert_allclose(found.fun, exact(x, *found.x) - y, rtol=1e-12)
    np.testing.assert_allclose(found.jac, wanted.jac, rtol=1e-2, atol=1e-4)
    np.testing.assert_allclose(found.grad, 0, atol=1e-4)


def test_derivatives_that_fill_one_array():
    filled = np.zeros((x.size, 3))

    def jacobian(p):
        filled[:, 0], filled[:, 1] = np.exp(-p[1] * x), -p[0] * x * np.exp(-p[1] * x)
        filled[:, 2] = 1
        p[:] = np.nan
        return filled

    residuals = Buffered(lambda p: exact(x, *p) - y, x.size)
    found = nf.least_squares(residuals, [1.0, 1.0, 0.0], jac=jacobian)
    assert found.success
    filled[:] = 0
    np.testing.assert_allclose(found.jac[:, 0], np.exp(-found.x[1] * x), rtol=1e-12)


def test_fit_and_its_predictions_keep_their_values():
    buffered = Buffered(exact, x.size)
    fit = nf.fit(lambda x, a, b, c: buffered(x, a, b, c), x, y, p0={"a": 1, "b": 1, "c": 0})
    values = [fit[name].value for name in "abc"]
    first = fit.predict(x)
    fit.predict(x[::-1].copy())
    np.testing.assert_allclose(first, exact(x, *values), rtol=1e-12)
    np.testing.assert_allclose(fit.fitted, exact(x, *values), rtol=1e-12)
    np.testing.assert_allclose(fit.predict(x, band=True).std_error.min(), 0.03, rtol=0.9)


@pytest.mark.parametrize("unit", [1e-15, 1e-9, 1.0, 1e9])
def test_errors_under_a_loss_do_not_depend_on_units(unit):
    """The units of one parameter change. SciPy's own covariance fails if they differ by 1e15."""

    def scaled(x, a, b, c):
        return np.array([float(a) / unit * np.exp(-float(b) * v) + float(c) for v in x])

    options = dict(method="trf", loss="soft_l1", f_scale=0.05)
    _, wanted = nf.curve_fit(exact, x, y, p0=[1, 1, 0], **options)
    _, found = nf.curve_fit(scaled, x, y, p0=[unit, 1, 0], **options)
    scale = np.array([unit, 1, 1])
    np.testing.assert_allclose(found / np.outer(scale, scale), wanted, rtol=1e-3, atol=1e-9)


@pytest.mark.parametrize("start", [0.7, 5.0])
def test_a_small_parameter_beside_outliers(start):
    """A length is about 1e-9. The residuals of outliers hide the curvature over a long step."""

    def decay(x, a, d):
        return np.array([float(a) * np.exp(-v / float(d)) for v in x])

    lengths = np.linspace(0, 1e-8, 50)
    data = 2 * np.exp(-lengths / 2.3e-9) + 0.01 * np.sin(np.arange(50.0) * 7)
    data[::9] += 1e3
    options = dict(p0=[1, 1e-9 * start], method="trf", loss="cauchy", f_scale=0.02)
    found, ours = nf.curve_fit(decay, lengths, data, **options)
    wanted, theirs = nf.curve_fit(lambda x, a, d: a * np.exp(-x / d), lengths, data, **options)
    np.testing.assert_allclose(found, wanted, rtol=1e-4)
    np.testing.assert_allclose(ours, theirs, rtol=1e-2)


@pytest.mark.parametrize("way", ["raises", "nan"])
def test_a_function_that_is_defined_on_one_side_of_the_answer(way):
    """The answer lies on the edge of the function's domain, which is also the bound of the fit."""

    def edge(x, a, b):
        if float(b) < 0:
            if way == "raises":
                raise ValueError("b is negative")
            return np.full(x.shape, np.nan)
        return np.array([float(a) * v + float(b) for v in x])

    data = 2 * x - 0.3 + 0.1 * np.cos(5 * x)
    found = nf.least_squares(lambda p: edge(x, *p) - data, [1.0, 1.0], bounds=([-10, 0], [10, 10]))
    assert found.x[1] == 0 and found.success
    np.testing.assert_allclose(found.jac, np.stack([x, np.ones_like(x)], axis=1), rtol=1e-6)


def test_blocks_of_a_problem_are_the_callers():
    """A residual function that changes its arguments, and fills one array, changes nothing else."""
    buffer = np.zeros(2)

    def residual(block, obs):
        buffer[:] = np.array([float(block[0]) - obs[0], float(block[0]) * float(block[1]) - obs[1]])
        block[...] = 7.0
        obs[...] = -1.0
        return buffer

    blocks = np.array([[1.0, 1.0], [2.0, 1.0], [3.0, 2.0]])
    data = np.array([[2.0, 4.0], [3.0, 9.0], [4.0, 2.0]])
    kept = data.copy()
    problem = nf.Problem()
    problem.add(residual, (blocks, np.arange(3)), data=[data])
    assert (blocks == [[1, 1], [2, 1], [3, 2]]).all()
    assert problem.solve().success
    assert (data == kept).all()
    np.testing.assert_allclose(blocks, [[2, 2], [3, 3], [4, 0.5]], rtol=1e-7)
