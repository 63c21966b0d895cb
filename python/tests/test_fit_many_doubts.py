"""Tests that fit_many stops using a recording only for the fits for which it is in doubt."""

import numpy as np
import nlsqfit as nf
import pytest
from nlsqfit._agreement import perturbed
from nlsqfit._handles import recorded_model
from nlsqfit.recording import guarded, record

X = np.linspace(-5, 5, 40)


def gaussian(x, a, m, s, c):
    return a * np.exp(-((x - m) ** 2) / (2 * s**2)) + c


@pytest.mark.parametrize("rows", [40, 400])
@pytest.mark.parametrize("size", [3e5, -2e6])
def test_an_end_where_large_terms_cancel_is_no_doubt(rows, size):
    x, p = np.linspace(-5, 5, rows), np.array([size, 1.844, 2000.0, -size * (1 + 1e-7)])
    recording = record(lambda *p: gaussian(guarded(x), *p), 4, rows)
    model = recorded_model(recording)
    for at in (p, perturbed(p, -np.inf, np.inf, 1e-6)):
        assert model.agrees(recording.columns, at, gaussian(x, *at))
    # The rounding of the terms hides a billionth of the values there, but not a difference that matters.
    values = gaussian(x, *p)
    values[7] += 1e-5 * np.abs(values).max()
    assert not model.agrees(recording.columns, p, values)
    assert not model.agrees(recording.columns, p, gaussian(x, *p) * (1 + 1e-5))


def test_an_end_where_rounding_is_all_is_a_doubt():
    p = np.array([1e15, 1.844, 2e3, -1e15])
    recording = record(lambda *p: gaussian(guarded(X), *p), 4, X.size)
    values = gaussian(X, *p)
    assert not recorded_model(recording).agrees(recording.columns, p, values + 1e-3 * np.abs(values).max())


def counted(branch):
    """Return a decay whose recording misses what happens for some a, and the number of its calls."""
    calls = [0]

    def f(x, a, k):
        calls[0] += 1
        y = a * np.exp(-k * x)
        return branch(y, x, a) if type(a) is np.float64 else y

    return f, calls


def tail(y, x, a):
    return y + 1e-3 * x if a > 1.9 else y


T = np.linspace(0, 4, 12)


def test_fits_whose_recording_is_wrong_are_called_and_the_others_are_not():
    count = 300
    f, calls = counted(tail)
    truth = np.linspace(1, 2.0, count)
    Y = np.array([f(T, a, 0.7) for a in truth]) + 1e-5 * np.cos(7 * T)
    calls[0] = 0
    many = nf.fit_many(f, T, Y, p0=[1, 0.5])
    assert many.success.all() and np.allclose(many.parameters, [[a, 0.7] for a in truth], atol=1e-4)
    wrong = int(np.sum(truth > 1.9))
    assert many.evaluator.startswith("recorded, but called for ") and "at the answers" in many.evaluator
    assert calls[0] < 3 * count + 100 * (wrong + 3)
    assert many.verdict.shape == many.cost.shape == (count,)
    one = nf.curve_fit(f, T, Y[-1], p0=[1, 0.5])
    assert np.allclose(many.parameters[-1], one[0], rtol=1e-6)
    assert np.allclose(many.std_errors[-1], np.sqrt(np.diag(one[1])), rtol=1e-3)


def test_a_recording_that_is_wrong_for_the_x_of_one_fit_serves_the_others():
    x = np.tile(np.linspace(0.1, 4, 12), (200, 1))
    x[7] *= 0.5
    calls = [0]

    def model(x, a, k):
        calls[0] += 1
        return a * np.exp(-k * x / x.max())

    Y = np.array([model(row, 2.0, 0.7) for row in x])
    calls[0] = 0
    many = nf.fit_many(model, x, Y, p0=[1, 0.5])
    assert np.allclose(many["k"], 0.7) and "called for 1 of 200 fits" in many.evaluator
    assert calls[0] < 5 * 200


def test_a_fit_of_wrong_data_among_those_that_are_called_warns_once():
    f, _ = counted(tail)
    truth = np.linspace(1.5, 2.5, 40)
    Y = np.array([f(T, a, 0.7) for a in truth])
    mask = np.zeros(Y.shape, bool)
    mask[-1, 1:] = mask[0, 1:] = True
    many = nf.fit_many(f, T, Y, p0=[2.2, 0.7], mask=mask)
    assert list(np.flatnonzero(~many.success)) == [0, 39]
    named = [w.split(":")[0] for w in many.warnings]  # the others are exact, and warn that they have no scatter
    assert named.count("fit 0") == named.count("fit 39") == 1


def test_a_function_that_fails_at_an_answer_is_called_for_that_fit():
    def fails(y, x, a):
        if a > 1.9:
            raise RuntimeError("no such a")
        return y

    f, _ = counted(fails)
    truth = np.linspace(1, 1.8, 50)
    with pytest.raises(RuntimeError, match="no such a"):
        nf.fit_many(f, T, np.array([a * np.exp(-0.7 * T) for a in [*truth, 2.5]]), p0=[1, 0.5])


@pytest.mark.parametrize("shared", [False, True])
def test_x_that_a_mask_hides_may_be_NaN(shared):
    x = np.tile(T, (40, 1)) if not shared else T.copy()
    x[..., 9:] = np.nan  # these data sets are shorter, and are filled up
    Y = np.array([a * np.exp(-0.7 * T) + 0.01 * np.cos(50 * a * T) for a in np.linspace(1, 2, 40)])
    f, calls = counted(lambda y, x, a: y)
    many = nf.fit_many(f, x, Y, p0=[1, 0.5], mask=np.broadcast_to(np.isnan(x), Y.shape))
    assert many.evaluator == "recorded" and many.success.all()
    one = nf.fit(f, T[:9], Y[3, :9], p0=[1, 0.5])
    assert np.allclose(many.parameters[3], one.x, rtol=1e-6) and np.isclose(many.cost[3], one.cost)


def test_x_that_is_NaN_in_one_fit_calls_the_function_for_this_fit_alone():
    x = np.tile(T, (40, 1))
    x[7, 3], x[9, 3] = np.nan, np.inf
    Y = np.array([a * np.exp(-0.7 * T) + 0.01 * np.cos(50 * a * T) for a in np.linspace(1, 2, 40)])
    f, calls = counted(lambda y, x, a: y)
    many = nf.fit_many(f, x, Y, p0=[1, 0.5])
    assert many.evaluator.startswith("recorded, but called for 2 of 40 fits: it computes numbers")
    assert [many.success[k] for k in (6, 7, 8)] == [True, False, True]
    for k in (6, 7, 9):  # this function is 0 at infinity
        alone = nf.fit(f, x[k], Y[k], p0=[1, 0.5])
        assert many.verdict[k] == alone.certificate.verdict
        assert np.allclose(many.parameters[k], alone.x, rtol=1e-6)
