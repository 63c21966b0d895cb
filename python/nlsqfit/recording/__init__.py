"""Records NumPy models as tapes (see ``record.py``)."""

from .record import NOT_FINITE, Recording, guarded, record

__all__ = ["NOT_FINITE", "Recording", "guarded", "record"]
