"""Tests called functions whose rounding errors are large beside y or beside the parameters."""

import math
import warnings

import numpy as np
import pytest

import nlsqfit as nf


def two_decays(t, a, b, c, d, offset):
    return a * np.exp(-b * t) + c * np.exp(-d * t) + offset


def called(t, a, b, c, d, offset):
    return two_decays(t, float(a), b, c, d, offset)  # a stand-in is no number, so this is not recorded


def derivatives(t, a, b, c, d, _offset):
    first, second = np.exp(-b * t), np.exp(-d * t)
    return np.stack([first, -a * t * first, second, -c * t * second, np.ones_like(t)], axis=1)


def fits(rows, count):
    """Yields data, starts and bounds. Some of the bounds are active, and some lie just beside the minimum."""
    for seed in range(count):
        random = np.random.default_rng(seed)
        truth = random.uniform([1, 0.2, 1, 0, 0], [5, 1, 5, 0, 0])
        truth[3] = truth[1] * random.uniform(1.5, 5)
        truth[4] = 10 ** random.uniform(6, 10.5)
        t = np.linspace(0, random.uniform(5, 15), rows)
        y = two_decays(t, *truth) + 10 ** random.uniform(-3, -1) * random.normal(size=rows)
        start, lower, upper = truth.copy(), np.full(5, -np.inf), np.full(5, np.inf)
        for j in random.choice(4, random.integers(0, 4), replace=False):
            if random.random() < 0.5:
                lower[j], start[j] = truth[j] * 1.05, truth[j] * 1.1
            else:
                upper[j], start[j] = truth[j] * 0.95, truth[j] * 0.9
        yield seed, t, y, start, (lower, upper)


def standard_errors(t, y, p, free):
    J, r = derivatives(t, *p)[:, free].astype(np.longdouble), two_decays(t, *p) - y
    size = np.sqrt((J * J).sum(axis=0)).astype(float)
    inverse = np.linalg.inv(np.linalg.qr((J / size).astype(float))[1])
    return np.sqrt((inverse**2).sum(axis=1) * (r @ r) / (y.size - free.sum())) / size


@pytest.mark.parametrize("rows", [9, 20, 60])
def test_standard_errors_beside_offsets_and_bounds_are_right_or_not_known(rows):
    known = 0
    for seed, t, y, start, bounds in fits(rows, 40):
        for way in ("curve_fit", "fit", "least_squares"):
            with warnings.catch_warnings():
                warnings.simplefilter("error", nf.OptimizeWarning)
                try:
                    if way == "curve_fit":
                        p, pcov = nf.curve_fit(called, t, y, p0=start, bounds=bounds)
                        errors, free = np.sqrt(np.diag(pcov)), np.ones(5, dtype=bool)  # all are free, as in SciPy
                    elif way == "fit":
                        limits = dict(zip("a b c d offset".split(), zip(*bounds)))
                        fit = nf.fit(called, t, y, p0=list(start), bounds=limits)
                        if not fit.certificate.passed:
                            continue
                        assert fit.evaluator.startswith("called")
                        p = np.array([one.value for one in fit.params.values()])
                        errors = np.array([one.stderr for one in fit.params.values()])
                        free = (p > bounds[0]) & (p < bounds[1])
                        if np.isnan(errors[free]).all():
                            assert any("not known" in warning for warning in fit.warnings)
                            continue
                    else:
                        found = nf.least_squares(lambda q: called(t, *q) - y, start, bounds=bounds)
                        p, errors, free = found.x, found.std_errors, found.active_mask == 0
                        if not found.success or np.isnan(errors[free]).all():
                            continue
                except (nf.OptimizeWarning, RuntimeError):
                    continue
            known += 1
            assert errors[free] == pytest.approx(standard_errors(t, y, p, free), rel=0.02), (seed, way)
    assert known > 60


@pytest.mark.parametrize("rows", [9, 20, 60])
def test_sums_of_blocks_have_right_standard_errors_beside_offsets(rows):
    known = 0
    for seed, t, y, start, bounds in fits(rows, 40):
        blocks = [(t[: rows // 2], y[: rows // 2]), (t[rows // 2 :], y[rows // 2 :])]
        step = start
        while not (isinstance(step, nf.SumsStep) and step.done):
            p, options = (start, dict(bounds=bounds)) if step is start else (step.parameters, {})
            step = nf.solve_sums(sum(nf.partial_sums(called, p, block) for block in blocks), step, **options)
        p = step.parameters
        free = (p > bounds[0]) & (p < bounds[1])
        if not step.success or np.isnan(step.std_errors[free]).all():
            continue
        known += 1
        assert step.std_errors[free] == pytest.approx(standard_errors(t, y, p, free), rel=0.02), seed
    assert known > 20


@pytest.mark.parametrize("loss", ["linear", "soft_l1"])
def test_the_returned_jacobian_is_right_beside_offsets(loss):
    t = np.linspace(0, 8, 60)
    y = two_decays(t, 3, 0.3, 2, 1.4, 1e9) + 0.02 * np.random.default_rng(4).normal(size=60)
    found = nf.least_squares(lambda p: called(t, *p) - y, [3.1, 0.32, 2.1, 1.3, 1e9], loss=loss)
    assert found.success
    exact = derivatives(t, *found.x)
    if loss == "linear":
        errors = np.sqrt(np.diag(np.linalg.inv(found.jac.T @ found.jac)))
        right = np.sqrt(np.diag(np.linalg.inv(exact.T @ exact)))
        assert errors == pytest.approx(right, rel=0.01)
    else:
        _, pcov = nf.curve_fit(called, t, y, p0=[3.1, 0.32, 2.1, 1.3, 1e9], loss=loss, method="trf")
        _, right = nf.curve_fit(two_decays, t, y, p0=[3.1, 0.32, 2.1, 1.3, 1e9], loss=loss, method="trf")
        assert np.sqrt(np.diag(pcov)) == pytest.approx(np.sqrt(np.diag(right)), rel=0.02)


def test_noise_of_differences_is_no_kink():
    """Gradients at the end had rounding errors of y. A fit 0.1 standard errors away was certified."""
    t = np.linspace(0, 7.905061466190358, 7)
    y = np.array([-6268527.179963301, -6268529.692730108, -6268530.081964678, -6268530.1368207075,
                  -6268530.174946311, -6268530.17125795, -6268530.16214145])  # fmt: skip
    start = [1.5889918629375248, 0.9529058616953581, 1.3589361247168257, 2.0749802331629876, -6268530.169304237]
    fit = nf.fit(called, t, y, p0=start)
    assert fit.certificate.governed_by != "both sides of a kink"
    if fit.certificate.passed:
        p, errors = (np.array([getattr(one, name) for one in fit.params.values()]) for name in ("value", "stderr"))
        assert errors == pytest.approx(standard_errors(t, y, p, np.ones(5, dtype=bool)), rel=0.02)


def registration(shift, noise):
    """Return residuals and Jacobian of points that are registered with themselves, shifted and with noise."""
    rng = np.random.default_rng(1)
    points = rng.normal(size=(5, 2))
    seen = points + shift + noise * rng.normal(size=(5, 2))

    def rotated(p):
        cosine, sine = math.cos(p[0]), math.sin(p[0])  # cannot be recorded
        return points @ np.array([[cosine, sine], [-sine, cosine]])

    def residuals(p):
        return (rotated(p) + p[1:] - seen).ravel()

    def jacobian(p):
        J = np.zeros((10, 3))
        J[:, 0] = rotated([p[0] + np.pi / 2]).ravel()
        J[0::2, 1] = J[1::2, 2] = 1
        return J

    return residuals, jacobian


@pytest.mark.parametrize("given", [False, True], ids=["differences", "jac"])
@pytest.mark.parametrize("shift, noise", [(0, 0), (1e-12, 0), (1e-9, 0), (0, 1e-9), (0, 1e-6), (1e-8, 1e-9)])
def test_an_answer_of_nearly_0_is_certified(shift, noise, given):
    residuals, jacobian = registration(shift, noise)
    for start in ([0.5, 0.3, 0.1], [0.3, 0.4, 0.1], [-0.2, 1, -1]):
        options = {"jac": jacobian} if given else {}
        found = nf.least_squares(residuals, start, **options)
        assert found.success, found.message
        assert np.allclose(found.x, [0, shift, shift], atol=5 * noise + 1e-14, rtol=0)


@pytest.mark.parametrize("answer", [408.94766113160284, 3.7, 0.02])
def test_a_start_far_above_the_answer_does_not_hide_rounding_inside_the_function(answer):
    t, offset = np.linspace(0.5, 3, 12), 1e8
    for draw in range(40):
        y = answer * t + 1e-14 * answer * np.random.default_rng(draw).normal(size=12)

        def residuals(p, y=y):
            return ((float(p[0]) + offset) - offset) * t - y

        fit = nf.least_squares(residuals, [1e5 * answer], jac=lambda p: t[:, None])
        minimum = t @ y / (t @ t)
        assert not fit.success or abs(fit.x[0] - minimum) <= 10 * fit.std_errors[0]


@pytest.mark.parametrize("start", [[6e-10, 2.6e-10], [1e-10, 1.04e-10]])
def test_a_forgotten_derivative_by_a_tiny_parameter_is_found(start):
    amplitude, sigma, delay = 1e-10, 1e-12, 1.3e-10
    rate, t = 2 * math.pi * 0.1 / delay, np.linspace(0, 30 * delay, 30)

    def model(p):
        return np.array([(p[0] + amplitude * math.sin(rate * (one - p[1]))) / sigma for one in t])

    y = model([3e-10, delay]) + np.cos(7 * np.arange(30))
    forgotten = np.column_stack([np.full(30, 1 / sigma), np.zeros(30)])
    fit = nf.least_squares(lambda p: model(p) - y, start, jac=lambda p: forgotten)
    assert not fit.success
    assert "column 1" in fit.message
