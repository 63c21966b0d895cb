"""Provides Problem, whose residual blocks each depend on a few parameter blocks, as in bundle adjustment."""

from __future__ import annotations

from bisect import bisect_left
from ctypes import byref, c_double, c_void_p

import numpy as np

from . import _agreement
from ._callback import Interrupts, solve, vector_at
from ._fit_options import SOLVER, refuse_lone_scale, refuse_masked, refuse_other_kinds, unknown_option
from ._handles import Options, columns_of, make_tape
from ._library import BlockFunction, check, lib
from ._problem_parts import Group, ProblemResult
from .recording.blocks import record_block


def _restore(start):
    for matrix, values in start:
        matrix[...] = values


class Problem:
    """Minimizes half the sum of the squared residuals of all blocks, for least squares of any structure.

    Parameter blocks are rows of the caller's arrays of float64; `solve` writes the answer into them.

    Examples
    --------
    >>> import numpy as np, nlsqfit as nf
    >>> a, b = np.array([0.5]), np.array([3.0, 1.0])
    >>> problem = nf.Problem()
    >>> problem.add(lambda a, b: [10 - a[0] * b[0], a[0] - 2, b[1] - 4], a, b)
    >>> print(problem.solve().success, np.round(a, 6), np.round(b, 6))
    True [2.] [5. 4.]
    """

    def __init__(self):
        handle = c_void_p()
        check(lib.nlsq_problem_new(byref(handle)))
        self._handle, self._groups, self._keep, self._declared = handle, [], [], {}
        self._settings = {}  # of blocks that no residual uses so far, by address and size
        self._addresses_in_order, self._evaluators = [], []
        self.error, self.interrupts = None, Interrupts()

    def __del__(self):
        handle, self._handle = getattr(self, "_handle", None), None
        if handle is not None:
            lib.nlsq_problem_free(handle)

    def add(self, residual, *blocks, data=(), loss="linear", f_scale=1.0):
        """Add one residual block, or many that have the same function.

        Parameters
        ----------
        residual : callable
            ``residual(block, ..., number, ...)`` gives a vector of residuals. It gets one vector for each
            parameter block, and one entry (or row) of each array in `data`.
        *blocks : ndarray, shape (size,), or tuple (ndarray of shape (count, size), index of shape (K,))
            A parameter block, or many blocks as rows of an array, with the row that each of the K residual
            blocks uses. Arrays must be C-contiguous float64, because `solve` changes them.
        data : sequence of array_like, shape (K, ...)
            Measurements, one entry for each residual block.
        loss, f_scale : str, float
            Robust loss of the squared norm of a block's residuals, and its scale.
        """
        refuse_lone_scale(loss, f_scale)
        arrays, indices = self._take(blocks)
        if not len(indices[0]):
            return  # there are no residual blocks
        for d in data:
            refuse_masked(d, "data", "leave the residual blocks of masked entries out")
            refuse_other_kinds(d, "data")
        data = [np.array(d, dtype=float) for d in data]  # copies, which later changes by the caller do not reach
        for d in data:
            if d.ndim == 0 or len(d) != len(indices[0]):
                raise ValueError(
                    f"data has shape {d.shape}; its first length must be {len(indices[0])}, the number of blocks"
                )
        group = Group(residual, arrays, indices, data, None, None)
        group.residuals = group.called(0).size
        recording = record_block(
            residual, [a.shape[1] for a in arrays], [d.shape[1:] for d in data], group.residuals
        )
        if not isinstance(recording, str):
            entries, outputs = recording
            tape = make_tape(entries, outputs)
            try:
                recording = self._add_tape(group, tape, loss, f_scale)
            finally:
                lib.nlsq_tape_free(tape)
        if isinstance(recording, str):
            self._add_called(group, loss, f_scale)
            self._evaluators.append("called: " + recording)
        else:
            self._evaluators.append("recorded")
        self._groups.append(group)

    def _take(self, blocks):
        """Declares the parameter blocks to the library. Returns their arrays and the rows that are used."""
        arrays, indices = [], []
        count = max([len(b[1]) for b in blocks if isinstance(b, tuple)], default=1)
        for block in blocks:
            array, index = block if isinstance(block, tuple) else (block, np.zeros(count, dtype=np.intp))
            if (
                not isinstance(array, np.ndarray)
                or array.dtype != np.float64
                or not array.flags.c_contiguous
                or not array.flags.writeable
            ):
                raise TypeError("a parameter block must be a writeable C-contiguous array of float64")
            refuse_masked(array, "a parameter block", "hold numbers constant by set_manifold, or by bounds")
            if np.asarray(index).dtype.kind not in "iu" and len(index):
                raise TypeError("the index of a parameter block must be integers")
            index = np.array(index, dtype=np.intp)
            if isinstance(block, tuple) and array.ndim != 2:
                raise ValueError(f"an array of blocks has shape {array.shape}; (count, size) is wanted")
            if len(index) != count:
                raise ValueError(f"one index has {len(index)} entries, another {count}")
            matrix = array if isinstance(block, tuple) else array.reshape(1, -1)
            if index.size and (index.min() < 0 or index.max() >= len(matrix)):
                raise IndexError(f"an index is outside the {len(matrix)} rows of its array")
            arrays.append(matrix)
            indices.append(index)
            for row in np.unique(index):
                self._declare(matrix, row)
        if not arrays:
            raise ValueError("a residual block needs at least one parameter block")
        return arrays, indices

    def _declare(self, matrix, row):
        address = matrix.ctypes.data + int(row) * matrix.strides[0]
        size = matrix.shape[1]
        if self._declared.get(address) == size:
            return
        at = bisect_left(self._addresses_in_order, address)
        before, after = self._addresses_in_order[at - 1 : at], self._addresses_in_order[at : at + 1]
        if any(b + 8 * self._declared[b] > address for b in before) or any(
            a < address + 8 * size for a in after
        ):
            raise ValueError("this parameter block shares numbers with another one, but is not the same")
        self._addresses_in_order.insert(at, address)
        check(lib.nlsq_problem_add_parameters(self._handle, address, size))
        self._declared[address] = size
        self._keep.append(matrix)
        for call in self._settings.pop((address, size), {}).values():
            check(call(address))

    @staticmethod
    def _addresses(group):
        parts = [a.ctypes.data + i * a.strides[0] for a, i in zip(group.arrays, group.indices)]
        return np.ascontiguousarray(np.stack(parts, axis=1).astype(np.uintp))

    def _add_tape(self, group, tape, loss, f_scale):
        """Adds the blocks of a tape if it gives what the function gives. Otherwise returns the reason."""
        columns = [c for d in group.data for c in d.reshape(group.count, -1).T]
        addresses, keep = self._addresses(group), []
        trial = Problem()
        for array, index in zip(group.arrays, group.indices):
            for row in np.unique(index):
                trial._declare(array, row)
        for problem in (trial, self):
            check(
                lib.nlsq_problem_add_tape(
                    problem._handle, tape, columns_of(columns, keep), len(columns), group.count, loss.encode(),
                    float(f_scale), addresses.ctypes.data, addresses.shape[1],
                )  # fmt: skip
            )
            if problem is trial:
                recorded = trial._residuals(group.count * group.residuals)
                if not _agreement.agree(recorded, group.all_called().reshape(-1)):
                    return "its recording gives other values than the function at the start"
        return None

    def _residuals(self, count):
        """Return the residuals at the present values, without losses, in the order of `add`."""
        cost, residuals = c_double(), np.empty(count)
        check(lib.nlsq_problem_evaluate(self._handle, byref(cost), residuals.ctypes.data, count))
        return residuals

    def _add_called(self, group, loss, f_scale):
        sizes = [a.shape[1] for a in group.arrays]

        def fill(blocks, residuals, number):
            pointers = (c_void_p * len(sizes)).from_address(blocks)
            values = [vector_at(p, n).copy() for p, n in zip(pointers, sizes)]
            at = (number or 0) - 1
            out = group.function(*values, *group.data_of(at))
            out = np.asarray(out, dtype=float).reshape(-1)
            if out.size != group.residuals:
                wanted = f"where {group.residuals} are wanted"
                raise ValueError(f"the function gives {out.size} residuals {wanted}")
            vector_at(residuals, group.residuals)[:] = out

        def called(blocks, residuals, _jacobians, number):
            self.error = self.interrupts.call(fill, blocks, residuals, number)
            return 0 if self.error is None else -1

        pointer = BlockFunction(called)
        self._keep.append(pointer)
        addresses = self._addresses(group)
        for number in range(group.count):
            row = addresses[number]
            check(
                lib.nlsq_problem_add_callback(
                    self._handle, pointer, number + 1, 0, group.residuals, loss.encode(), float(f_scale),
                    row.ctypes.data, row.size,
                )  # fmt: skip
            )

    def _blocks(self, block):
        """Return the address of a parameter block, or those of the blocks that are the rows of an array."""
        array = np.asarray(block)
        whole = array.ndim != 2 or self._declared.get(array.ctypes.data) == array.size
        rows = array.reshape(1, -1) if whole else array
        first, step = rows.ctypes.data, rows.strides[0]
        addresses = [first + i * step for i in range(len(rows))]
        known = [a for a in addresses if a in self._declared]
        if not known or array.dtype != np.float64:
            raise ValueError(
                "this array is no parameter block of the problem: add a residual that uses it first"
            )
        size = rows.shape[1]
        if any(self._declared[a] != size for a in known):
            raise ValueError(f"this array has {size} numbers, and its parameter block has another size")
        return addresses, size

    def _set(self, addresses, size, what, call):
        """Apply a setting to parameter blocks, now or when a residual uses them for the first time."""
        for address in addresses:
            if address in self._declared:
                check(call(address))
            else:
                self._settings.setdefault((address, size), {})[what] = call

    def set_constant(self, block, constant=True):
        """Hold a parameter block constant: an array, a row of one, or all rows of an array of blocks."""
        self._set(
            *self._blocks(block), "constant",
            lambda address: lib.nlsq_problem_set_constant(self._handle, address, int(constant)),
        )  # fmt: skip

    def set_bounds(self, block, lower=None, upper=None):
        """Set bounds of a block, or of all blocks of an array. None means no bound on that side."""
        addresses, size = self._blocks(block)
        sides = [
            None if b is None else np.ascontiguousarray(np.broadcast_to(b, (size,)), dtype=float)
            for b in (lower, upper)
        ]

        def call(address):
            pointers = [None if s is None else s.ctypes.data for s in sides]
            return lib.nlsq_problem_set_bounds(self._handle, address, *pointers)

        self._set(addresses, size, "bounds", call)

    def set_manifold(self, block, manifold):
        """Set the manifold of a block: "quaternion", "sphere 3", "quaternion + euclidean 3" ..."""
        self._set(
            *self._blocks(block), "manifold",
            lambda address: lib.nlsq_problem_set_manifold(self._handle, address, manifold.encode()),
        )  # fmt: skip

    @property
    def cost(self):
        """Return the cost at the present values."""
        value = c_double()
        check(lib.nlsq_problem_evaluate(self._handle, byref(value), None, 0))
        return value.value

    def solve(self, **options):
        """Minimize the cost, and write the answer into the parameter blocks.

        Parameters
        ----------
        **options
            Options of the library by name, such as `max_iterations`, `precision`, `threads`.

        Returns
        -------
        ProblemResult
        """
        allowed = (*SOLVER, "step_solver", "preconditioner", "eta", "max_linear_iterations")
        wrong = [name for name in options if name not in allowed]
        if wrong:
            raise unknown_option(wrong[0], allowed)
        settings = Options(**options)
        called = any(e != "recorded" for e in self._evaluators)
        if called:
            settings.set("threads", 1)  # Python runs only one function at a time
        start = [
            (m, m.copy()) for m in {id(m): m for m in self._keep if isinstance(m, np.ndarray)}.values()
        ]
        try:
            result = solve(
                lib.nlsq_problem_solve, self._handle, options=settings, user=self if called else None,
                rows=sum(g.count for g in self._groups) * 100,
            )  # fmt: skip
        except BaseException:
            _restore(start)
            raise
        self._compare_at_answer(start)
        return ProblemResult(result, list(self._evaluators))

    def _compare_at_answer(self, start):
        """Raises RuntimeError if a recording gives other values than its function at the answer."""
        residuals = self._residuals(sum(g.count * g.residuals for g in self._groups))
        at = 0
        for evaluator, group in zip(self._evaluators, self._groups):
            recorded = residuals[at : at + group.count * group.residuals]
            at += recorded.size
            if evaluator == "recorded" and not _agreement.agree(recorded, group.all_called().reshape(-1)):
                _restore(start)
                raise RuntimeError(
                    f"the recording of {group.function!r} gives other values than the function at the answer: it "
                    "depends on something besides its arguments. The parameters are those of the start."
                )

    def raise_error(self):
        """Raises the exception of a residual function, if one stopped the solve."""
        error, self.error = self.error, None
        if error is not None:
            raise error
