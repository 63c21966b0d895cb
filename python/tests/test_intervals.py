"""Tests profile intervals and derived quantities of a fit."""

import copy
import math
import pickle

import numpy as np
import nlsqfit as nf
import pytest
import scipy.optimize
import scipy.stats

RNG = np.random.default_rng(3)
X = np.linspace(0, 4, 40)
Y = 2.5 * np.exp(-1.3 * X) + 0.5 + 0.05 * RNG.normal(size=X.size)
NAMES = ("a", "b", "c")


def decay(x, a, b, c):
    return a * np.exp(-b * x) + c


def decay_called(x, a, b, c):
    return np.array([float(a) * math.exp(-float(b) * one) + float(c) for one in x])


def fits():
    return [
        nf.fit("a*exp(-b*x)+c", X, Y),
        nf.fit(decay, X, Y, p0=[2, 1, 0.3]),
        nf.fit(decay_called, X, Y, p0=[2, 1, 0.3]),
    ]


def held_rss(name, value):
    """Return the sum of squares with one parameter fixed, by SciPy."""
    free = [n for n in NAMES if n != name]

    def residuals(p):
        return decay(X, **{name: value}, **dict(zip(free, p))) - Y

    start = dict(a=2.5, b=1.3, c=0.5)
    return 2 * scipy.optimize.least_squares(residuals, [start[n] for n in free], xtol=1e-14, ftol=1e-14).cost


@pytest.mark.parametrize("confidence", [None, 0.68])
def test_the_sum_of_squares_rises_by_the_threshold_at_both_ends(confidence):
    for f in fits():
        intervals = f.profile_intervals(confidence=confidence)
        assert tuple(intervals) == NAMES
        t = scipy.stats.t.ppf(0.5 + (confidence or 0.95) / 2, f.dof)
        for name, interval in intervals.items():
            assert interval.value == f.params[name].value and interval.ends == ("found", "found")
            assert interval.low < interval.value < interval.high and interval.fits > 2
            for end in (interval.low, interval.high):
                assert held_rss(name, end) == pytest.approx(f.rss + t**2 * f.chi2_reduced, rel=1e-7)


def test_bounds_ties_and_fixed_parameters():
    bounded = nf.fit("a*exp(-b*x)+c", X, Y, bounds={"b": (1.25, 2)}, fixed={"c": 0.5}).profile_intervals()
    assert tuple(bounded) == ("a", "b")
    assert bounded["b"].low == 1.25 and bounded["b"].ends == ("at_bound", "found")
    tied = nf.fit("a*exp(-b*x)+c", X, Y, ties=["c = a/5"])
    assert tuple(tied.profile_intervals()) == ("a", "b")
    assert tuple(tied.profile_intervals("b")) == ("b",)


def test_sigma_of_the_data_scales_the_intervals():
    loose = nf.fit("a*exp(-b*x)+c", X, Y, sigma=0.1, absolute_sigma=True).profile_intervals("a")["a"]
    strict = nf.fit("a*exp(-b*x)+c", X, Y, sigma=0.01, absolute_sigma=True).profile_intervals("a")["a"]
    assert loose.high - loose.low == pytest.approx(10 * (strict.high - strict.low), rel=0.02)


def test_a_recording_that_is_wrong_at_an_end_is_not_used():
    limit = 1.35  # this is between the estimate of b and its upper end

    def bent(x, a, b, c):  # the stand-in of a recording is neither a float nor an array
        late = max(0.0, b - limit) if isinstance(b, (float, np.floating)) else 0.0
        return a * np.exp(-b * x) + c + 10 * late * x

    f = nf.fit(bent, X, Y, p0=[2, 1, 0.3])
    assert f.evaluator == "recorded"
    plain, called = nf.fit(decay, X, Y, p0=[2, 1, 0.3]), f.profile_intervals("b")["b"]
    assert called.low == pytest.approx(plain.profile_intervals("b")["b"].low, rel=1e-6)
    assert called.high < plain.profile_intervals("b")["b"].high - 0.01


def test_derived_quantities_have_the_errors_of_the_delta_method():
    for f in fits():
        out = f.derive("half_life = log(2)/b", "both = half_life*a")
        b, a = f.params["b"], f.params["a"]
        half = out["half_life"]
        assert half.value == pytest.approx(math.log(2) / b.value, rel=1e-14)
        assert half.stderr == pytest.approx(math.log(2) / b.value**2 * b.stderr, rel=1e-9)
        slopes = np.array([math.log(2) / b.value, -math.log(2) * a.value / b.value**2])
        variance = slopes @ f.cov[:2, :2] @ slopes
        assert out["both"].stderr == pytest.approx(math.sqrt(variance), rel=1e-9)
        t = scipy.stats.t.ppf(0.95, f.dof)
        low, high = f.derive("h = log(2)/b", confidence=0.9)["h"].ci
        assert (high - low) / 2 == pytest.approx(t * half.stderr, rel=1e-7)
    with pytest.warns(nf.OptimizeWarning, match="z: .*not finite"):
        assert math.isnan(f.derive("z = log(-a)")["z"].value)


@pytest.mark.filterwarnings("ignore:bootstrap")
def test_a_fit_that_was_unpickled_has_all_of_them():
    sigma, tilt = 0.01 + 0.001 * X, {"x_": X, "u": np.cos(X)}
    for f in (
        *fits(),
        nf.fit("a*exp(-b*x)+c", X, Y, sigma=sigma, absolute_sigma=True, sigma_x=0.01, confidence=0.9),
        nf.fit(decay, X, Y, p0={"a": 2, "b": 1}, ties="c = a/4", bounds={"b": (0.1, None)}),
        nf.fit("a*exp(-b*x_)+c*u", tilt, Y, fixed={"c": 0.0}, starts=3, seed=4),
    ):
        for other in (pickle.loads(pickle.dumps(f)), copy.deepcopy(f)):
            twice = pickle.loads(pickle.dumps(other))
            assert other.derive("h = log(2)/b") == f.derive("h = log(2)/b") == twice.derive("h = log(2)/b")
            assert other.profile_intervals("b") == f.profile_intervals("b") == twice.profile_intervals("b")
            assert np.array_equal(other.bootstrap(40).values, f.bootstrap(40).values)
            assert str(other) == str(f) and other.to_dict() == f.to_dict()  # the texts are still those of the fit
            assert pickle.loads(pickle.dumps(other)).to_dict() == f.to_dict()
    f = nf.fit(Changing(), X, Y, p0=[2, 1])
    Changing.factor = 3.0
    try:
        with pytest.raises(ValueError, match="ends elsewhere"):
            pickle.loads(pickle.dumps(f)).derive("h = 1/b")
    finally:
        Changing.factor = 1.0


class Changing:
    """A model that is another one after unpickling."""

    factor = 1.0

    def __call__(self, x, a, b):
        return a * np.exp(-b * self.factor * x)


def test_mistakes_are_named():
    f = fits()[0]
    for call, text in (
        (lambda: f.profile_intervals("q"), "no parameter 'q'"),
        (lambda: f.profile_intervals(confidence=2), "between 0 and 1"),
        (lambda: f.derive("h = log(2)/q"), "no parameter 'q'"),
        (lambda: f.derive("log(2)/b"), "name = expression"),
        (lambda: nf.fit("a*exp(-b*x)+c", X, Y, loss="huber").profile_intervals(), "no likelihood"),
    ):
        with pytest.raises(ValueError, match=text):
            call()


def test_exceptions_of_the_function_come_through():
    calls = 0

    def fails(x, a, b, c):
        nonlocal calls
        calls += 1
        if math.isinf(calls):
            raise RuntimeError("the instrument is gone")
        return decay_called(x, a, b, c)

    f = nf.fit(fails, X, Y, p0=[2, 1, 0.3])
    calls = math.inf
    with pytest.raises(RuntimeError, match="the instrument is gone"):
        f.profile_intervals()
