"""nlsqfit: nonlinear least squares with certified answers, for NumPy."""

from ._bootstrap import Bootstrap, BootstrapEstimate
from ._curve_fit import curve_fit
from ._fit import fit
from ._fit_many import ManyFits, fit_many
from ._fit_models import builtin_models
from ._fit_result import Certificate, Fit, Parameter, Prediction
from ._intervals import ProfileInterval, Quantity
from ._least_squares import LeastSquaresResult, least_squares
from ._library import LibraryError
from ._library import version as _version
from ._problem import Problem
from ._problem_parts import ProblemResult
from ._scipy_words import OptimizeWarning
from ._sums import SumsStep, partial_sums, solve_sums

__version__ = _version()
__all__ = [
    "Bootstrap", "BootstrapEstimate", "Certificate", "Fit", "LeastSquaresResult", "LibraryError", "ManyFits",
    "OptimizeWarning", "Parameter", "Prediction", "Problem", "ProblemResult", "ProfileInterval", "Quantity",
    "SumsStep", "builtin_models", "curve_fit", "fit", "fit_many", "least_squares", "partial_sums", "solve_sums",
]  # fmt: skip
