"""Recording of NumPy models as tapes (see ``record.py``)."""

from .record import Recording, guarded, record

__all__ = ["Recording", "guarded", "record"]
