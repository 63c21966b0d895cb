"""Tests fit, fit_many and Problem: their names, options and results."""

import copy
import math
import pickle
import warnings

import numpy as np
import nlsqfit as nf
import pytest
import scipy.optimize

RNG = np.random.default_rng(7)
X = np.linspace(-3, 5, 120)
Y = 3 * np.exp(-((X - 1) ** 2) / (2 * 0.5**2)) + 0.3 * X + 1 + 0.05 * RNG.normal(size=X.size)


def peak(x, h, mu, s, a, b):
    return h * np.exp(-((x - mu) ** 2) / (2 * s**2)) + a * x + b


def peak_called(x, h, mu, s, a, b):
    return peak(x, float(h), mu, s, a, b)


def test_text_function_and_called_function_agree():
    fits = [
        nf.fit("gaussian + linear", X, Y),
        nf.fit(peak, X, Y, p0={"mu": 1.3, "s": 0.7}),
        nf.fit(peak_called, X, Y, p0=[1, 1.3, 0.7, 1, 1]),
    ]
    assert [f.evaluator.split(",")[0] for f in fits] == ["formula", "recorded", "called"]
    at = np.linspace(-1, 3, 7)
    for f in fits:
        assert f.success and f.certificate.passed and f.certificate.verdict == "CONVERGED"
        assert np.allclose(f.x, fits[0].x, rtol=1e-5)
        assert np.allclose(f.cov, fits[0].cov, rtol=1e-3, atol=1e-9)
        assert np.allclose(f.residuals, f.fitted - Y) and np.isclose(np.sum(f.residuals**2), f.rss)
        ours, first = f.predict(at, band=True), fits[0].predict(at, band=True)
        assert np.allclose(ours.std_error, first.std_error, rtol=1e-3)
        assert np.allclose(f.predict(), f.fitted)
    theirs = scipy.optimize.curve_fit(peak, X, Y, p0=[1, 1.3, 0.7, 1, 1])
    assert np.allclose(fits[0].cov, theirs[1], rtol=1e-3, atol=1e-9)


def test_a_width_has_the_sign_of_its_start():
    near = nf.fit("h*exp(-(x-mu)^2/(2*s^2))+a*x+b", X, Y, p0={"mu": 1.1, "s": 0.4})
    found = 0
    for s in (0.2, 2.0, 4.0, 6.0, 8.0):
        for mu in (-1.0, 0.5, 2.0, 3.0):
            for model in (peak, "h*exp(-(x-mu)^2/(2*s^2))+a*x+b"):
                fit = nf.fit(model, X, Y, p0={"h": 1.0, "mu": mu, "s": s, "a": 0.0, "b": 0.0})
                assert not fit.success or fit["s"].value > 0
                if fit.success and abs(fit.rss / near.rss - 1) < 1e-9:
                    found += 1
                    assert np.allclose(fit.cov, near.cov, rtol=1e-4, atol=1e-9)
    assert found > 10
    many = nf.fit_many(peak, X, np.tile(Y, (40, 1)), p0=[1, 2, 4, 0, 0])
    assert (many["s"] > 0).all()
    popt, pcov = nf.curve_fit(peak, X, Y, p0=[1, 2, 4, 0, 0])
    assert popt[2] > 0 and np.allclose(pcov, near.cov, rtol=1e-4, atol=1e-9)

def test_bands_are_those_of_the_delta_method():
    f = nf.fit("a*x + b", X, Y, sigma=0.5, absolute_sigma=True)
    x = np.array([0.0, 2.0])
    J = np.column_stack([x, np.ones(2)])
    error = np.sqrt(np.diag(J @ f.cov @ J.T))
    band = f.predict(x, band=True)
    assert np.allclose(band.std_error, error)
    half = (band.confidence[1] - band.confidence[0]) / 2
    assert np.allclose((band.prediction[1] - band.prediction[0]) / 2, half / error * np.hypot(error, 0.5))


def test_fixed_bounds_and_ties():
    f = nf.fit(peak, X, Y, p0={"mu": 1.3, "s": 0.4}, fixed={"a": 0.3}, bounds={"s": (None, 0.45)})
    assert f.params["a"].value == 0.3 and f.params["a"].fixed and f.params["a"].stderr == 0
    assert f.params["s"].at_bound and f["s"].value == 0.45
    g = nf.fit("a*exp(-b*x)+c", np.abs(X), Y, ties=["c = 2*a"])
    for function in (  # the first is recorded, the second called
        lambda x, a, b, c: a * np.exp(-b * x) + c,
        lambda x, a, b, c: np.array([a * math.exp(-b * s) + c for s in x]),
    ):
        h = nf.fit(function, np.abs(X), Y, ties=["c = 2*a"], p0=dict(a=1, b=1))
        assert np.allclose(h.x, g.x, rtol=1e-6), function
    assert np.isclose(g["c"].value, 2 * g["a"].value)
    for wrong in (dict(fixed={"q": 1}), dict(p0={"q": 1}), dict(bounds={"q": (0, 1)})):
        with pytest.raises(ValueError, match="'q'.*h, mu, s, a, b"):
            nf.fit(peak, X, Y, **wrong)
    with pytest.raises(TypeError, match="no option 'presicion'. Did you mean 'precision'"):
        nf.fit(peak, X, Y, presicion="f64")


def test_several_predictors_have_names():
    data = {"t": X, "u": X**2}
    f = nf.fit("p*t + q*u", data, 2 * X + 3 * X**2)
    assert np.allclose(f.x, [2, 3]) and np.allclose(f.predict({"t": [1.0], "u": [4.0]}), [14])
    assert np.allclose(nf.fit("p*x1 + q*x2", (X, X**2), 2 * X + 3 * X**2).x, [2, 3])


def test_a_picture_a_table_and_a_report():
    f = nf.fit("gaussian + linear", X, Y)
    assert "g1_mu" in str(f) and "CONVERGED" in repr(f) and f.to_dict()["verdict"] == "CONVERGED"
    page = f._repr_html_()
    assert page.count("<tr>") == 1 + 5 and "CONVERGED" in page
    pytest.importorskip("matplotlib")
    for fit in (f, nf.fit("p*x1 + q*x2", (X, X**2), Y)):
        figure = fit.plot()
        assert len(figure.axes) == 2 and figure.axes[0].get_legend() is not None


def test_a_formula_that_does_not_parse_is_named():
    with pytest.raises(ValueError, match="exq"):
        nf.fit("a*exq(x)", X, Y)


# ---- tests of fit_many

T = np.arange(16.0)
A, B = RNG.uniform(1, 3, (6, 7)), RNG.uniform(0.1, 0.4, (6, 7))
FILM = A[..., None] * np.exp(-B[..., None] * T) + 0.01 * RNG.normal(size=(6, 7, 16))


def decay(t, a, b):
    return a * np.exp(-b * t)


def decay_called(t, a, b):
    return np.array([a * math.exp(-b * s) for s in t])


@pytest.mark.parametrize("model", ["a*exp(-b*x)", decay, decay_called])
def test_many_fits_are_those_of_single_fits(model):
    many = nf.fit_many(model, T, FILM, p0=[1, 0.2])
    assert many.success.all() and many.parameters.shape == (6, 7, 2) and many["a"].shape == (6, 7)
    for at in ((0, 0), (5, 6), (2, 3)):
        single = nf.fit(decay, T, FILM[at], p0=[1, 0.2])
        assert np.allclose(many.parameters[at], single.x, rtol=1e-6)
        assert np.allclose(many.std_errors[at], single.stderr, rtol=1e-4)


@pytest.mark.parametrize("model", ["a*exp(-b*x)", decay, decay_called])
def test_masks_errors_axes_and_failed_fits(model):
    film = FILM.copy()
    film[1, 2, 3] = np.nan
    film[4, 4, 0] = 1e6
    mask = np.isnan(film) | (film > 1e5)
    masked = nf.fit_many(model, T, film, p0=[1, 0.2], mask=mask, sigma=np.full(film.shape, 0.01))
    assert masked.success.all()
    single = nf.fit(decay, T[1:], film[4, 4, 1:], p0=[1, 0.2])
    assert np.allclose(masked.parameters[4, 4], single.x, rtol=1e-6)
    turned = nf.fit_many(
        model, T, np.moveaxis(film, -1, 0), p0=[1, 0.2], mask=np.moveaxis(mask, -1, 0), axis=0
    )
    assert np.allclose(turned.parameters, masked.parameters, rtol=1e-6)
    broken = nf.fit_many(model, T, film, p0=[1, 0.2])
    assert broken.verdict[1, 2] == "FAILED" and not broken.success[1, 2] and broken.success[0, 0]


def test_each_fit_may_have_its_own_x_and_start():
    x = T + RNG.uniform(0, 1, (6, 7, 1))
    film = A[..., None] * np.exp(-B[..., None] * x)
    p0 = np.stack([A * 1.1, B * 0.9], axis=-1)
    for model in ("a*exp(-b*x)", decay):
        many = nf.fit_many(model, x, film, p0=p0)
        assert np.allclose(many["a"], A) and np.allclose(many["b"], B)
    guessed = nf.fit_many("exp0", T, FILM)
    assert guessed.success.all()


# ---- tests of Problem


def rosenbrock_like(a, b):
    return [10 - a[0] * b[0], a[0] - 2, b[1] - 4]


def rosenbrock_called(a, b):
    return [10 - float(a[0]) * b[0], a[0] - 2, b[1] - 4]


@pytest.mark.parametrize("function", [rosenbrock_like, rosenbrock_called])
def test_a_problem_of_two_blocks(function):
    a, b = np.array([0.5]), np.array([3.0, 1.0])
    problem = nf.Problem()
    problem.add(function, a, b)
    assert np.isclose(problem.cost, 0.5 * np.sum(np.square(function(a, b))))
    result = problem.solve()
    assert result.success and np.allclose(a, 2) and np.allclose(b, [5, 4])
    assert (result.evaluator[0] == "recorded") == (function is rosenbrock_like)


def test_many_blocks_with_measurements():
    slopes, offset = np.ones((5, 1)), np.zeros(1)
    which = np.repeat(np.arange(5), 8)
    x = np.tile(np.arange(8.0), 5)
    y = (which + 1) * x + 0.7
    problem = nf.Problem()
    shared = np.zeros(40, dtype=int)
    problem.add(
        lambda s, o, x, y: [s[0] * x + o[0] - y],
        (slopes, which), (offset.reshape(1, 1), shared), data=[x, y], loss="huber", f_scale=1.0,
    )  # fmt: skip
    result = problem.solve()
    assert result.success and result.evaluator == ["recorded"]
    assert np.allclose(slopes[:, 0], np.arange(1, 6)) and np.allclose(offset, 0.7)


def test_constant_blocks_bounds_and_errors():
    a, b = np.array([0.5]), np.array([3.0, 1.0])
    problem = nf.Problem()
    problem.add(rosenbrock_like, a, b)
    problem.set_constant(a)
    problem.set_bounds(b, upper=[np.inf, 3])
    problem.solve()
    assert a[0] == 0.5 and np.isclose(b[0], 20) and b[1] == 3
    with pytest.raises(TypeError, match="C-contiguous"):
        problem.add(rosenbrock_like, [1.0], b)
    with pytest.raises(ValueError, match="no parameter block"):
        problem.set_constant(np.zeros(2))

    def fails(a):
        if len(calls) > 3:
            raise KeyError("mine")
        calls.append(1)
        return [float(a[0]) - 1]

    calls, start = [], np.array([5.0])
    other = nf.Problem()
    other.add(fails, start)
    with pytest.raises(KeyError, match="mine"):
        other.solve()
    assert start[0] == 5.0


def _module_decay(x, a, b):
    return a * np.exp(-b * x)


@pytest.mark.parametrize("model", ["a*exp(-b*x)", "gaussian", _module_decay])
def test_a_fit_is_pickled_and_copied_with_its_model(model):
    x = np.linspace(-3, 4, 60)
    y = np.exp(-0.5 * x**2) if model == "gaussian" else 2 * np.exp(-0.7 * x)
    fit = nf.fit(model, x, y + 0.01 * np.cos(9 * x))
    for other in (pickle.loads(pickle.dumps(fit)), copy.deepcopy(fit)):
        assert str(other) == str(fit) and other.to_dict() == fit.to_dict() and other.params == fit.params
        new = np.linspace(0, 2, 7)
        for at in (None, new):
            assert np.array_equal(other.predict(at), fit.predict(at))
            assert np.allclose(other.predict(at, band=True).std_error, fit.predict(at, band=True).std_error)
        again = pickle.loads(pickle.dumps(other))
        assert np.array_equal(again.cov, fit.cov) and again.evaluator == fit.evaluator


def test_a_formula_that_does_not_use_its_predictor_is_told():
    with pytest.raises(ValueError, match=r"uses no predictor \(x\): a, b, t are its parameters.*write x"):
        nf.fit("a*exp(-b*t)", np.abs(X), Y)
    with pytest.raises(ValueError, match=r"uses no predictor \(t\)"):
        nf.fit_many("a*exp(-x/tau)", {"t": X}, np.stack([Y, Y]))
    with pytest.warns(nf.OptimizeWarning, match=r"does not use x; its parameters are a.*x=\{'a': ...\}"):
        nf.fit("2*a", X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nf.fit("a*exp(-b*t)", {"t": np.abs(X)}, Y, p0={"b": 1})
        nf.fit("constant", X, Y)  # a constant needs none
        nf.fit("y/x = a", X + 1, Y)  # the left side uses it
        nf.fit("p*x1 + q*x2", (X, X**2), Y)


def test_a_text_that_adds_names_is_a_formula_if_none_is_a_model():
    for text in ("a+0*x", "0*x + a", "a + 0*x + 0*x"):
        result = nf.fit(text, X, Y)
        assert result.success and np.isclose(result["a"].value, Y.mean())
    many = nf.fit_many("a+0*x", X, np.stack([Y, 2 * Y]))
    assert np.allclose(many["a"], [Y.mean(), 2 * Y.mean()])
    assert np.isclose(nf.fit("a + 2*linear", {"linear": X}, Y)["a"].value, (Y - 2 * X).mean())
    with pytest.warns(nf.OptimizeWarning, match="does not use x"):
        told = nf.fit("3*lorentzan", X, Y)
    assert "names no predictor (x) and no built-in model" in told.warnings[0]
    assert "names no predictor" in nf.fit_many("3*lorentzan", X, Y[None]).warnings[0]
    with pytest.raises(ValueError, match="no built-in model is called 'x'.*because 'gaussian' is one"):
        nf.fit("gaussian + x", X, Y)


def test_tables_and_columns_of_pandas():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"t": np.abs(X), "u": X**2, "y": Y}, index=np.arange(X.size)[::-1])
    by_table = nf.fit("p*t + q*u", table[["t", "u"]], table.y)
    assert np.allclose(by_table.x, nf.fit("p*x1 + q*x2", (np.abs(X), X**2), Y).x)
    holes = table.y.where(table.t > 0.5)
    kept = (table.t > 0.5).to_numpy()
    popt, _ = nf.curve_fit(lambda t, a, b: a * t + b, table.t, holes, nan_policy="omit")
    assert np.allclose(popt, np.polyfit(np.abs(X)[kept], Y[kept], 1))


def test_a_warning_about_a_name_is_given_once_with_ties():
    x = np.linspace(0, 3, 30)
    result = nf.fit("a*e^(-b*x)", x, 2 * np.exp(-x), p0={"b": 1}, ties=["a=2*b"])
    assert sum("'e' is fitted as a parameter" in text for text in result.warnings) == 1
