"""Defines the tape, which lists the operations of a model for one row. Each uses results of earlier ones."""

from __future__ import annotations


class Tape:
    """A list of operations. Equal operations are stored once.

    Each entry is ``(name, operand, operand, ...)``; the leaves are ``("constant", value)``,
    ``("column", index)`` and ``("parameter", index)``. Names are those of formulas.
    """

    def __init__(self, predictors=()):
        self.entries = []
        self._table = {}
        self.columns = list(predictors)  # float64 arrays with one entry for each row
        self._first_column = len(self.columns)  # after the predictors

    def append(self, *entry):
        key = entry
        if entry[0] == "constant":
            key = ("constant", repr(entry[1]))
        found = self._table.get(key)
        if found is None:
            found = self._table[key] = len(self.entries)
            self.entries.append(entry)
        return found

    def constant(self, value):
        return self.append("constant", float(value))

    def parameter(self, index):
        return self.append("parameter", index)

    def column(self, values):
        """Return the leaf for a column of numbers. Columns with the same numbers are one.

        It is never one with a predictor. The curve is differentiated by predictors, because they have errors,
        and other numbers are exact although they may be the same.
        """
        for index in range(self._first_column, len(self.columns)):
            known = self.columns[index]
            if known is values or (
                known[0] == values[0] and known[-1] == values[-1] and (known == values).all()
            ):
                return self.append("column", index)
        self.columns.append(values)
        return self.append("column", len(self.columns) - 1)

    def value(self, node):
        """Return the number of a constant, or None for any other entry."""
        entry = self.entries[node]
        return entry[1] if entry[0] == "constant" else None

    # Lowering uses these short names.

    def add(self, a, b):
        return self.append("+", a, b)

    def sub(self, a, b):
        return self.append("-", a, b)

    def mul(self, a, b):
        return self.append("*", a, b)

    def div(self, a, b):
        return self.append("/", a, b)

    def neg(self, a):
        return self.append("-", a)
