"""Arranges the data of `fit_many` as fits x rows, and converts its other arguments."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ._fit_options import (
    check_starts, function_data, known, named_parts, predictors, refuse_other_kinds, start_values, tied_names,
    with_parts,
)  # fmt: skip

VERDICTS = ("CONVERGED", "NOISE_FLOOR", "RANK_DEFICIENT", "TOLERANCE", "BUDGET", "FAILED")  # in the library's order


class ManyData:
    """Y as fits x rows, with its shape and its mask.

    Attributes
    ----------
    Y : ndarray, shape (fits, rows)
    shape : tuple
        The shape of Y as it was given, without its axis of data.
    hidden : ndarray of bool, shape (fits, rows), or None
        True where a masked array hides a value.
    """

    def __init__(self, Y, axis):
        refuse_other_kinds(Y, "Y")
        if np.ndim(Y) == 0:
            raise ValueError("Y is one number or none; give an array with the data of a fit along an axis")
        self.axis, self.given = axis, np.shape(Y)
        hidden = np.ma.getmaskarray(Y) if np.ma.isMaskedArray(Y) else None
        Y = np.moveaxis(np.asarray(Y), axis, -1)
        self.shape, self.rows = Y.shape[:-1], Y.shape[-1]
        self.fits = int(np.prod(self.shape, dtype=int))
        if self.rows == 0:
            raise ValueError(f"Y has shape {self.given}: there are no data along axis {axis}")
        self.Y = Y.reshape(self.fits, self.rows)
        self.hidden = None if hidden is None else np.moveaxis(hidden, axis, -1).reshape(self.Y.shape)

    def spread(self, values, what, of_fits=False):
        """Return one vector for all fits, or fits x rows. `of_fits` also allows one number for each fit."""
        values = np.asarray(values)
        if values.ndim == 0:
            return np.full(self.rows, values[()])
        if of_fits and values.shape == (self.rows,) == self.shape:
            raise ValueError(
                f"{what} has shape {values.shape}, which may mean the rows of all fits or whole fits; "
                f"give it in the shape {self.given}"
            )
        if values.shape == (self.rows,):
            return values
        if of_fits and values.shape == self.shape:
            return np.repeat(values.reshape(-1, 1), self.rows, axis=1)
        if values.shape != self.given:
            raise ValueError(f"{what} has shape {values.shape}; ({self.rows},) or {self.given} is wanted")
        return np.moveaxis(values, self.axis, -1).reshape(self.fits, self.rows)

    def mask(self, mask):
        """Return True where a value is left out, in the form of `spread`; None if all values are used."""
        if mask is None:
            return self.hidden
        mask = np.asarray(mask)
        if mask.dtype.kind not in "biu":
            raise TypeError(f"mask is of {mask.dtype}; give True where a value takes no part, else False")
        mask = self.spread(mask.astype(bool), "mask", of_fits=True)
        return mask if self.hidden is None else mask | self.hidden

    def starts(self, p0, names, fixed, ties):
        """Return starting values, n or fits x n, with NaN where none is given and for tied parameters."""
        starts = self._given_starts(p0, names, fixed)
        check_starts(starts, names)
        for name in tied_names(ties):
            given = starts[..., names.index(name)] if name in names else np.nan
            if not np.isnan(given).all():
                instead = "give NaN, or starts by name"
                raise ValueError(f"p0: {name} is tied and has no start of its own: {instead}")
        return starts

    def _given_starts(self, p0, names, fixed):
        if isinstance(p0, Mapping) and any(np.ndim(value) > 0 for value in p0.values()):
            p0 = self._of_each_fit(p0, names)
        if p0 is None or isinstance(p0, Mapping):
            return start_values(p0, names, fixed)
        p0 = np.atleast_1d(np.asarray(p0, dtype=float))
        if p0.ndim == 1:
            return start_values(p0, names, fixed)
        if p0.shape != (*self.shape, len(names)):
            raise ValueError(
                f"p0 has shape {p0.shape}; ({len(names)},) or {(*self.shape, len(names))} is wanted"
            )
        starts = np.array(p0.reshape(-1, len(names)))
        of_all = start_values(None, names, fixed)  # the values at which parameters are fixed
        starts[:, ~np.isnan(of_all)] = of_all[~np.isnan(of_all)]
        return starts

    def _of_each_fit(self, p0, names):
        """Return starts by name as an array, if some of them have a number for each fit."""
        starts = np.full((*self.shape, len(names)), np.nan)
        for name, value in p0.items():
            if np.ndim(value) > 0 and np.shape(value) != self.shape:
                wanted = f"one number or {self.shape} is wanted"
                raise ValueError(f"p0[{name!r}] has shape {np.shape(value)}; {wanted}")
            starts[..., known(name, names)] = value
        return starts

    def columns(self, x):
        """Return the names of a formula's predictors, and for each a vector or fits x rows."""
        parts = named_parts(x)
        if parts is not None:
            for name, values in parts.items():
                refuse_other_kinds(values, f"x[{name!r}]")
            return list(parts), [self.spread(v, f"x[{k!r}]") for k, v in parts.items()]
        if isinstance(x, tuple):
            for number, values in enumerate(x):
                refuse_other_kinds(values, f"x{number + 1}")
            return None, [self.spread(v, "x") for v in x]
        refuse_other_kinds(x, "x")
        x = np.asarray(x)
        if x.ndim <= 1 or x.shape == self.given:
            return None, [self.spread(x, "x")]
        return None, [self.spread(v, "x") for v in predictors(x)[1]]

    def arguments(self, x):
        """Return the x of a function, with `ForEach` in place of each array that has the shape of Y."""
        return self._for_each(function_data(x))

    def _for_each(self, x):
        if isinstance(x, np.ndarray):
            if x.ndim > 1 and x.shape == self.given:
                return ForEach(np.moveaxis(x, self.axis, -1).reshape(self.fits, self.rows))
            return x
        return with_parts(x, self._for_each)


class ForEach:
    """Holds an array of x with a row for each fit."""

    def __init__(self, values):
        self.values = values


def differs(x):
    """Return True if a function's x, or a part of it, has other numbers for each fit."""
    if isinstance(x, Mapping):
        return any(map(differs, x.values()))
    return any(map(differs, x)) if isinstance(x, tuple) else isinstance(x, ForEach)


def chosen(x, choose):
    """Return a function's x with ``choose(values)`` in place of each array that differs between fits."""
    return choose(x.values) if isinstance(x, ForEach) else with_parts(x, lambda part: chosen(part, choose))


def values_of(function, x, p, rows):
    """Return what the function gives for the x of one fit, and whether that is float32."""
    values = function(x, *p)
    if values is None:
        raise TypeError("the model gives None; it must return its values")
    values = np.asarray(values)
    if values.dtype.kind == "c":
        raise ValueError("the model gives complex values; fit their real and imaginary parts side by side")
    if values.size not in (1, rows):
        given = f"{values.size} values (shape {values.shape})"
        raise ValueError(f"the model gives {given} for {rows} data values")
    single = values.dtype == np.float32
    values = np.asarray(values, dtype=float).reshape(-1)
    return values if values.size == rows else np.broadcast_to(values, (rows,)), single
