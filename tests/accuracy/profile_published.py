#!/usr/bin/env python3
"""Writes profile_published.json: two fits whose profile intervals lmfit's documentation prints.

The source is M. Newville and others, LMFIT: Non-Linear Least-Squares Minimization and Curve-Fitting for Python, "Calculation of
confidence intervals", its basic and its advanced example, release 1.3: lmfit.github.io/lmfit-py/confidence.html. The data are
made from NumPy's seed 0 as described there. The intervals are distances from the estimate, copied to the five decimals printed.
They are those of the F test of one parameter, at the probabilities of 1, 2 and 3 sigma.

python3 tests/accuracy/profile_published.py > tests/accuracy/profile_published.json
"""
import json

import numpy as np


def made(x, truth):
    np.random.seed(0)
    return [float("%.17g" % v) for v in truth(x) + 0.1 * np.random.randn(x.size)]


ONE, TWO, THREE = 0.6826894921370859, 0.9544997361036416, 0.9973002039367398
basic, advanced = np.linspace(0.3, 10, 100), np.linspace(1, 10, 250)
out = [
    {"name": "reciprocal", "formula": "1/(a*x)+b", "start": {"a": 0.1, "b": 1}, "x": list(basic),
     "y": made(basic, lambda x: 1 / (0.1 * x) + 2), "confidence": [ONE, TWO, THREE],
     "estimate": {"a": 0.09944, "b": 1.98477},
     "below": {"a": [0.00019, 0.00039, 0.00059], "b": [0.01229, 0.02477, 0.03764]},
     "above": {"a": [0.00019, 0.00039, 0.00060], "b": [0.01229, 0.02477, 0.03764]}},
    {"name": "two exponentials", "formula": "a1*exp(-x/t1)+a2*exp(-(x-0.1)/t2)", "start": {"a1": 3, "t1": 1.3, "a2": -4.3, "t2": 11.8},
     "x": list(advanced), "y": made(advanced, lambda x: 3.0 * np.exp(-x / 2) - 5.0 * np.exp(-(x - 0.1) / 10.0)),
     "confidence": [ONE, TWO], "estimate": {"a1": 2.98622, "a2": -4.33526, "t1": 1.30994, "t2": 11.82403},
     "below": {"a1": [0.14165, 0.27285], "a2": [0.13219, 0.30440], "t1": [0.12494, 0.23392], "t2": [0.48813, 1.01937]},
     "above": {"a1": [0.16354, 0.36343], "a2": [0.10689, 0.19684], "t1": [0.14660, 0.32369], "t2": [0.46045, 0.90439]}},
]
print("[\n" + ",\n".join(json.dumps(e) for e in out) + "\n]")
