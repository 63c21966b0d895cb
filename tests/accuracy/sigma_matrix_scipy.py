#!/usr/bin/env python3
"""Fits data with a full covariance of y by SciPy's curve_fit, and writes sigma_matrix_scipy.json.

One data set is a decay with errors that keep 0.8 of the row before's (an AR(1) process) and variances that grow. The other is a
straight line whose two halves have an unknown offset each, shared by the rows of the half. They are fitted by
curve_fit(sigma=covariance, xtol = ftol = gtol = 1e-15), with and without absolute_sigma. Nothing of nlsq is used.

python3 tests/accuracy/sigma_matrix_scipy.py > tests/accuracy/sigma_matrix_scipy.json
"""
import json

import numpy as np
from scipy.optimize import curve_fit


def rounded(values):
    return np.array([float("%.8g" % v) for v in np.ravel(values)]).reshape(np.shape(values))


def decay(x, a, b, c):
    return a * np.exp(-b * x) + c


def line(x, a, b):
    return a + b * x


random, out = np.random.RandomState(3), []
x = rounded(np.linspace(0, 4, 40))
s = 0.05 * (1 + 0.2 * x)
C = rounded(0.8 ** np.abs(np.arange(40)[:, None] - np.arange(40)) * s * s[:, None])
y = rounded(decay(x, 3, 1.3, 0.5) + np.linalg.cholesky(C) @ random.normal(size=40))
problems = [("decay", "a*exp(-b*x)+c", decay, [2, 1, 0.3], x, y, C)]
x = rounded(np.linspace(-3, 3, 14))
C = rounded(0.04 * np.eye(14) + 0.5 * (x[:, None] * x > 0) * np.ones((14, 14)))
y = rounded(line(x, 1, 2) + np.linalg.cholesky(C) @ random.normal(size=14))
problems.append(("line", "a+b*x", line, [0, 0], x, y, C))
for name, formula, model, start, x, y, C in problems:
    for absolute in (False, True):
        p, cov = curve_fit(model, x, y, start, sigma=C, absolute_sigma=absolute, xtol=1e-15, ftol=1e-15, gtol=1e-15)
        r = model(x, *p) - y
        out.append({"name": name, "formula": formula, "start": start, "x": list(x), "y": list(y), "covariance": C.tolist(), "absolute": absolute,
                    "parameters": list(p), "of_parameters": cov.tolist(), "squares": float(r @ np.linalg.solve(C, r))})
print("[\n" + ",\n".join(json.dumps(e) for e in out) + "\n]")
