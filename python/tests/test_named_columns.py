"""Tests that predictors with names are found by their names, not by their order."""

import numpy as np
import nlsqfit as nf
import pytest

RNG = np.random.default_rng(8)
X = {"dose": np.linspace(0, 4, 25), "temp": 300 + RNG.random(25)}
Y = 3 * np.exp(-X["dose"]) + 0.01 * X["temp"] + 0.05 * RNG.normal(size=25)
MODEL = "a*exp(-b*dose)+c*temp"


def test_predictions_find_the_columns_of_a_formula_by_name():
    fit = nf.fit(MODEL, X, Y)
    straight = fit.predict({"dose": [1.0, 2.0], "temp": [301.0, 302.0]}, band=True)
    for at in (
        {"temp": [301.0, 302.0], "dose": [1.0, 2.0]},
        {"day": np.array(["2024-03-01"] * 2, "M8[D]"), "temp": [301.0, 302.0], "dose": [1.0, 2.0]},
    ):
        assert np.array_equal(fit.predict(at), straight.fit)
        assert np.array_equal(fit.predict(at, band=True).std_error, straight.std_error)
    assert np.array_equal(fit.predict(([1.0, 2.0], [301.0, 302.0])), straight.fit)


def test_predictions_refuse_columns_that_lack_a_name():
    fit = nf.fit(MODEL, X, Y)
    with pytest.raises(ValueError, match="x has no 'temp'.*predictors are dose, temp; x has dose, Temp"):
        fit.predict({"dose": [1.0], "Temp": [301.0]})
    alone = nf.fit("a*exp(-b*dose)+c", {"dose": X["dose"]}, Y)
    with pytest.raises(ValueError, match="x has no 'dose'"):
        alone.predict({"time": [1.0]})
    plain = nf.fit("a*exp(-b*x1)+c*x2", (X["dose"], X["temp"]), Y)
    assert np.array_equal(plain.predict({"x2": [301.0], "x1": [1.0]}), plain.predict(([1.0], [301.0])))


def test_predictions_of_tables_find_columns_by_name():
    pandas = pytest.importorskip("pandas")
    fit = nf.fit(MODEL, X, Y)
    table = pandas.DataFrame({"temp": [301.0], "plate": ["A"], "dose": [1.0]})
    assert np.array_equal(fit.predict(table), fit.predict({"dose": [1.0], "temp": [301.0]}))


class Table:
    """Stands for a table of pandas."""

    def __init__(self, columns):
        self.parts, self.columns, self.ndim = columns, list(columns), 2

    def items(self):
        return self.parts.items()

    def __array__(self, dtype=None):
        return np.stack(list(self.parts.values()), axis=1)


def test_tables_are_predictors_of_one_fit_and_of_many():
    fit = nf.fit(MODEL, Table(X), Y)
    assert np.array_equal(fit.predict(Table(dict(reversed(X.items())))), fit.predict())
    many = nf.fit_many(MODEL, Table(X), np.stack([Y, Y]))
    assert np.allclose(many.parameters, fit.x)
