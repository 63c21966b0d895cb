"""Tests Fit.bootstrap: formulas, recorded and called functions, its methods, and what it refuses."""

import json
import math
import os
import subprocess
import sys
import textwrap

import numpy as np
import nlsqfit as nf
import pytest

RNG = np.random.default_rng(12)
X = np.linspace(0, 5, 40)
Y = 3 * np.exp(-1.1 * X) + 1 + 0.05 * RNG.normal(size=40)
S = 0.03 + 0.01 * X
DECAY = "a*exp(-b*x)+c"


def decay(x, a, b, c):
    return a * np.exp(-b * x) + c


def called(x, a, b, c):
    return [a * math.exp(-b * t) + c for t in x]


def test_the_spread_of_samples_is_that_of_the_fit():
    fit = nf.fit(DECAY, X, Y)
    boot = fit.bootstrap(400, derive="half_life = log(2)/b")
    assert (boot.method, boot.samples, boot.failures) == ("residual", 400, 0)
    assert list(boot.estimates) == ["a", "b", "c", "half_life"] and boot.values.shape == (400, 4)
    for at, one in enumerate(boot.estimates.values()):
        column = boot.values[:, at]
        assert np.isclose(one.stderr, column.std(ddof=1)) and np.isclose(one.bias, column.mean() - one.value)
        assert np.allclose(one.ci, np.percentile(column, [2.5, 97.5]))
    errors = [boot[name].stderr for name in "abc"]
    assert np.allclose(errors, fit.stderr, rtol=0.15)
    assert np.isclose(boot["half_life"].value, math.log(2) / fit["b"].value)
    again = fit.bootstrap(400, derive=["half_life = log(2)/b"])
    assert np.array_equal(again.values, boot.values)
    assert not np.array_equal(fit.bootstrap(400, seed=2).values, boot.values[:, :3])


@pytest.mark.parametrize("method", ["residual", "case", "parametric"])
@pytest.mark.parametrize("options", [{}, {"sigma": S}, {"sigma": S, "absolute_sigma": True, "fixed": {"c": 1.0}}])
def test_recorded_and_called_functions_give_the_samples_of_the_formula(method, options):
    start = {"a": 1, "b": 1} if "fixed" in options else [1, 1, 1]
    whole = nf.fit(DECAY, X, Y, p0=start, **options)
    wanted = dict(samples=22, method=method, confidence=0.05)
    expected = whole.bootstrap(**wanted).values
    for function in (decay, called):
        fit = nf.fit(function, X, Y, p0=start, **options)
        assert (fit.evaluator == "recorded") == (function is decay)
        values = fit.bootstrap(**wanted).values
        scale = np.where(whole.stderr > 0, whole.stderr, 1)
        assert np.all(np.abs(values - expected) < 1e-5 * scale)


def test_the_jacobian_of_a_called_function_follows_the_rows_that_are_drawn():
    def slopes(x, a, b, c):
        e = np.exp(-b * x)
        return np.stack([e, -a * x * e, np.ones_like(x)], axis=1)

    fit = nf.fit(called, X, Y, p0=[1, 1, 1], jac=slopes)
    values = fit.bootstrap(22, method="case", confidence=0.05).values
    assert np.allclose(values, nf.fit(DECAY, X, Y).bootstrap(22, method="case", confidence=0.05).values, rtol=1e-5)


def test_the_method_that_suits_the_fit_is_the_default():
    counts = RNG.poisson(50 * np.exp(-X) + 2)
    assert nf.fit("exp", X, counts, loss="poisson").bootstrap(22, confidence=0.05).method == "parametric"
    both = nf.fit("linear", X, 2 * X + Y, sigma=0.1, sigma_x=0.1)
    assert both.bootstrap(22, confidence=0.05).method == "case"
    exact = nf.fit("linear", X[:2], Y[:2], sigma=0.1, absolute_sigma=True)
    boot = exact.bootstrap(400)
    assert boot.method == "parametric" and np.isclose(boot["a"].stderr, exact["a"].stderr, rtol=0.15)
    with pytest.raises(ValueError, match="residuals are 0; use parametric"):
        exact.bootstrap(400, method="residual")


def test_what_is_refused_or_warned_of():
    fit = nf.fit(DECAY, X, Y)
    with pytest.raises(ValueError, match="no bootstrap method 'cases': use residual, case or parametric"):
        fit.bootstrap(10, method="cases")
    with pytest.raises(ValueError, match="samples = 1: use 2 or more"):
        fit.bootstrap(1)
    with pytest.raises(ValueError, match="no parameter 'k'"):
        fit.bootstrap(10, derive="h = 1/k")
    with pytest.raises(ValueError, match="without a certified minimum"):
        nf.fit(DECAY, X, np.ones(40)).bootstrap(10)
    with pytest.raises(ValueError, match="covariance matrix"):
        nf.fit(DECAY, X, Y, sigma=np.diag(S**2)).bootstrap(10)
    with pytest.warns(nf.OptimizeWarning, match="take 400 samples or more"):
        fit.bootstrap(100)


def test_an_exception_of_the_function_comes_out():
    calls = []

    def breaks(x, a, b, c):
        calls.append(1)
        if len(calls) > calls_of_fit:
            raise KeyError("gone")
        return called(x, a, b, c)

    calls_of_fit = math.inf
    fit = nf.fit(breaks, X, Y, p0=[1, 1, 1])
    calls_of_fit = len(calls) + 30
    with pytest.raises(KeyError, match="gone"):
        fit.bootstrap(50)


def test_samples_are_those_of_the_command(tmp_path):
    program = os.environ.get("NLSQ_FIT")
    if not program:
        pytest.skip("NLSQ_FIT does not name the program")
    table = tmp_path / "data.csv"
    table.write_text("x,y\n" + "".join(f"{x!r},{y!r}\n" for x, y in zip(X.tolist(), Y.tolist())))
    words = [program, str(table), "--model", DECAY, "--bootstrap", "50", "--quiet", "--json", "-"]
    theirs = json.loads(subprocess.run(words, capture_output=True, check=True).stdout)["bootstrap"]
    with pytest.warns(nf.OptimizeWarning):
        ours = nf.fit(DECAY, X, Y).bootstrap(50)
    for one in theirs["parameters"]:
        assert np.isclose(ours[one["name"]].stderr, one["std_error"], rtol=1e-6)


AFTER_CTRL_C = """
    import os, signal, threading, time
    import numpy as np, nlsqfit as nf
    x = np.linspace(0, 5, {rows})
    y = 3 * np.exp(-1.1 * x) + 1 + 0.05 * np.random.default_rng(0).normal(size=x.size)
    fit = nf.fit("a*exp(-b*x)+c", x, y, threads=1)
    def interrupt():
        time.sleep(0.1)
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)
    sent = []
    threading.Thread(target=interrupt, daemon=True).start()
    try:
        while True:
            {call}
    except KeyboardInterrupt:
        print(time.perf_counter() - sent[0] < 1)
    print(sorted(fit.profile_intervals()), fit.bootstrap(22, confidence=0.05).samples)
"""


@pytest.mark.parametrize(
    "rows, call", [(2_000, "fit.bootstrap(100_000)"), (300_000, "fit.profile_intervals()")]
)
def test_ctrl_c_ends_it_at_once_and_a_later_call_is_complete(rows, call):
    program = textwrap.dedent(AFTER_CTRL_C.format(rows=rows, call=call))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.stdout.split("\n")[:2] == ["True", "['a', 'b', 'c'] 22"], done.stderr
