#!/usr/bin/env python3
"""Computes statistics of fits to published data sets by SciPy's curve_fit and by lmfit, for published_statistics.json.

Parameters and covariance are SciPy's (Levenberg-Marquardt, ftol = xtol = gtol = 1e-15, derivatives by complex steps). AIC, BIC
and the bands are lmfit's at that minimum. Its bands take differences, here of a ten-thousandth of a standard error. Nothing of
nlsq is used.

python3 tests/accuracy/published/published_statistics.py > tests/accuracy/published/published_statistics.json
"""
import csv
import json
import pathlib

import numpy as np
from lmfit import Model
from scipy.optimize import curve_fit

DATA = pathlib.Path(__file__).resolve().parents[3] / "data"
NIST = ["BoxBOD", "Chwirut2", "DanWood", "Eckerle4", "ENSO", "Gauss1", "Hahn1", "Kirby2", "MGH17", "Misra1a", "Misra1c",
        "Rat42", "Rat43", "Roszman1", "Thurber"]
OTHERS = [  # file, rows, weights, formula, names, start
    ("decay", None, None, "a*exp(-b*x)+c", ["a", "b", "c"], [100, 0.005, 80]),
    ("puromycin", 1, None, "V*x/(K+x)", ["V", "K"], [200, 0.05]),
    ("puromycin", 0, "0.05*y", "V*x/(K+x)", ["V", "K"], [150, 0.05]),
    ("oxygen_demand", None, None, "a*(1-exp(-b*x))", ["a", "b"], [20, 0.5]),
    ("orange_trees", 3, None, "L/(1+exp(-(x-x0)/s))", ["L", "x0", "s"], [170, 700, 350]),
    ("us_population", None, None, "L/(1+exp(-k*(x-x0)))", ["L", "k", "x0"], [400, 0.02, 1975]),
]
FUNCTIONS = {"exp": np.exp, "log": np.log, "sin": np.sin, "cos": np.cos, "atan": np.arctan, "pi": np.pi}


def read(file, group=None):
    with open(DATA / file) as stream:
        rows = np.array([[float(v) for v in row] for row in list(csv.reader(stream))[1:]])
    if group is not None:
        rows = rows[rows[:, 2] == group]
    return rows[:, 0], rows[:, 1]


def problems():
    certified = {s["name"]: s for s in json.loads((DATA / "nist/certified.json").read_text())}
    for name in NIST:
        s = certified[name]
        yield name, "nist/" + s["file"], None, None, s["formula"], s["parameters"], s["start2"]
    for file, group, sigma, formula, names, start in OTHERS:
        label = file if group is None else "%s, group %d" % (file, group)
        yield label, file + ".csv", group, sigma, formula, names, start


out = []
for label, file, group, sigma_text, formula, names, start in problems():
    x, y = read(file, group)
    code = compile(formula.replace("^", "**"), label, "eval")

    def model(x, *p):
        return eval(code, dict(FUNCTIONS, x=x, **dict(zip(names, p))))

    def jacobian(x, *p):
        columns = []
        for j in range(len(p)):
            q = np.array(p, dtype=complex)
            q[j] += 1e-30j
            columns.append(np.imag(model(x, *q)) / 1e-30)
        return np.array(columns).T

    sigma = None if sigma_text is None else eval(sigma_text, {"y": y})
    p, covariance = curve_fit(model, x, y, start, sigma=sigma, jac=jacobian, method="lm", ftol=1e-15, xtol=1e-15, gtol=1e-15,
                              maxfev=20000)
    scope = {}
    exec("def of_names(x, %s): return model(x, %s)" % (", ".join(names), ", ".join(names)), {"model": model}, scope)
    lm = Model(scope["of_names"], independent_vars=["x"])
    weights = None if sigma is None else 1 / sigma
    settings = {"xtol": 1e-15, "ftol": 1e-15, "gtol": 1e-15}
    result = lm.fit(y, x=x, weights=weights, fit_kws=settings, **dict(zip(names, p)))
    # The lines below use SciPy's minimum and covariance, because lmfit's own contain rounding errors.
    for j, name in enumerate(names):
        result.params[name].value, result.params[name].stderr = p[j], np.sqrt(covariance[j, j])
    result.covar, result.best_values = covariance, dict(zip(names, p))
    at = np.linspace(x.min(), x.max() + 0.1 * (x.max() - x.min()), 5)
    confidence = result.eval_uncertainty(result.params, sigma=0.95, dscale=1e-4, x=at)
    out.append({"name": label, "file": file, "group": group, "sigma": sigma_text, "formula": formula, "parameters": names,
                "start": start, "values": list(p), "covariance": covariance.tolist(), "chisqr": float(result.chisqr),
                "aic": float(result.aic), "bic": float(result.bic), "at": list(at), "half_width": list(confidence),
                "of_a_new_row": None if sigma_text else list(result.dely_predicted)})
print("[\n" + ",\n".join(json.dumps(e) for e in out) + "\n]")
