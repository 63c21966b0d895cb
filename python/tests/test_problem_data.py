"""Tests that a Problem keeps the data and the settings that it was given."""

import math

import numpy as np
import nlsqfit as nf
import pytest


def recorded(a, x, y):
    return [a[0] * x - y]


def called(a, x, y):
    return [math.fsum([float(a[0]) * float(x), -float(y)])]


@pytest.mark.parametrize("function", [recorded, called])
def test_later_changes_of_data_and_indices_have_no_effect(function):
    blocks, x = np.ones((3, 1)), np.arange(8.0)
    buffer, index = np.empty(8), np.empty(8, dtype=int)
    problem = nf.Problem()
    for k in range(3):
        buffer[:], index[:] = (k + 1) * x, k
        problem.add(function, (blocks, index), data=[x, buffer])
    assert problem.solve().success
    assert np.allclose(blocks.ravel(), [1, 2, 3])


def measured(s, y):
    return [s[0] - y]


def halves(settings):
    """Return a problem whose settings were made before the last two rows were used, and its blocks."""
    blocks, problem = np.ones((4, 1)), nf.Problem()
    problem.add(measured, (blocks, [0, 1]), data=[[-1.0, -2.0]])
    settings(problem, blocks)
    problem.add(measured, (blocks, [2, 3]), data=[[-3.0, -4.0]])
    return problem, blocks


def test_settings_of_an_array_hold_for_rows_that_are_used_later():
    problem, blocks = halves(lambda p, b: p.set_bounds(b, lower=0.5))
    problem.solve()
    assert (blocks == 0.5).all()
    problem, blocks = halves(lambda p, b: p.set_constant(b))
    free = np.zeros(1)
    problem.add(measured, free, data=[[2.0]])
    problem.solve()
    assert (blocks == 1).all() and free == 2


def test_settings_of_an_array_leave_rows_alone_that_no_residual_uses():
    blocks, problem = np.array([[2.0], [np.nan]]), nf.Problem()
    problem.add(measured, blocks[0], data=[[-1.0]])
    problem.set_bounds(blocks, lower=0)
    assert problem.solve().success and blocks[0, 0] == 0


@pytest.mark.parametrize(
    "data, words",
    [(np.ma.masked_array([1, 1.1, 0.9, 1e6], mask=[0, 0, 0, 1]), "masked"), (np.array([1, 2j, 3, 4]), "complex")],
)
def test_masked_and_complex_data_are_refused(data, words):
    with pytest.raises(TypeError, match=words):
        nf.Problem().add(measured, np.ones(1), data=[data[:1] if words == "complex" else data])
    with pytest.raises(TypeError, match=words):
        nf.Problem().add(lambda s: data * s[0], np.ones(1))


def test_masked_blocks_and_lone_scales_are_refused():
    with pytest.raises(TypeError, match="masked"):
        nf.Problem().add(lambda s: s, np.ma.masked_array([1.0, 5.0], mask=[0, 1]))
    with pytest.raises(ValueError, match="f_scale is the scale of a robust loss"):
        nf.Problem().add(lambda s: s, np.ones(2), f_scale=2.0)
