#!/usr/bin/env python3
"""Solves NIST's problems with bounds by SciPy's least_squares, and writes bounded_scipy.json.

Each of the 27 sets is fitted from its second start, with three kinds of bounds:
  one   one parameter may go half the way from its start to NIST's value: its bound holds at the end
  two   two other parameters are bounded in this way, and all have a wide box besides
  box   all have a box around NIST's value that contains the start: no bound holds at the end

method='trf' (and 'dogbox' where trf gives up) finds the minimum, with xtol = ftol = gtol = 1e-15 and complex-step
derivatives. Its iterates lie strictly inside the bounds, so a parameter that a bound limits ends a little short of it. Such
a parameter, if it is within 1e-6 of the box's width of a bound and the gradient pushes it there, is put on the bound, and
the others are solved for once more by method='lm'. A result is kept if it satisfies the first-order conditions with a
Gauss-Newton step below 1e-9 of every parameter, and if both methods agree on the active set.

python3 tests/accuracy/bounded_scipy.py > tests/accuracy/bounded_scipy.json
"""
import csv
import json
import pathlib
import sys
import warnings

import numpy as np
from scipy.optimize import least_squares

warnings.filterwarnings("ignore")
folder = pathlib.Path(__file__).resolve().parents[2] / "data" / "nist"
functions = {"exp": np.exp, "cos": np.cos, "sin": np.sin, "atan": np.arctan, "log": np.log, "pi": np.pi}


def problem(entry):
    with open(folder / entry["file"]) as stream:
        rows = list(csv.reader(stream))
    data = {name.strip(): np.array([float(r[i]) for r in rows[1:]]) for i, name in enumerate(rows[0])}
    y = np.log(data["y"]) if entry["response"] != "y" else data["y"]
    code = compile(entry["formula"].replace("^", "**"), entry["name"], "eval")

    def residuals(p):
        return eval(code, {"__builtins__": {}}, {**functions, **data, **dict(zip(entry["parameters"], p))}) - y

    return residuals


def jacobian(fun, p):
    J = np.empty((len(fun(p)), len(p)))
    for j in range(len(p)):
        h = 1e-30 * max(1e-200, abs(p[j]))
        q = p.astype(complex)
        q[j] += 1j * h
        J[:, j] = fun(q).imag / h
    return J


def gauss_newton(fun, p, free):
    """Return the Gauss-Newton step and the gradient, with columns scaled to unit length."""
    J, r = jacobian(fun, p), fun(p)
    D = np.linalg.norm(J, axis=0)
    s = np.zeros(len(p))
    if free.any():
        s[free] = -np.linalg.lstsq(J[:, free] / D[free], r, rcond=1e-15)[0] / D[free]
    return s, J.T @ r / D / np.linalg.norm(r)


def solve(fun, start, lower, upper):
    span = np.where(np.isfinite(upper - lower), upper - lower, np.maximum(1e-300, np.abs(start)))
    found = []
    for method in ("trf", "dogbox"):
        try:
            fit = least_squares(fun, start, jac=lambda p: jacobian(fun, p), bounds=(lower, upper), method=method,
                                x_scale="jac", xtol=1e-15, ftol=1e-15, gtol=1e-15, max_nfev=20000)
        except Exception:
            continue
        x = fit.x.copy()
        gradient = gauss_newton(fun, x, np.zeros(len(x), bool))[1]
        low = (x - lower <= 1e-6 * span) & (gradient > 1e-7)
        high = (upper - x <= 1e-6 * span) & (gradient < -1e-7)
        x[low], x[high] = lower[low], upper[high]
        free = ~(low | high)
        if free.any():
            def part(q):
                p = x.copy()
                p[free] = q
                return fun(p)

            scale = np.abs(x[free])
            polished = least_squares(lambda q: part(q * scale), x[free] / scale,
                                     jac=lambda q: jacobian(fun, embed(x, free, q * scale))[:, free] * scale,
                                     method="lm", xtol=1e-15, ftol=1e-15, gtol=1e-15, max_nfev=20000)
            x[free] = polished.x * scale
            for _ in range(5):  # Gauss-Newton steps while they help
                s, _g = gauss_newton(fun, x, free)
                if not np.all(np.isfinite(s)) or np.sum(fun(x + s) ** 2) > np.sum(fun(x) ** 2) * (1 + 1e-14):
                    break
                x = x + s
        s, gradient = gauss_newton(fun, x, free)
        inside = np.all((x >= lower) & (x <= upper))
        signs = np.all(gradient[low] > 1e-9) and np.all(gradient[high] < -1e-9)
        settled = np.all(np.abs(s) <= 1e-9 * np.abs(x))
        if inside and signs and settled:
            found.append((0.5 * np.sum(fun(x) ** 2), method, x, high.astype(int) - low.astype(int),
                          float(np.max(np.abs(fit.x - x) / np.abs(x)))))
    if not found:
        return None
    return min(found, key=lambda f: f[0] * (1 + (1e-9 if f[1] != "trf" else 0)))


def embed(x, free, q):
    p = np.array(x, dtype=float)
    p[free] = q
    return p


def variants(start, certified):
    n = len(start)
    gap = certified - start
    order = np.argsort(-np.abs(gap) / np.abs(certified), kind="stable")

    def halfway(lower, upper, j):
        middle = start[j] + 0.5 * gap[j]
        if gap[j] > 0:
            upper[j] = middle
        elif gap[j] < 0:
            lower[j] = middle

    lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
    halfway(lower, upper, order[0])
    yield "one", lower, upper
    width = 20 * np.maximum(np.abs(start), np.abs(certified))
    lower, upper = start - width, start + width
    for j in order[1:3]:
        halfway(lower, upper, j)
    yield "two", lower, upper
    reach = 2 * np.abs(gap) + 0.01 * np.abs(certified)
    yield "box", certified - reach, certified + reach


def main():
    out = []
    for entry in json.load(open(folder / "certified.json")):
        fun = problem(entry)
        start, certified = np.array(entry["start2"]), np.array(entry["certified"])
        for kind, lower, upper in variants(start, certified):
            # Bounds are rounded to the digits that are written, so that the readers of the file have the same problem.
            lower, upper = (np.array([float("%.12g" % v) for v in side]) for side in (lower, upper))
            best = solve(fun, start, lower, upper)
            if best is None:
                print(entry["name"], kind, "left out: not solved to the digits asked for", file=sys.stderr)
                continue
            cost, method, x, active, moved = best
            finite = lambda side: [float(v) if np.isfinite(v) else None for v in side]
            out.append({"name": entry["name"], "kind": kind, "lower": finite(lower), "upper": finite(upper),
                        "parameters": [float(v) for v in x], "active": [int(a) for a in active], "cost": float(cost),
                        "method": method, "before_polish": moved})
    print("[\n" + ",\n".join(json.dumps(entry) for entry in out) + "\n]")
    print(len(out), "problems,", sum(any(e["active"]) for e in out), "with bounds that hold", file=sys.stderr)


main()
