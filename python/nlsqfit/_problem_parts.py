"""Defines the groups of residual blocks of a Problem, and the result of its solve."""

from __future__ import annotations

import numpy as np

from . import _agreement
from ._fit_options import refuse_masked, refuse_other_kinds


def numbers_of(values):
    """Return the residuals that a function gave, as a vector."""
    refuse_masked(values, "the result of the function", "give numbers")
    refuse_other_kinds(values, "the result of the function")
    return np.array(values, dtype=float).reshape(-1)


class Group:
    """Residual blocks that were added together, and so have one function and many rows."""

    def __init__(self, function, arrays, indices, data, residuals, tape):
        self.function, self.arrays, self.indices = function, arrays, indices
        self.data, self.residuals, self.tape = data, residuals, tape
        self.count = len(indices[0])

    def blocks_of(self, number):
        return [a[i[number]].copy() for a, i in zip(self.arrays, self.indices)]

    def data_of(self, number):
        """Return copies, so that a function that changes its arguments changes nothing else."""
        return [np.array(d[number]) if d.ndim > 1 else d[number] for d in self.data]

    def called(self, number):
        """Return the function's residuals of one block."""
        return numbers_of(self.function(*self.blocks_of(number), *self.data_of(number)))

    def all_called(self):
        """Return the residuals of all blocks, from one call with vectors or one call for each block."""
        every = []
        try:
            blocks = [np.array(a[i].T, order="C") for a, i in zip(self.arrays, self.indices)]
            data = [np.array(d.T, order="C") for d in self.data]
            every = np.array(self.function(*blocks, *data), dtype=float).reshape(self.residuals, self.count).T
            some = np.linspace(0, self.count - 1, min(16, self.count)).astype(int)
            if all(_agreement.agree(every[i], self.called(i)) for i in some):
                return np.ascontiguousarray(every)
        except Exception:  # a function for single blocks may fail in any way for vectors
            pass
        return np.array([self.called(i) for i in range(self.count)])


class ProblemResult:
    """The result of `Problem.solve`. The parameters are in the caller's arrays.

    Attributes
    ----------
    success : bool
        Whether the answer is certified as a minimum.
    cost, initial_cost : float
        Half the sum of squares, with losses.
    iterations : int
    message, verdict : str
    evaluator : list of str
        For each call of `add`: "recorded", or why the function was called.
    """

    def __init__(self, result, evaluator):
        self._result = result
        self.success = bool(result.number("success"))
        self.cost, self.initial_cost = result.number("cost"), result.number("initial_cost")
        self.iterations = int(result.number("iterations"))
        self.message, self.verdict = result.text("message"), result.text("verdict")
        self.evaluator = evaluator

    def __str__(self):
        return self._result.report()

    def __repr__(self):
        return f"<ProblemResult {self.verdict}: cost {self.cost:.8g} after {self.iterations} steps>"
