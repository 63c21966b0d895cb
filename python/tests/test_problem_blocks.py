"""Tests parameter blocks of a Problem that overlap, arrays of blocks, parts of a block, and data of fit."""

import time

import numpy as np
import nlsqfit as nf
import pytest

MEASURED = np.array([4.0, 5.0, 6.0])


@pytest.fixture
def made():
    blocks, problem = np.ones((3, 2)), nf.Problem()
    problem.add(lambda v, t: [v[0] - t, v[1] - 2 * t], (blocks, np.arange(3)), data=[MEASURED])
    return blocks, problem


def test_bounds_of_an_array_are_those_of_all_its_blocks(made):
    blocks, problem = made
    problem.set_bounds(blocks, 0, [3, 9])
    problem.solve()
    assert np.allclose(blocks, [[3, 8], [3, 9], [3, 9]])


def test_all_blocks_of_an_array_are_held(made):
    blocks, problem = made
    other = np.zeros(1)
    problem.add(lambda o: [o[0] - 1], other)
    problem.set_constant(blocks)
    problem.solve()
    assert (blocks == 1).all() and np.allclose(other, 1)


def test_a_part_of_a_block_is_refused(made):
    blocks, problem = made
    for change in (problem.set_constant, lambda b: problem.set_bounds(b, 0, 3)):
        with pytest.raises(ValueError, match="another size"):
            change(blocks[1, :1])


def test_a_matrix_may_be_one_block():
    matrix, problem = np.zeros((2, 2)), nf.Problem()
    problem.add(lambda m: [m[0] - 1, m[1] - 2, m[2] - 3, m[3] - 4], matrix)
    problem.set_bounds(matrix, upper=3.5)
    problem.solve()
    assert np.allclose(matrix, [[1, 2], [3, 3.5]])


def test_blocks_that_overlap_are_refused():
    numbers, problem = np.ones(3), nf.Problem()
    problem.add(lambda v: [v[0] - 1, v[1] - 2], numbers[:2])
    for other in (numbers[1:], numbers, numbers[:1]):
        with pytest.raises(ValueError, match="shares numbers"):
            problem.add(lambda v: [v[0] - 5], other)


def test_an_array_of_blocks_has_two_axes_and_indices_are_integers():
    problem = nf.Problem()
    with pytest.raises(ValueError, match="count, size"):
        problem.add(lambda v: [v[0]], (np.ones((2, 2, 2)), [0, 1]))
    with pytest.raises(TypeError, match="integers"):
        problem.add(lambda v: [v[0]], (np.ones((2, 1)), [0.7, 1.2]))


def test_a_function_must_give_as_many_residuals_each_time():
    blocks, problem = np.ones((2, 1)), nf.Problem()
    problem.add(lambda v, t: [float(v[0]) - t] * int(t), (blocks, [0, 1]), data=[[2.0, 1.0]])
    with pytest.raises(ValueError, match="1 residuals where 2"):
        problem.solve()


def test_many_blocks_are_declared_fast():
    blocks, problem, start = np.ones((20_000, 1)), nf.Problem(), time.perf_counter()
    problem.add(lambda v: [v[0] - 2], (blocks, np.arange(20_000)[::-1]))
    assert time.perf_counter() - start < 20


X = np.linspace(0, 4, 60)


@pytest.mark.parametrize(
    "arguments, error, words",
    [
        (dict(y=X + 1j), TypeError, "complex"),
        (dict(y=np.ma.masked_array(X, X < 1)), TypeError, "masked"),
        (dict(y=X, sigma=np.ones(7)), ValueError, "sigma has shape"),
        (dict(y=X, bounds=([0, 0, 0], [1, 1, 1])), ValueError, "2 parameters"),
    ],
)
@pytest.mark.parametrize("model", ["a*x+b", lambda x, a, b: a * x + b], ids=["text", "function"])
def test_what_fit_would_lose_in_silence(model, arguments, error, words):
    with pytest.raises(error, match=words):
        nf.fit(model, X, **arguments)


def test_a_band_elsewhere_does_not_take_the_errors_of_the_data_row_by_row():
    sigma = 0.05 + 0.05 * X
    fit = nf.fit("a*x+b", X, 2 * X + 1 + sigma * np.sin(9 * X), sigma=sigma, absolute_sigma=True)
    with pytest.warns(nf.OptimizeWarning, match="differs by row"):
        one, many = (fit.predict(np.full(n, 2.0), band=True) for n in (3, X.size))
    assert np.allclose(many.confidence[1], one.confidence[1][0])
    assert np.isnan(many.prediction[1]).all() and np.isnan(one.prediction[1]).all()
