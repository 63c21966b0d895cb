"""Holds the list of models, and the decorator that adds to it."""

from dataclasses import dataclass
from typing import Any, Callable

import numpy as np

MODELS = []


@dataclass(frozen=True)
class Entry:
    """Holds a model with data and parameters."""

    name: str
    function: Callable
    x: Any
    p: np.ndarray
    hard: bool

    @property
    def y(self):
        """Return the values of the model, without noise."""
        return np.asarray(self.function(self.x, *self.p), dtype=float)


def model(p, x=None, hard=False):
    """Registers a function as a model of the corpus."""
    if x is None:
        x = np.linspace(0.1, 5, 60)

    def register(function):
        MODELS.append(Entry(function.__name__, function, x, np.asarray(p, dtype=float), hard))
        return function

    return register
