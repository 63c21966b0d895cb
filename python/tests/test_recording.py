"""Tests that recordings give what the function gives, and that others are refused with a reason."""

import math

import numpy as np
import nlsqfit as nf
import pytest
from corpus import MODELS
from nlsqfit._agreement import agree, perturbed
from nlsqfit.recording import record
from nlsqfit.recording.record import guarded
from tape_numbers import evaluate

X = np.linspace(0.1, 4, 50)


def recorded(function, count, x=X, rows=50):
    data = guarded(x)
    return record(lambda *p: function(data, *p), count, rows)


def values(recording, p, rows=50):
    return evaluate(recording.entries, recording.result, recording.columns, np.asarray(p, float), rows)


@pytest.mark.parametrize("entry", MODELS, ids=lambda e: e.name)
@pytest.mark.filterwarnings("ignore")
def test_a_recording_of_the_corpus_is_right_or_refused(entry):
    y = entry.y.reshape(-1)
    recording = recorded(entry.function, entry.p.size, entry.x, y.size)
    if isinstance(recording, str):
        assert recording
        return
    for share in (0, 0.1, 0.03):
        p = perturbed(entry.p, -np.inf, np.inf, share)
        expected = np.asarray(entry.function(entry.x, *p), dtype=float).reshape(-1)
        assert agree(values(recording, p, y.size), expected)


def test_most_models_of_the_corpus_are_recorded():
    count = sum(not isinstance(recorded(e.function, e.p.size, e.x, e.y.size), str) for e in MODELS)
    assert len(MODELS) >= 60 and sum(e.hard for e in MODELS) >= 15
    assert count >= 0.75 * len(MODELS)


def test_both_ways_of_an_if_on_a_parameter_are_recorded():
    def f(x, a, b):
        if a > 1:
            return b * x
        if b < 0:
            raise ValueError("b must not be negative")
        return a + x

    recording = recorded(f, 2)
    assert np.allclose(values(recording, [2, 3]), 3 * X)
    assert np.allclose(values(recording, [0.5, 3]), 0.5 + X)
    assert np.isnan(values(recording, [0.5, -3])).all()


def test_refusals_say_what_cannot_be_recorded():
    assert "plain numbers" in recorded(lambda x, a: math.exp(a) * x, 1)
    assert "numpy.interp" in recorded(lambda x, a: np.interp(x, [0, 4], [a, 1.0]), 1)
    assert "numpy.sort" in recorded(lambda x, a: np.sort(a * x), 1)
    assert "max of all 50" in recorded(lambda x, a: a * x / np.exp(a * x).max(), 1)


def test_a_model_that_catches_exceptions_is_not_recorded_by_its_handler():
    def f(x, a):
        try:
            return math.exp(a) * x
        except Exception:
            return a * x

    def g(x, a):
        try:
            return math.exp(a) * x
        except:  # noqa: E722
            return a * x

    assert isinstance(recorded(f, 1), str)
    assert isinstance(recorded(g, 1), str)


def test_data_that_the_model_changes_in_place_are_not_recorded():
    def f(x, a):
        x -= a
        return x**2

    x = X.copy()
    assert "in place" in recorded(f, 1, x)
    assert np.array_equal(x, X)


def test_arrays_that_are_made_of_data_carry_values():
    def f(x, a, b):
        y = np.zeros_like(x)
        y[x > 2] = a * x[x > 2]
        y[:3] = b
        y += 1
        return y

    expected = np.where(X > 2, 2 * X, 0)
    expected[:3] = 5
    assert np.allclose(values(recorded(f, 2), [2, 5]), expected + 1)


def test_writing_through_a_view_is_refused_or_right():
    def view_of_traced(x, a):
        y = a * x
        y[10:20] += 1  # NumPy writes through a view here, and then assigns it
        return y

    def named_view(x, a):
        y = a * x
        part = y[10:20]
        part += 1
        return y

    expected = 2 * X
    expected[10:20] += 1
    for f in (view_of_traced, named_view):
        recording = recorded(f, 1)
        assert isinstance(recording, str) or np.allclose(values(recording, [2]), expected)


def test_numbers_are_not_changed_in_place():
    def f(x, a):
        b = a
        b += 1
        return a * x + b

    assert np.allclose(values(recorded(f, 1), [2]), 2 * X + 3)


def test_constant_arrays_are_read_when_they_are_used():
    buffer = np.empty_like(X)

    def f(x, a, b):
        np.square(x, out=buffer)
        first = a * buffer
        np.sqrt(x, out=buffer)
        return first + b * buffer

    assert np.allclose(values(recorded(f, 2), [2, 3]), 2 * X**2 + 3 * np.sqrt(X))


def test_an_operation_that_the_library_makes_of_several():
    x = np.linspace(0.1, 4, 60)
    for f in (lambda x, a, b: a * (x % b), lambda x, a, b: a * np.fmod(x, b), lambda x, a, b: a * (x // b) + x):
        popt, _, info, *_ = nf.curve_fit(f, x, f(x, 2.0, 5.0), p0=[1.5, 5.0], full_output=True, bounds=(1, 9))
        assert np.allclose(f(x, *popt), f(x, 2.0, 5.0)) and info["evaluator"]


def test_parts_of_complex_numbers_side_by_side_are_recorded():
    """np.r_ takes short arrays apart. Its result must consist of the arrays again."""
    frequencies = np.logspace(-1, 5, 50)

    def impedance(w, r0, r1, q, n):
        return r0 + 1 / (1 / r1 + q * (1j * w) ** n)

    def side_by_side(w, *p):
        return np.r_[impedance(w, *p).real, -impedance(w, *p).imag]

    def with_size_and_angle(w, *p):
        return np.r_[np.abs(impedance(w, *p)), 2.0, np.angle(impedance(w, *p))]

    p = [10, 100, 1e-4, 0.85]
    for function, rows in ((side_by_side, 100), (with_size_and_angle, 101)):
        recording = recorded(function, 4, frequencies, rows)
        assert not isinstance(recording, str), recording
        assert len(recording.entries) < 100
        assert agree(values(recording, p, rows), function(frequencies, *p))


def test_a_loop_over_rows_that_chooses_parameters_is_recorded():
    which = np.arange(50) % 3

    def by_row(x, k, c, *a):
        return [a[i] * np.exp(-k * s) + c if s < 2 else c * s**k for s, i in zip(x, which)]

    recording = recorded(by_row, 5)
    assert not isinstance(recording, str), recording
    p = [0.8, 0.2, 1, 2, 3]
    assert agree(values(recording, p), np.array(by_row(X, *p)))


def test_a_loop_of_too_many_kinds_of_rows_is_refused():
    recording = recorded(lambda x, *p: [p[i % 40] * s for i, s in enumerate(x)], 40)
    assert isinstance(recording, str) and "different expressions" in recording


def test_a_choice_by_row_is_recorded():
    def by_choice(x, a, b, c, k):
        return np.choose(np.arange(50) % 3, [a, b, c]) * np.exp(-k * x)

    recording = recorded(by_choice, 4)
    assert not isinstance(recording, str), recording
    assert agree(values(recording, [1, 2, 3, 0.5]), by_choice(X, 1, 2, 3, 0.5))


def test_bessel_functions_of_orders_0_and_1_are_recorded_by_either_name():
    special = pytest.importorskip("scipy.special")
    x = np.linspace(0.1, 9, 60)
    for order in (0, 1):
        def model(x, a, b):
            return a * special.jv(order, b * x)

        popt, _, info, *_ = nf.curve_fit(model, x, model(x, 2.0, 1.3), p0=[1.8, 1.2], full_output=True)
        assert info["evaluator"] == "recorded"
        np.testing.assert_allclose(popt, [2, 1.3], rtol=1e-12)


@pytest.mark.parametrize("rows", [40, 300])
@pytest.mark.parametrize(
    "curve",
    [
        lambda x, a, m: a * np.abs(x - m),
        lambda x, a, m: a * np.exp(-np.abs(x - m) / 2),
        lambda x, a, m: a * np.logaddexp(0, (x - m) / 0.5),
        lambda x, a, m: np.sqrt((x - a) ** 2 + (1 - m) ** 2),
        lambda x, a, m: a * np.abs(x / m - 1),
    ],
)
def test_functions_with_a_kink_where_all_numbers_are_1(curve, rows):
    x = np.linspace(0, 10, rows)
    y = curve(x, 2, 4) + 0.01 * np.sin(99 * x)
    fit = nf.fit(curve, x, y, p0=[1.5, 3.7])
    assert fit.success and np.allclose(fit.x, [2, 4], atol=0.02)
    assert np.allclose(fit.predict(x), curve(x, *fit.x))
    assert nf.fit_many(curve, x, np.array([y, y]), p0=[1.5, 3.7]).success.all()
    sums = nf.partial_sums(curve, fit.x, (x, y))
    assert nf.solve_sums(sums, fit.x).success
    assert nf.fit(curve, x, y, p0=[1.5, 3.7], sigma=0.01, sigma_x=0.001).success
