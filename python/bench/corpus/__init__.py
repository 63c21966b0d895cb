"""Models as people write them in NumPy, after papers, manuals and textbooks of their fields.

``MODELS`` lists them all. Each has data `x`, parameters `p` that make sense, and `hard`: whether it
leaves what a tape can express (an integrator, a loop over elements, interpolation ...).
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
