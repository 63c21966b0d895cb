"""Tests the warning about integers that float64 rounds."""

import warnings

import numpy as np
import nlsqfit as nf
import pytest

START = 1_760_000_000_000_000_000  # nanoseconds since 1970
FINE, COARSE = START + 500 * np.arange(40), START + 10**9 * np.arange(40)
Y = 1 + 0.5 * np.arange(40) + 0.01 * (7 * np.arange(40) % 5)


def line(x, a, b):
    return a * (x - START) + b


@pytest.mark.parametrize(
    "call",
    [
        lambda x: nf.fit("linear", x, Y),
        lambda x: nf.fit(line, x, Y, p0=[1e-3, 1]),
        lambda x: nf.fit("a*t+b", {"t": x}, Y),
        lambda x: nf.fit("linear", Y, x),
        lambda x: nf.fit("a*(x1-1.76e18)+b*x2^2+c", np.array([x, np.arange(40)]), Y),
        lambda x: nf.curve_fit(line, x, Y, p0=[1e-3, 1]),
        lambda x: nf.curve_fit(line, x.tolist(), Y, p0=[1e-3, 1]),
    ],
)
def test_integers_that_float64_rounds_have_a_warning(call):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        call(FINE)
    assert sum("rounds to multiples of 256" in str(w.message) for w in seen) == 1
    assert any(w.filename == __file__ for w in seen if "rounds to" in str(w.message))
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        call(COARSE)
    assert not any("rounds to" in str(w.message) for w in seen)
