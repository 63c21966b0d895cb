"""Counts how often a function is called that can only be called, by nlsqfit and by SciPy's least_squares.

Usage: calls.py. The problems are those of tests/accuracy/loss_bounds_scipy.json: eight curves with every kind
of bounds, under each loss that SciPy has. SciPy runs twice, with its default tolerances of 1e-8 and with 1e-12.
"""

import json
import pathlib

import numpy as np
import nlsqfit as nf
import scipy.optimize

PROBLEMS = pathlib.Path(__file__).parents[2] / "tests/accuracy/loss_bounds_scipy.json"

MODELS = {
    "decay": lambda x, p: p[0] * np.exp(-p[1] * x) + p[2],
    "saturation": lambda x, p: p[0] * x / (p[1] + x),
    "peak": lambda x, p: p[0] * np.exp(-(((x - p[1]) / p[2]) ** 2)) + p[3],
    "logistic": lambda x, p: p[0] / (1 + np.exp(-(x - p[1]) / p[2])),
    "wave": lambda x, p: p[0] * np.sin(p[1] * x + p[2]) + p[3],
    "growth": lambda x, p: p[0] * (1 - np.exp(-p[1] * x)),
    "ratio": lambda x, p: (p[0] + p[1] * x) / (1 + p[2] * x),
    "two": lambda x, p: p[0] * np.exp(-p[1] * x) + p[2] * np.exp(-p[3] * x),
}


def numbers(values, instead):
    return np.array([instead if v is None else v for v in values])


def calls(solve, data, problem, lower, upper, **tolerances):
    """Return how often the function was called, and whether the fit succeeded."""
    count = 0

    def residuals(p):
        nonlocal count
        count += 1
        p = np.array([float(v) for v in p])  # float() cannot be recorded
        return MODELS[problem["set"]](data["x"], p) - data["y"]

    start = np.clip(problem["start"], lower, upper)
    if solve is scipy.optimize.least_squares:  # which starts inside of the bounds only
        start = np.clip(start, np.nextafter(lower, upper), np.nextafter(upper, lower))
    fit = solve(
        residuals,
        start,
        bounds=(lower, upper),
        loss=problem["loss"],
        f_scale=problem["scale"],
        **tolerances,
    )
    return count, fit.success


def main():
    recorded = json.loads(PROBLEMS.read_text())
    sets = {
        s["name"]: {"x": np.array(s["x"]), "y": np.array(s["y"])} for s in recorded["sets"]
    }
    tight = {"xtol": 1e-12, "ftol": 1e-12, "gtol": 1e-12}
    found = {}
    for problem in recorded["problems"]:
        lower, upper = numbers(problem["lower"], -np.inf), numbers(problem["upper"], np.inf)
        if problem["loss"] == "tukey" or np.any(lower == upper):
            continue  # SciPy has no such loss, and fixes no parameter
        data = sets[problem["set"]]
        row = [
            calls(nf.least_squares, data, problem, lower, upper),
            calls(scipy.optimize.least_squares, data, problem, lower, upper),
            calls(scipy.optimize.least_squares, data, problem, lower, upper, **tight),
        ]
        found.setdefault(problem["loss"], []).append(row)
    print("median calls, largest number of calls and fits without success")
    print(f"{'loss':8} {'fits':>4}  {'nlsqfit':>15} {'SciPy':>15} {'SciPy, 1e-12':>15}")
    for loss, rows in found.items():
        count, success = np.array([[c for c, _ in r] for r in rows]), np.array([[s for _, s in r] for r in rows])
        columns = [
            f"{np.median(count[:, k]):6.0f} {count[:, k].max():5d} {np.sum(~success[:, k]):2d}" for k in range(3)
        ]
        print(f"{loss:8} {len(rows):4}  " + " ".join(f"{c:>15}" for c in columns))


if __name__ == "__main__":
    main()
