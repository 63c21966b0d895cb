"""Runs SciPy's own tests of curve_fit and least_squares with the functions of nlsqfit in place of SciPy's.

``python scipy_suite.py`` runs them all from the installed SciPy and prints which pass. EXPECTED lists the
tests of how SciPy searches, and not of what it finds, with the reason.
"""

import sys
import types

import nlsqfit
import pytest
import scipy.optimize
import scipy.optimize.tests.test_least_squares as of_least_squares
import scipy.optimize.tests.test_minpack as of_minpack

_NFEV = "counts evaluations of SciPy's own search, which ours need not equal"
_EXACT = "the minimum has a derivative of 0, where only SciPy's steps end in exactly 0 or in so few steps"
EXPECTED = {
    "TestCurveFit::test_gh4555b": "the reference is SciPy's answer by differences, 2e-6 beside the exact one",
    "test_numerical_jac": _NFEV,
    "test_nfev_options": _EXACT,
    "test_x_scale_options": _EXACT,
    "test_full_result": _EXACT,
    "test_options": _EXACT,
    "test_bvp": "SciPy stops early there, by ftol=1e-2; ours goes on to a minimum, in more steps than the test allows",
    "test_nfev": _NFEV,
    "test_workers": "wants the bits of a solve without workers; with them SciPy solves",
    "test_gh13670": "forbids two calls in a row at one point; ours compares values there",
    "test_gh_18793_and_19351": "wants the status of the test of the gradient; ours ends by another one",
    "test_robustness": "losses that are not convex have several minima; it asks for a certain one",
}  # fmt: skip


def reason(nodeid):
    """Return why a test may fail with nlsqfit's functions; None if it must pass."""
    for name, text in EXPECTED.items():
        if nodeid.endswith("::" + name) or nodeid.endswith(name):
            return text
    return None


def put_ours_in_place():
    """Makes the tests' modules call nlsqfit."""
    of_minpack.curve_fit = nlsqfit.curve_fit
    of_least_squares.least_squares = nlsqfit.least_squares
    names = {
        name: getattr(scipy.optimize, name) for name in dir(scipy.optimize) if not name.startswith("__")
    }
    of_minpack.optimize = types.SimpleNamespace(**{**names, "curve_fit": nlsqfit.curve_fit})


class _Chosen:
    """Keeps the tests of the two functions, and counts their outcomes."""

    def __init__(self):
        self.passed, self.failed = [], []

    def pytest_collection_modifyitems(self, items):
        items[:] = [i for i in items if "TestCurveFit" in i.nodeid or "test_least_squares" in i.nodeid]

    def pytest_runtest_logreport(self, report):
        if report.when == "call" and report.outcome != "skipped":
            (self.passed if report.passed else self.failed).append(report.nodeid.split("/")[-1])


def run(*arguments):
    put_ours_in_place()
    chosen = _Chosen()
    files = [of_minpack.__file__, of_least_squares.__file__]
    options = ["-q", "--tb=no", "--no-header", "-p", "no:cacheprovider", "-W", "ignore"]
    pytest.main([*options, *arguments, *files], plugins=[chosen])
    return chosen


if __name__ == "__main__":
    outcome = run(*sys.argv[1:])
    wrong = [n for n in outcome.failed if reason(n) is None]
    for name in outcome.failed:
        print(f"{name}: {reason(name) or 'NOT EXPECTED'}")
    print(
        f"{len(outcome.passed)} pass, {len(outcome.failed)} do not, {len(wrong)} of them without a reason"
    )
    sys.exit(1 if wrong else 0)
