"""Models as people write them in NumPy, taken from papers, manuals and textbooks of their fields.

``MODELS`` lists them all. Each has data `x` and parameters `p` that make sense. Its `hard` is true if the
model leaves what a tape can express (it has an integrator, a loop over elements, interpolation ...).
"""

from .registry import MODELS, Entry
from . import (
    chemistry,
    hard,
    instruments,
    life,
    peaks,
    physics,
    programming,
)  # noqa: F401  (they register their models)

__all__ = ["MODELS", "Entry"]
