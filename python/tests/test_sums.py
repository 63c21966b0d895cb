"""Tests fits from the sums of blocks of rows: the answer, what is refused, and what is not certified."""

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import nlsqfit as nf
import pytest

X = np.linspace(0, 4, 3000)
Y = 2.5 * np.exp(-1.3 * X) + 0.5 + 0.05 * np.random.default_rng(3).normal(size=X.size)
CUTS = [10, 700, 1500]  # blocks of 10, 690, 800 and 1500 rows
START = [1, 1, 1]


def decay(x, a, b, c):
    return a * np.exp(-b * x) + c


def called(x, a, b, c):
    return a * np.exp(-float(b) * x) + c


def blocks(x, *others):
    return list(zip(*[np.split(column, CUTS) for column in (x, *others)]))


def fit(model, parts, start=START, **options):
    """Return the steps up to the answer."""

    def total(p):
        return sum(nf.partial_sums(model, p, part) for part in parts)

    step = nf.solve_sums(total(start), start, **options)
    while not step.done:
        assert step.success is None and step.covariance is None
        step = nf.solve_sums(total(step.parameters), step)
    return step


@pytest.mark.parametrize("model", [decay, called, "a*exp(-b*x)+c"])
def test_the_answer_is_that_of_curve_fit(model):
    popt, pcov = nf.curve_fit(decay, X, Y)
    step = fit(model, blocks(X, Y))
    # The derivatives of a function that is called are less accurate.
    verdicts = ("CONVERGED", "NOISE_FLOOR") if model is called else ("CONVERGED",)
    assert step.success and step.verdict in verdicts and step.rank == 3 and step.rows == X.size
    assert step.decrement_sigma < 1e-3 and step.passes <= 10
    np.testing.assert_allclose(step.parameters, popt, rtol=1e-8)
    np.testing.assert_allclose(step.covariance, pcov, rtol=1e-6)
    np.testing.assert_allclose(step.cost, 0.5 * np.sum((decay(X, *popt) - Y) ** 2), rtol=1e-9)


def test_the_cut_into_blocks_changes_rounding_alone():
    whole, parts = fit(decay, [(X, Y)]), fit(decay, blocks(X, Y))
    np.testing.assert_allclose(parts.parameters, whole.parameters, rtol=1e-12)
    again = fit(decay, blocks(X, Y))
    assert again.parameters.tobytes() == parts.parameters.tobytes()


def test_threads_may_sum_blocks():
    parts = blocks(X, Y)
    with ThreadPoolExecutor(4) as pool:
        threaded = list(pool.map(lambda part: nf.partial_sums(decay, START, part), parts))
    assert all(np.array_equal(s, nf.partial_sums(decay, START, p)) for s, p in zip(threaded, parts))


def test_sigma_bounds_and_absolute_errors():
    sigma = 0.05 * (1 + X)
    bounds = ([0, 0, 0.6], [9, 9, 9])
    wanted = nf.fit(decay, X, Y, sigma=sigma, absolute_sigma=True, bounds=bounds)
    for model in (decay, called):
        step = fit(model, blocks(X, Y, sigma), bounds=bounds, absolute_sigma=True)
        assert step.success and step.parameters[2] == 0.6
        np.testing.assert_allclose(step.parameters, wanted.x, rtol=1e-7)
        np.testing.assert_allclose(step.std_errors[:2], [wanted[n].stderr for n in "ab"], rtol=1e-6)
        assert np.isnan(step.std_errors[2])  # the bound holds it
    free = fit(decay, blocks(X, Y, sigma), absolute_sigma=True)
    _, pcov = nf.curve_fit(decay, X, Y, sigma=sigma, absolute_sigma=True)
    np.testing.assert_allclose(free.covariance, pcov, rtol=1e-6)


def test_exact_data_reach_the_noise_floor():
    step = fit(decay, blocks(X, decay(X, 2.5, 1.3, 0.5)))
    assert step.success and step.verdict in ("NOISE_FLOOR", "CONVERGED")
    np.testing.assert_allclose(step.parameters, [2.5, 1.3, 0.5], rtol=1e-12)


def test_what_sums_cannot_tell_is_not_certified():
    def twins(x, a, b, c):
        return a * np.exp(-b * x) + c * np.exp(-b * x) * (1 + 1e-9 * x)

    step = fit(twins, blocks(X, Y))
    assert not step.success and step.governed_by == "too few digits" and "nearly dependent" in step.message
    assert np.isnan(step.covariance).all() and math.isnan(step.decrement_sigma)
    few = fit(decay, blocks(X, Y), start=[100, 9, -50], max_iterations=1)
    assert not few.success and few.status == "max_iterations"


def straight(x, a, b):
    return a + b * x


def straight_called(x, a, b):
    return a + float(b) * x


@pytest.mark.parametrize("model", [straight, straight_called])
@pytest.mark.parametrize("heavy", [2, 3, 6])
def test_rows_of_heavy_weight_may_hide_the_others(model, heavy):
    rng = np.random.default_rng(heavy)
    x = np.linspace(0, 5, 60)
    pick = rng.choice(60, heavy, replace=False)
    for ratio, hidden in ((1e3, False), (1e8, False), (1e13, True), (1e14, True)):
        y = straight(x, 1.3, 0.7) + 1e-3 * rng.normal(size=60)
        sigma = np.full(60, 1e-3)
        sigma[pick], y[pick] = 1e-3 / ratio, straight(x[pick], 1.3, 0.7)
        parts = [(x[s], y[s], sigma[s]) for s in (slice(20), slice(20, 60))]
        step = fit(model, parts, start=[1, 1])
        assert step.success != hidden, (ratio, step)
        assert not hidden or "hide the rest" in step.message or "cancel" in step.message


def test_terms_that_cancel_may_hide_the_minimum():
    def parabola(x, a, b, c):
        return a + b * x + c * x * x

    def called_parabola(x, a, b, c):
        return a + float(b) * x + c * x * x

    u = np.linspace(-1, 1, 200)
    x = 2000 + 600 * u  # these are years, so the terms are far larger than y
    noise = np.random.default_rng(0).normal(size=200)
    for model in (parabola, called_parabola):
        for relative, success in ((1e-14, False), (1e-13, False), (1e-5, True)):
            y = (1.3 + 0.7 * u + 0.2 * u * u) * (1 + relative * noise)
            step = fit(model, [(x[s], y[s]) for s in (slice(90), slice(90, 200))], start=[1, 1, 1])
            assert step.success == success, (relative, step)


def test_sums_of_numbers_whose_squares_overflow():
    def huge(x, a, b, c):
        return 1e160 * decay(x, a, b, c)

    step = fit(huge, blocks(X, 1e160 * Y, np.full(X.size, 1e160)))
    assert step.success
    np.testing.assert_allclose(step.parameters, fit(decay, blocks(X, Y)).parameters, rtol=1e-8)


def test_a_recording_is_compared_in_every_block():
    table = {10: 0.0, 690: 0.0, 800: 0.25, 1500: 0.0}

    def by_length(x, a, b, c):  # a recording from one block is wrong for another
        return a * np.exp(-b * x) + c + table[x.size]

    parts = blocks(X, Y)
    own = [nf.partial_sums(by_length, START, part) for part in parts]
    moved = [nf.partial_sums(decay, START, (x, y - table[x.size])) for x, y in parts]
    for first, second in zip(own, moved):  # these are rows, cost, gradient and normal matrix
        at = [0, 1, *range(13, 16), *range(19, 25)]
        np.testing.assert_allclose(first[at], second[at], rtol=1e-9, atol=1e-9)
    state = {"shift": 0.0}

    def changing(x, a, b, c):  # this reads a number that changes between calls
        return a * np.exp(-b * x) + c + state["shift"]

    nf.partial_sums(changing, START, parts[0])
    state["shift"] = 0.5
    x, y = parts[0]
    wanted = nf.partial_sums(decay, START, (x, y - 0.5))
    np.testing.assert_allclose(nf.partial_sums(changing, START, parts[0])[1], wanted[1], rtol=1e-12)


def test_long_blocks_are_compared_too():
    x = np.linspace(0, 4, 60_000)
    y = decay(x, 2.5, 1.3, 0.5)
    calls = []

    def changes(x, a, b, c):  # its values differ from those that were recorded
        calls.append(type(a).__name__)
        return a * np.exp(-b * x) + c + (0.5 if calls[-1] == "float64" else 0.0)

    wanted = nf.partial_sums(decay, START, (x, y - 0.5))
    np.testing.assert_allclose(nf.partial_sums(changes, START, (x, y))[1], wanted[1], rtol=1e-12)


@pytest.mark.filterwarnings("ignore:invalid value")
def test_points_that_are_not_finite():
    def root(x, a, b):
        return np.sqrt(a - x) * b

    x = np.linspace(0, 1, 50)
    y = 2 * np.sqrt(1.7 - x)
    assert np.isnan(nf.partial_sums(root, [0.5, 1], (x, y))[1:]).all()
    step = nf.solve_sums(nf.partial_sums(root, [0.5, 1], (x, y)), [0.5, 1])
    assert step.done and not step.success and step.status == "failure" and "not finite" in step.message
    good = nf.solve_sums(nf.partial_sums(root, [1.1, 5], (x, y)), [1.1, 5])
    while not good.done:  # it passes points without values
        good = nf.solve_sums(nf.partial_sums(root, good.parameters, (x, y)), good)
    assert good.success and np.allclose(good.parameters, [1.7, 2])


def test_mistakes_are_told():
    good = nf.partial_sums(decay, START, (X, Y))
    with pytest.raises(TypeError, match="columns must be"):
        nf.partial_sums(decay, START, X)
    with pytest.raises(ValueError, match=r"params has shape \(2,\) for 3 parameters \(a, b, c\)"):
        nf.partial_sums("a*exp(-b*x)+c", [1, 1], (X, Y))
    with pytest.raises(ValueError, match="row 3"):
        nf.partial_sums(decay, START, (X, np.where(np.arange(X.size) == 3, np.nan, Y)))
    with pytest.raises(ValueError, match="28 sums; 2 parameters have"):
        nf.solve_sums(good, [1, 1])
    step = nf.solve_sums(good, START)
    with pytest.raises(ValueError, match="first call"):
        nf.solve_sums(good, step, xtol=1e-8)
    with pytest.raises(ValueError, match="2999 rows, those of pass 0 of 3000"):
        nf.solve_sums(nf.partial_sums(decay, step.parameters, (X[1:], Y[1:])), step)
    with pytest.raises(ValueError, match="2 rows cannot determine 3 parameters"):
        nf.solve_sums(nf.partial_sums(decay, START, (X[:2], Y[:2])), START)
    with pytest.raises(ValueError, match="below its lower bound"):
        nf.solve_sums(good, START, bounds=([2, 0, 0], [9, 9, 9]))
    with pytest.raises(ValueError, match="this step is the answer"):
        nf.solve_sums(good, fit(decay, blocks(X, Y)))


def test_a_function_that_fails_on_one_side_of_the_point_has_sums():
    """At a bound, differences are taken beside it, too. The function may raise an exception there."""

    def rooted(x, a, c):
        if float(c) < 0:
            raise LookupError("no table for this c")
        return float(a) * np.sqrt(x + 1) + float(c)

    x = np.linspace(0, 1, 20)
    y = 2 * np.sqrt(x + 1) - 0.01
    step = np.array([1.5, 0.0])
    while not (isinstance(step, nf.SumsStep) and step.done):
        p, options = (step, dict(bounds=([0, 0], [9, 9]))) if isinstance(step, np.ndarray) else (step.parameters, {})
        step = nf.solve_sums(nf.partial_sums(rooted, p, (x, y)), step, **options)
    assert step.success and step.parameters[1] == 0
    with pytest.raises(LookupError, match="no table"):
        nf.partial_sums(rooted, [1, -1], (x, y))
