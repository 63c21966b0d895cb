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
    in_order = {"dose": [1.0, 2.0], "temp": [301.0, 302.0]}
    # A band evaluates derivatives, too, so its last digits may differ from those of the values alone.
    values, band = fit.predict(in_order), fit.predict(in_order, band=True)
    for at in (
        {"temp": [301.0, 302.0], "dose": [1.0, 2.0]},
        {"day": np.array(["2024-03-01"] * 2, "M8[D]"), "temp": [301.0, 302.0], "dose": [1.0, 2.0]},
    ):
        assert np.array_equal(fit.predict(at), values)
        assert np.array_equal(fit.predict(at, band=True).fit, band.fit)
        assert np.array_equal(fit.predict(at, band=True).std_error, band.std_error)
    assert np.array_equal(fit.predict(([1.0, 2.0], [301.0, 302.0])), values)


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


def test_a_formula_takes_the_columns_of_a_table_that_it_names():
    beside = {"T [K]": X["temp"], "site": np.array(["n"] * 25), "day": np.array(["2024-03-01"] * 25, "M8[D]"), 3: X["temp"]}
    fit, wanted = nf.fit(MODEL, Table({**beside, **X, "gap": np.full(25, np.nan)}), Y), nf.fit(MODEL, X, Y)
    assert np.array_equal(fit.x, wanted.x) and np.array_equal(fit.predict(Table(X)), wanted.predict())
    alone = nf.fit("a*exp(-b*x)+c", Table({"x": X["dose"], "other": X["temp"]}), Y)
    assert np.array_equal(alone.x, nf.fit("a*exp(-b*x)+c", X["dose"], Y).x)


def test_tables_with_columns_that_no_name_finds_are_refused():
    class Twice(Table):
        def items(self):
            return [("dose", X["dose"]), ("dose", X["temp"])]

    twice = Twice(X)
    twice.columns = ["dose", "dose"]
    with pytest.raises(ValueError, match="x has several columns 'dose'"):
        nf.fit("a*exp(-b*dose)+c", twice, Y)
    with pytest.raises(TypeError, match="a formula cannot name the column 0 of x"):
        nf.fit("a*exp(-b*x)+c", Table({0: X["dose"]}), Y)


class Column:
    """Stands for a column of pandas."""

    def __init__(self, numbers):
        self.numbers, self.shape = np.array(numbers, dtype=float), np.shape(numbers)

    def __array__(self, dtype=None):
        return self.numbers.astype(dtype or float)

    def to_numpy(self):
        return self.numbers

    @property
    def values(self):
        return self.numbers

    def __rmul__(self, other):
        return other * self.numbers

    def __neg__(self):
        return -self.numbers

    def std(self):
        return self.numbers.std(ddof=1)


class Frame(Table):
    def __getitem__(self, name):
        return self.parts[name]

    def __getattr__(self, name):
        if name not in self.__dict__.get("parts", {}):
            raise AttributeError(name)
        return self.parts[name]

    def to_numpy(self):
        return np.array(self)

    values = property(to_numpy)

    def __len__(self):
        return len(self.temp.numbers)


def test_functions_of_a_table_are_recorded():
    table = Frame({name: Column(numbers) for name, numbers in X.items()})
    want = nf.fit(MODEL, X, Y, p0=[2, 1, 0.02])
    for model in (
        lambda d, a, b, c: a * np.exp(-b * d["dose"].to_numpy()) + c * d["temp"].values,
        lambda d, a, b, c: a * np.exp(-b * d.dose.values) + c * d.temp.to_numpy(),
        lambda d, a, b, c: a * np.exp(-b * d.values[:, 0]) + c * d.to_numpy()[:, 1],
        lambda d, a, b, c: a * np.exp(-b * np.asarray(d)[:, 0]) + c * np.asarray(d)[:, 1] + 0 * len(d),
    ):
        fit = nf.fit(model, table, Y, p0=[2, 1, 0.02])
        assert fit.evaluator == "recorded" and np.allclose(fit.x, want.x, rtol=1e-9)
        assert nf.curve_fit(model, table, Y, p0=[2, 1, 0.02], full_output=True)[2]["evaluator"] == "recorded"
        assert np.allclose(fit.predict(table, band=True).std_error, want.predict(band=True).std_error)


def test_a_table_whose_stand_in_differs_is_given_to_the_function_itself():
    def model(d, a, b, c):  # pandas divides by rows - 1 here, NumPy by rows
        return a * np.exp(-b * d.dose.values / d.dose.std()) + c * d.temp.values

    def missing(d, a, b, c):
        return a * np.exp(-b * d.dose.numbers) + c * d.temp.values

    table = Frame({name: Column(numbers) for name, numbers in X.items()})
    want = nf.fit(MODEL, X, Y, p0=[2, 1, 0.02])
    fit = nf.fit(model, table, Y, p0=[2, 1, 0.02])
    assert fit.evaluator.startswith("called") and np.isclose(fit["b"].value, want["b"].value * np.std(X["dose"], ddof=1))
    assert nf.fit(missing, table, Y, p0=[2, 1, 0.02]).evaluator.startswith("called")


def test_functions_of_a_table_of_pandas_are_recorded():
    pandas = pytest.importorskip("pandas")
    fit = nf.fit(lambda d, a, b, c: a * np.exp(-b * d.dose) + c * d["temp"], pandas.DataFrame(X), Y, p0=[2, 1, 0.02])
    assert fit.evaluator == "recorded" and np.allclose(fit.x, nf.fit(MODEL, X, Y).x)
