"""Tests functions that are called. Their parameters may be Python's numbers, which give the same fit."""

import math
import operator
import pickle
import warnings

import numpy as np
import nlsqfit as nf
import pytest
from nlsqfit._curve import Curve

x = np.linspace(0.1, 4, 60)
y = 2.5 * np.exp(-1.3 * x) + 0.5 + 0.01 * np.sin(40 * x)


def by_loop(x, a, b, c):
    return np.array([a * math.exp(-b * s) + c for s in x])


def needs_numpy(x, a, b, c):
    assert a.shape == () and math.exp(0) == 1
    return a * np.exp(-float(b) * x) + c


def divides_by_zero(x, a, b, c):
    offset = 1 / (c - 1.0)  # infinite at the start: NumPy's numbers only warn
    return a * np.exp(-float(b) * x) + c + 0 * math.tanh(offset)


def has_two_roots(x, a, b, c):
    # The power 0 of a negative number is 1 by NumPy's numbers and by Python's.
    return a * np.exp(-float(b) * x) + c * abs((a - 3.0) ** 0.0) + 0 * math.exp(0)


@pytest.mark.parametrize("function", [by_loop, needs_numpy, divides_by_zero, has_two_roots])
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_a_called_function_gives_the_fit_of_the_recorded_one(function):
    wanted, covariance = nf.curve_fit(lambda x, a, b, c: a * np.exp(-b * x) + c, x, y)
    found, found_covariance, info, _, _ = nf.curve_fit(function, x, y, full_output=True)
    assert info["evaluator"].startswith("called")
    np.testing.assert_allclose(found, wanted, rtol=1e-7)
    np.testing.assert_allclose(found_covariance, covariance, rtol=1e-5)


def test_an_answer_by_other_numbers_is_not_believed():
    kinds = set()

    def by_kind(x, a, b):
        kinds.add(type(a))
        shift = 0.0 if isinstance(a, np.float64) else 0.25
        return np.array([a * math.exp(-b * s) + shift for s in x])

    exact = 2 * np.exp(-x)
    found, _ = nf.curve_fit(by_kind, x, exact)
    np.testing.assert_allclose(found, [2, 1], rtol=1e-7)
    assert {float, np.float64} <= kinds


def test_the_exception_of_a_function_is_raised():
    def wrong(x, a):
        raise KeyError(f"no such model for {float(a)}")

    with pytest.raises(KeyError, match="no such model"):
        nf.curve_fit(wrong, x, y)


def test_the_function_is_called_a_few_times_only():
    calls = 0

    def counted(x, a, b, c):
        nonlocal calls
        calls += 1
        return by_loop(x, a, b, c)

    many = np.linspace(0, 4, 100)
    noise = np.random.default_rng(1).normal(size=many.size)
    nf.curve_fit(counted, many, 2.5 * np.exp(-1.3 * many) + 0.5 + 0.05 * noise)
    assert calls <= 70  # 58 to 65, by rounding; 84 without one-sided differences


def test_what_is_known_is_not_asked_for_again():
    """A function that could not be recorded is not recorded again, and its answer is compared only once."""
    seen = []

    def watched(x, a, b, c):
        seen.append(type(a))
        return by_loop(x, a, b, c)

    for _ in range(3):
        nf.curve_fit(watched, x, y)
    stand_ins = [kind for kind in seen if kind not in (float, np.float64)]
    assert len(stand_ins) == 1
    assert seen.count(np.float64) == 3 and seen[-1] is np.float64
    last_numbers = []
    nf.curve_fit(lambda x, a, b, c: (last_numbers.append(float(a)), by_loop(x, a, b, c))[1], x, y)
    assert last_numbers[-1] == last_numbers[-2] and last_numbers.count(last_numbers[-1]) < 10


def test_a_function_that_may_be_recorded_after_all_gives_the_same():
    """A number of the module, which a notebook changes, may be what made it impossible to record."""
    by_math = True

    def either(x, a, b, c):
        return by_loop(x, a, b, c) if by_math else a * np.exp(-b * x) + c

    first, _ = nf.curve_fit(either, x, y)
    by_math = False
    second, _, info, *_ = nf.curve_fit(either, x, y, full_output=True)
    assert np.allclose(first, second, rtol=1e-6, atol=0)
    assert info["evaluator"].startswith("called")


def test_no_digits_are_sought_beyond_xtol():
    """Each step costs some calls, so the search ends at SciPy's xtol, or at that of the caller."""
    calls = [0]

    def counted(x, a, b, c):
        calls[0] += 1
        return by_loop(x, a, b, c)

    noisy = y + 0.05 * np.random.default_rng(0).normal(size=x.size)

    def fitted(**tolerance):
        calls[0] = 0
        return nf.curve_fit(counted, x, noisy, **tolerance)[0], calls[0]

    fitted()  # finds out that the function cannot be recorded, which takes a call
    _, fewest = fitted(xtol=1e-3)
    usual, few = fitted()
    tight, many = fitted(xtol=1e-12)
    assert fewest < few <= many
    assert np.allclose(usual, tight, rtol=1e-7, atol=0)


@pytest.mark.parametrize("offset", [0.0, 1e5, 2.45e6, 1.7e9])
@pytest.mark.parametrize("loss", ["linear", "soft_l1"])
def test_a_parameter_may_be_a_date(offset, loss):
    """Steps relative to a date cross the whole peak. The answer must be that without an offset."""

    def peak(t, c, a, s):
        return np.array([a * math.exp(-0.5 * ((v - c) / s) ** 2) for v in t])

    t = np.linspace(-2, 2, 100)
    noise = 0.05 * np.sin(37.0 * np.arange(100))
    data = peak(t, 0.3, 1.5, 0.4) + noise
    options = {} if loss == "linear" else {"method": "trf", "loss": loss, "f_scale": 0.1}
    start = [0.5, 1.0, 0.5]
    popt, pcov = nf.curve_fit(peak, t, data, p0=start, **options)
    start[0] += offset
    moved, covariance = nf.curve_fit(peak, t + offset, data, p0=start, **options)
    error = np.sqrt(np.diag(pcov))
    assert (np.abs(moved - popt - [offset, 0, 0]) < 0.02 * error + 1e-15 * offset).all()
    np.testing.assert_allclose(covariance, pcov, rtol=0.02, atol=0.01 * error.min() ** 2)


@pytest.mark.parametrize("scale", [1e-15, 1e-9, 1e3, 1e6])
@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_a_called_function_is_fitted_from_ones_at_any_scale_of_y(scale):
    found, _ = nf.curve_fit(needs_numpy, x, scale * y)
    np.testing.assert_allclose(found / [scale, 1, scale], [2.5, 1.3, 0.5], rtol=0.02)


@pytest.mark.parametrize("start", [[6, 1, 0], [9, 1, 1], [1, 5, 3]])
def test_a_function_that_raises_where_parameters_are_only_tried_is_fitted(start):
    def limited(x, a, b, c):
        if not 0 < a < 10:
            raise ValueError(f"a = {a} is out of range")
        return float(a) * np.exp(-float(b) * x) + c

    found, _ = nf.curve_fit(limited, x, y, p0=start)
    np.testing.assert_allclose(found, [2.5, 1.3, 0.5], rtol=0.02)


def test_arithmetic_that_fails_at_a_long_step_is_a_value_that_is_not_finite():
    """Functions of math raise where NumPy's give inf or NaN. A step that leads there is made shorter."""
    t = np.linspace(0, 5, 60)
    data = 2 * np.exp(-0.3 * t) + np.exp(-3 * t) + 0.01 * np.sin(40 * t)

    def two_decays(t, a, b, c, d):
        return [a * math.exp(-b * s) + c * math.exp(-d * s) for s in t]

    def root(t, a, b, c):
        return [a * math.sqrt(s + b) + c for s in t]

    for model, start, wanted in (
        (two_decays, [1, 0.5, 1, 2], [2.0, 0.3, 1.0, 3.0]),
        (root, [1, 20, 0], [2.0, 0.5, 1.0]),
    ):
        exact = data if model is two_decays else np.array(model(t, *wanted)) + 0.01 * np.sin(40 * t)
        found, _ = nf.curve_fit(model, t, exact, p0=start)
        np.testing.assert_allclose(found, wanted, rtol=0.05)


def test_arithmetic_that_fails_at_the_start_is_raised():
    with pytest.raises(OverflowError):
        nf.curve_fit(lambda x, a, b: [a * math.exp(b * s) for s in x], x, y, p0=[1, 1e3])


def test_the_given_start_is_tried_before_a_fit_goes_on_with_extrapolated_differences():
    """A start with the best amplitudes leads to a point where both decays are one.

    With differences, the fit leaves that point only after thousands of calls. The given start leads to the
    minimum after a hundred.
    """
    t = np.linspace(0, 5, 60)
    data = 2 * np.exp(-0.3 * t) + np.exp(-3 * t) + 0.01 * np.random.default_rng(13).normal(size=60)
    calls = []

    def two_decays(t, a, b, c, d):
        calls.append(float(a))
        with np.errstate(over="ignore"):
            return float(a) * np.exp(-float(b) * t) + float(c) * np.exp(-float(d) * t)

    found, _ = nf.curve_fit(two_decays, t, data, p0=[1, 0.5, 1, 2])
    np.testing.assert_allclose(found, [2, 0.3, 1, 3], rtol=0.05)
    assert len(calls) < 1000


def test_ctrl_c_where_parameters_are_only_tried_ends_the_fit():
    calls = []

    def interrupted(x, a, b, c):
        a = float(a)  # this cannot be recorded, because `if` goes both ways
        calls.append(a)
        if a == 12 and calls.count(a) == 1:  # twice the start
            raise KeyboardInterrupt
        return float(a) * np.exp(-float(b) * x) + c

    with pytest.raises(KeyboardInterrupt):
        nf.curve_fit(interrupted, x, y, p0=[6, 1, 0])
    assert calls[-1] == 12


@pytest.mark.parametrize("b", [1.49231277, 1.98962606, 6.09072123, -4.00204441, 22.01234268])
def test_a_rounded_parameter_is_not_taken_for_a_linear_one_that_the_data_do_not_determine(b):
    def rounded(x, a, b):
        return a * x + np.round(float(b))

    fit = nf.fit(rounded, x, 2 * x + 3 + 0.01 * np.sin(40 * x), p0=[-1.8, b])
    assert fit.evaluator.startswith("called") and not fit.success


@pytest.mark.parametrize("use", [
    lambda kept, a, values: kept["values"] + 1,
    lambda kept, a, values: kept["out"] + 1,
    lambda kept, a, values: np.sum(kept["out"]),
    lambda kept, a, values: kept["values"].flatten(),
    lambda kept, a, values: kept["values"].std(),
    lambda kept, a, values: abs(kept["complex"]),
    lambda kept, a, values: complex(kept["a"]),
    lambda kept, a, values: kept.__setitem__("values", operator.imul(kept["values"], 0.5)),
])  # fmt: skip
def test_what_a_function_keeps_serves_as_numbers_do(use):
    x = np.linspace(0, 4, 30)
    y = 3 * np.exp(-0.7 * x)
    kept = {}

    def model(x, a, b):
        values = a * np.exp(-b * x)
        out = np.empty_like(x)
        out[:] = values
        if kept:
            use(kept, a, values)
        kept.update(a=a, values=values, out=out, complex=values * 1j)
        return out

    popt, _ = nf.curve_fit(model, x, y, p0=[1, 1])
    assert popt == pytest.approx([3, 0.7])
    assert nf.fit_many(model, x, np.array([y, 2 * y]), p0=[1, 1]).parameters[1] == pytest.approx([6, 0.7])


def test_what_a_function_keeps_of_its_recording_are_the_numbers_of_the_start():
    """A function may keep its parameters in a list, or a part of its result for the next call."""
    history = []

    def that_logs(x, a, b, c):
        history.append((a, b, c))
        return a * np.exp(-b * x) + c

    found, _, info, *_ = nf.curve_fit(that_logs, x, y, p0=[1, 2, 0], full_output=True)
    assert info["evaluator"] == "recorded"
    np.testing.assert_array_equal(np.array(history, float)[0], [1, 2, 0])
    assert f"{history[0][1]:.1f}" == "2.0" and float(history[0][0]) == 1 and 2 * history[0][1] == 4
    assert pickle.loads(pickle.dumps(history)) == history

    kept = {}

    def that_keeps(x, a, b, c):
        before = kept.get("c", c)
        if kept.get("b") is None or kept["b"] != b:
            kept["b"], kept["part"] = b, np.exp(-b * x)
        kept["c"] = c
        return a * kept["part"] + c + 0 * before

    again, _ = nf.curve_fit(that_keeps, x, y, p0=[1, 2, 0])
    np.testing.assert_allclose(again, found, rtol=1e-7)
    part, wanted = that_keeps(x, 1.0, 2.0, 0.0), np.exp(-2.0 * x)
    np.testing.assert_allclose(np.asarray(part, float), wanted, rtol=1e-14)


@pytest.mark.parametrize("number", [float, lambda value: value])
def test_residuals_whose_derivatives_vanish_at_the_minimum_are_certified(number):
    """In Powell's singular function, half of the rows have no terms at the minimum, whose residuals are 0."""

    def powell(p):
        a, b, c, d = (number(value) for value in p)
        return np.array([a + 10 * b, 5**0.5 * (c - d), (b - 2 * c) ** 2, 10**0.5 * (a - d) ** 2])

    result = nf.least_squares(powell, [3, -1, 0, 1])
    assert result.success and result.cost < 1e-20 and np.abs(result.x).max() < 1e-4


def test_values_are_not_called_for_where_derivatives_are_wanted():
    """The library asks for values and derivatives, but the values are known already."""
    points = []

    def counted(x, a, b, c):
        points.append((float(a), float(b), float(c)))
        return by_loop(x, *points[-1])

    def jacobian(x, a, b, c):
        return np.stack([np.exp(-b * x), -a * x * np.exp(-b * x), np.ones(x.size)], axis=1)

    nf.curve_fit(counted, x, y, jac=jacobian)
    start, answer = points[0], points[-1]
    others = [p for p in points if p not in (start, answer)]
    assert len(others) == len(set(others))


@pytest.mark.parametrize("calls", [10, 11, 14, 15, 18])
def test_a_function_that_changes_its_x_is_named(calls):
    def growing(t, a, b, c):
        t *= 1.5
        return (1e200 if t[0] > 1.5**calls * x[0] else 1.0) * float(a) * np.exp(-float(b) * t) + c

    with pytest.raises(RuntimeError, match="the function changes its x"):
        nf.curve_fit(growing, np.array(x), y, p0=[1, 1, 1])

    def clipped(t, a, b, c):
        t[t > 1] = 1.0
        return float(a) * np.exp(-float(b) * t) + c

    with pytest.raises(RuntimeError, match="iteration limit"):
        nf.curve_fit(clipped, np.array(x), y, p0=[1, 1, 1], maxfev=2)


def test_calls_of_decays_and_of_fits_that_get_nowhere():
    """The limits are above 43, 20, 446 and 1658, as measured; before: 48, 30, 1480 and 15760 calls."""
    calls = [0]

    def counted(function):
        def model(x, *p):
            calls[0] += 1
            with np.errstate(all="ignore"):
                return function(x, *(float(v) for v in p))

        return model

    def of(function, y, p0, **options):
        calls[0] = 0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            nf.curve_fit(counted(function), t, y, p0, **options)
        return calls[0]

    def decay(t, a, b, c):
        return a * np.exp(-b * t) + c

    def by_decay(t, a, b, c):
        return np.stack([np.exp(-b * t), -a * t * np.exp(-b * t), np.ones(t.size)], axis=1)

    def two_decays(t, a, b, c, d):
        return a * np.exp(-b * t) + c * np.exp(-d * t)

    def peak(t, a, m, s, b, c):
        return a * np.exp(-0.5 * ((t - m) / s) ** 2) + b * t + c

    t = np.linspace(0, 5, 60)
    noise = np.random.default_rng(5).normal(size=60)
    y = decay(t, 2.5, 1.3, 0.5) + 0.03 * noise
    assert of(decay, y, [1, 1, 0]) <= 47
    assert of(decay, y, [1, 1, 0], jac=by_decay) <= 26  # four of them test how far derivatives move the end
    merged = two_decays(t, 2.5, 0.3, 1, 2.5) + 0.01 * noise
    assert of(two_decays, merged, [1, 1, 2, 1.0001]) <= 700
    y = peak(t, 2.0345, 3.5935, 0.3602, 0.8108, -0.0984) + 0.03 * noise
    assert of(peak, y, [1.7124, 2.2751, 0.4009, 0.7994, -0.1647]) <= 2500


def gives_up_early(t, k, r):
    """Solves y' = k y² - r y from y = 1. Where y grows without limit, the last values are missing."""
    if float(k) > float(r):
        t = t[: max(2, int(20 * float(r) / float(k)))]
    k, r = float(k), float(r)
    return r / (k + (r - k) * np.exp(r * t))


@pytest.mark.parametrize("way", ["curve_fit", "fit", "least_squares"])
def test_a_step_to_too_few_values_is_refused(way):
    t, several = np.linspace(0, 5, 40), 0
    for k, r, start in [(0.3, 1.2, [0.05, 6.0]), (0.55, 0.8, [0.1, 2.0]), (0.5, 0.6, [0.01, 3.0])]:
        sizes = set()

        def called(t, k, r):
            values = gives_up_early(t, k, r)
            sizes.add(values.size)
            return values

        y = gives_up_early(t, k, r) + 0.001 * np.random.default_rng(3).normal(size=40)
        if way == "curve_fit":
            found = nf.curve_fit(called, t, y, p0=start)[0]
        elif way == "fit":
            found = [one.value for one in nf.fit(called, t, y, p0=start).params.values()]
        else:  # NumPy raises, because the function subtracts data
            found = nf.least_squares(lambda p: called(t, *p) - y, start).x
        assert found == pytest.approx([k, r], rel=0.05)
        several += len(sizes) > 1
    assert several


def test_too_few_values_at_the_start_are_an_error_and_elsewhere_the_message_says_so():
    t = np.linspace(0, 5, 40)
    y = gives_up_early(t, 0.3, 1.2)
    with pytest.raises(ValueError, match=r"the model gives \d+ values \(shape \(\d+,\)\) for 40 data values"):
        nf.curve_fit(gives_up_early, t, y, p0=[5, 0.1])
    with pytest.raises(ValueError, match="broadcast"):
        nf.least_squares(lambda p: gives_up_early(t, *p) - y, [5, 0.1])

    def ends(t, a, b):  # this is before the minimum
        return (float(a) * np.exp(-float(b) * t))[: 40 if a < 1.5 else 39]

    with pytest.warns(nf.OptimizeWarning, match="calls failed: the model gives 39 values"):
        nf.curve_fit(ends, t, 2 * np.exp(-t), p0=[1, 0.5])


def test_a_fit_that_ends_where_the_function_ends_keeps_its_parameters():
    """Differences to both sides are not finite there. Once, the fit failed and blamed a change of x."""
    t = np.linspace(0, 5, 40)

    def ends(t, a, b):
        return (1.0 if float(a) < 1.5 else np.nan) * a * np.exp(-float(b) * t)

    for start in ([1, 0.5], [0.1, 3], [1.4, 1.1]):
        with pytest.warns(nf.OptimizeWarning, match="no further progress"):
            found, _ = nf.curve_fit(ends, t, 2 * np.exp(-t), p0=start)
        assert found[0] == pytest.approx(1.5, rel=1e-3)


@pytest.mark.filterwarnings("ignore:Warning. converting a masked element")
@pytest.mark.parametrize("number", [float, lambda a: a])
def test_what_a_masked_result_hides_is_not_fitted(number):
    """Once, the mask was lost, and hidden values were fitted silently."""
    t = np.linspace(0, 4, 40)
    hidden = np.arange(40) % 7 == 3
    y = np.where(hidden, 1e3, 2.5 * np.exp(-1.3 * t))
    with pytest.raises(ValueError, match="hides 6 of 40 values"):
        nf.least_squares(lambda p: number(p[0]) * np.exp(-p[1] * t) - np.ma.masked_array(y, hidden), [1, 1])
    with pytest.raises(ValueError, match="hides 6 of 40 values"):
        nf.curve_fit(lambda t, a, b: np.ma.masked_array(number(a) * np.exp(-b * t), hidden), t, y, p0=[1, 1])
    seen = ~hidden
    found = nf.least_squares(lambda p: number(p[0]) * np.exp(-p[1] * t[seen]) - np.ma.masked_array(y)[seen], [1, 1])
    assert found.x == pytest.approx([2.5, 1.3])


@pytest.mark.parametrize("room", [1e-3, 1e-9])
def test_a_function_that_fails_beside_the_answer_keeps_its_covariance(room):
    """Longer steps of differences are tried after the fit. The function may raise there."""
    t = np.linspace(0, 5, 60)
    y = 3 * np.exp(-1.3 * t) + 0.7 + 0.01 * np.sin(37 * t) + 1e9
    p, _ = nf.curve_fit(lambda t, a, b, c: float(a) * np.exp(-b * t) + c, t, y, p0=[2.9, 1.2, 1e9])

    def decay(t, a, b, c):
        if float(b) > p[1] * (1 + room):
            raise LookupError("no table for this b")
        return float(a) * np.exp(-b * t) + c

    curve = Curve(lambda *p: decay(t, *p), None, y, 3)
    curve.prepare(p, None, None, recordable="called")
    J = curve.jacobian_at(p)
    e = np.exp(-p[1] * t)
    assert np.linalg.norm(J[:, 1] + p[0] * t * e) < 0.01 * np.linalg.norm(t * e)
