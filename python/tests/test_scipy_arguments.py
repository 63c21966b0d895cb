"""Tests arguments of curve_fit that were once ignored, or had other exceptions than SciPy's."""

import numpy as np
import nlsqfit as nf
import pytest
import scipy.optimize

X = np.linspace(0, 4, 60)


def decay(x, a, b, c):
    return a * np.exp(-b * x) + c


def called(x, a, b, c):
    return decay(x, float(a), b, c)


def by_columns(x, a, b, c):
    e = np.exp(-b * x)
    return np.stack([e, -a * x * e, np.ones_like(x)])


Y = decay(X, 2.5, 1.3, 0.5) + 0.05 * np.random.default_rng(0).normal(size=X.size)


def test_col_deriv_is_minpacks():
    ours = nf.curve_fit(called, X, Y, jac=by_columns, col_deriv=1, method="lm")
    theirs = scipy.optimize.curve_fit(called, X, Y, jac=by_columns, col_deriv=1, method="lm")
    assert np.allclose(ours[0], theirs[0], rtol=1e-5) and np.allclose(ours[1], theirs[1], rtol=1e-3)
    with pytest.raises(TypeError, match="col_deriv"):
        nf.curve_fit(called, X, Y, jac=by_columns, col_deriv=1, method="trf")


def test_as_many_rows_as_parameters_do_not_hide_a_transposed_jac():
    x, y = X[[0, 20, 59]], Y[[0, 20, 59]]
    popt, _ = nf.curve_fit(called, x, y, p0=[2, 1, 0.4], jac=by_columns, col_deriv=1)
    assert np.allclose(decay(x, *popt), y, rtol=1e-6)


@pytest.mark.parametrize("jac", [by_columns, lambda x, a, b, c: np.ones(3), lambda x, *p: np.ones((60, 1))])
def test_a_jac_of_another_shape_is_refused(jac):
    with pytest.raises(ValueError, match="wrong shape: expected"):
        nf.curve_fit(called, X, Y, jac=jac)


@pytest.mark.parametrize("p0", [[1, 1, 1], [2.5, 1.3, 0.5]])
def test_a_jac_that_differences_contradict_is_an_error(p0):
    def wrong(x, a, b, c):
        return by_columns(x, a, -b, c).T * [1, -1, 1]

    with pytest.raises(RuntimeError, match="disagrees with differences"):
        nf.curve_fit(called, X, Y, p0=p0, jac=wrong)


def test_a_jac_of_one_parameter_may_be_a_vector():
    popt, _ = nf.curve_fit(lambda x, a: float(a) * x, X, 3 * X, jac=lambda x, a: x, method="lm")
    assert np.allclose(popt, 3)


@pytest.mark.parametrize("loss", ["soft_l1", "huber", "cauchy", "arctan"])
@pytest.mark.parametrize("bounds", [(-np.inf, np.inf), ([0, 0, 0.6], [5, 5, 1])])
@pytest.mark.parametrize("absolute", [False, True])
def test_the_covariance_with_a_loss_is_scipys(loss, bounds, absolute):
    options = dict(p0=[2, 1, 0.7], bounds=bounds, sigma=0.05 + 0.01 * X, absolute_sigma=absolute)
    options.update(method="trf", loss=loss, f_scale=0.7)
    ours = nf.curve_fit(decay, X, Y, **options)
    theirs = scipy.optimize.curve_fit(decay, X, Y, **options, xtol=1e-13, ftol=1e-13, gtol=1e-13)
    assert np.allclose(ours[0], theirs[0], rtol=1e-4)
    assert np.allclose(ours[1], theirs[1], rtol=1e-2, atol=1e-6)


def test_verbose_prints(capsys):
    nf.curve_fit(decay, X, Y, method="trf", verbose=1)
    assert "final cost" in capsys.readouterr().out
    nf.curve_fit(decay, X, Y, method="trf", verbose=0)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "arguments, error, words",
    [
        (dict(max_nfev=0), ValueError, "max_nfev"),
        (dict(x_scale="abc"), ValueError, "x_scale"),
        (dict(x_scale=[1, 2]), ValueError, "Inconsistent shapes"),
        (dict(tr_solver="what"), ValueError, "tr_solver"),
        (dict(ftol=0, xtol=0, gtol=0), ValueError, "tolerances"),
        (dict(verbose=7), ValueError, "verbose"),
        (dict(p0=[]), ValueError, "p0"),
        (dict(f=lambda x, a, b: a * np.log(x - b)), ValueError, "not finite in the initial point"),
        (dict(f=3), TypeError, "callable"),
        (dict(f=lambda x, a: None), TypeError, "None"),
        (dict(bounds=([np.nan] * 3, [1] * 3)), ValueError, "infeasible"),
    ],
)
def test_mistakes_have_scipys_exceptions(arguments, error, words):
    with pytest.raises(error, match=words):
        nf.curve_fit(**{**dict(f=decay, xdata=X, ydata=Y, method="trf"), **arguments})


def test_maxfev_of_0_is_minpacks_default():
    assert np.allclose(nf.curve_fit(decay, X, Y, maxfev=0)[0], nf.curve_fit(decay, X, Y)[0])


@pytest.mark.parametrize("rows", [60, 20_000, 60_000])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("of_x", [False, True])
def test_data_that_are_not_finite_are_refused(rows, bad, of_x):
    x = np.linspace(0, 4, rows)
    y = decay(x, 2.5, 1.3, 0.5)
    (x if of_x else y)[rows - 1] = bad
    with pytest.raises(ValueError, match="array must not contain infs or NaNs"):
        nf.curve_fit(decay, x, y)
    with pytest.raises(ValueError, match="array must not contain infs or NaNs"):
        nf.curve_fit(called, x, y)


@pytest.mark.parametrize("rows", [60, 20_000])
def test_finite_data_whose_squares_or_sums_overflow_are_taken(rows):
    x = np.linspace(1e304, 2e304, rows)
    popt, _ = nf.curve_fit(lambda x, a: a * (1e-304 * x), x, 3e-304 * x)
    assert np.allclose(popt, [3], rtol=1e-9)


def test_an_array_may_be_read_only_or_lie_anyhow_in_memory():
    expected = nf.curve_fit(decay, X, Y)[0]
    fixed, apart = Y.copy(), np.stack([Y, Y], axis=1)
    fixed.setflags(write=False)
    for y in (fixed, apart[:, 0], Y[::-1].copy()[::-1], np.asfortranarray(apart)[:, 1]):
        assert (nf.curve_fit(decay, X, y)[0] == expected).all()


def test_a_curve_fitted_to_constant_data_has_an_infinite_covariance():
    with pytest.warns(nf.OptimizeWarning):
        _, pcov = nf.curve_fit(decay, X, np.full(X.size, 3.7), p0=[1, 0.5, 0])
    assert np.isinf(pcov).all()


def test_one_sigma_in_an_array_is_that_of_all_rows():
    one, theirs = nf.curve_fit(decay, X, Y, p0=[2, 1, 0.7], sigma=0.05, absolute_sigma=True)
    for sigma in ([0.05], np.array([[0.05]])):
        popt, pcov = nf.curve_fit(decay, X, Y, p0=[2, 1, 0.7], sigma=sigma, absolute_sigma=True)
        np.testing.assert_array_equal(popt, one)
        np.testing.assert_array_equal(pcov, theirs)
    holes = np.where(X == X[3], np.nan, Y)
    popt, _ = nf.curve_fit(decay, X, holes, p0=[2, 1, 0.7], sigma=[0.05], nan_policy="omit")
    assert np.isfinite(popt).all()


@pytest.mark.parametrize("arguments", [
    {}, {"absolute_sigma": True}, {"method": "trf", "loss": "soft_l1"}, {"bounds": ([0, 0, 0], 9)},
    {"jac": lambda x, a, b, c: np.stack([np.exp(-b * x), -a * x * np.exp(-b * x), 1 + 0 * x], axis=1)},
])  # fmt: skip
@pytest.mark.parametrize("called", [False, True])
def test_rows_of_infinite_sigma_have_no_weight(arguments, called):
    rng = np.random.default_rng(1)
    x = np.linspace(0, 4, 50)
    y = 2.5 * np.exp(-1.3 * x) + 0.5 + 0.05 * rng.normal(size=50)
    sigma, y[[3, 10]] = np.full(50, 0.05), (40, -7)
    sigma[[3, 10]] = np.inf

    def model(x, a, b, c):
        middle = x - x.mean() + 2  # which must be that of all rows
        if called:
            a = float(a)
        return a * np.exp(-b * middle) + c

    mine = nf.curve_fit(model, x, y, sigma=sigma, full_output=True, **arguments)
    scipys = scipy.optimize.curve_fit(model, x, y, sigma=sigma, full_output=True, **arguments)
    assert mine[0] == pytest.approx(scipys[0], rel=1e-5)
    factor = 1 if "absolute_sigma" in arguments else 47 / 45  # SciPy counts all rows
    assert np.sqrt(np.diag(mine[1])) == pytest.approx(np.sqrt(factor * np.diag(scipys[1])), rel=1e-4)
    assert np.allclose(mine[2]["fvec"], scipys[2]["fvec"], atol=1e-5) and mine[2]["fvec"][3] == 0
    if "fjac" in scipys[2]:
        assert mine[2]["fjac"].shape == scipys[2]["fjac"].shape


def test_mistakes_with_rows_of_infinite_sigma_are_told():
    x, sigma = np.arange(6.0), np.array([1, 1, 1, 1, np.inf, 1])
    with pytest.raises(ValueError, match="the model gives 5 values for 6 data"):  # as many as are kept
        nf.curve_fit(lambda x, a, b: (a + b * x)[:5], x, x, sigma=sigma)
    with pytest.raises(ValueError, match="infinite in every row"):
        nf.curve_fit(lambda x, a, b: a + b * x, x, x, sigma=np.full(6, np.inf))
    with pytest.raises(ValueError, match="not positive and finite"):
        nf.curve_fit(lambda x, a, b: a + b * x, x, x, sigma=-sigma)
    with pytest.raises(TypeError, match="n.*=6 must not exceed.*=5"):
        nf.curve_fit(lambda x, *p: sum(q * x**k for k, q in enumerate(p)), x, x, p0=np.ones(6), sigma=sigma)
