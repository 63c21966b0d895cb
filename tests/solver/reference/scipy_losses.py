#!/usr/bin/env python3
"""Writes scipy_losses.txt: contaminated data, and the fits of SciPy's least_squares to them, by loss and scale.

tests/solver/fit/test_losses.cpp reads it. Derivatives are complex steps, exact to rounding. Each fit is repeated from its own
end until the parameters no longer change, since a single run stops where the cost no longer falls. The gradient that is left
moves no parameter by 1e-8 of itself.
"""
import numpy as np
import scipy
from scipy.optimize import least_squares


def tukey(z):
    inside = z < 1
    rest = np.where(inside, 1 - z, 0)
    return np.array([np.where(inside, z * (1 - z + z * z / 3), 1 / 3), rest**2, -2 * rest])


PROBLEMS = [  # name, formula, f, truth, p0, x, noise, sigma?
    ("line", "a*x+b", lambda x, p: p[0] * x + p[1], [2.0, -1.0], [1.5, 0.0], np.linspace(0, 5, 40), 0.2, False),
    ("exp", "a*exp(-b*x)+c", lambda x, p: p[0] * np.exp(-p[1] * x) + p[2], [3.0, 0.8, 0.5], [2.5, 1.0, 0.3], np.linspace(0, 6, 60), 0.05, False),
    ("gaussian", "h*exp(-(x-m)^2/(2*s^2))+c", lambda x, p: p[0] * np.exp(-(x - p[1]) ** 2 / (2 * p[2] ** 2)) + p[3],
     [5.0, 1.2, 0.7, 1.0], [4.5, 1.0, 0.8, 0.8], np.linspace(-2, 4, 80), 0.1, True),
    ("logistic", "L/(1+exp(-k*(x-q)))", lambda x, p: p[0] / (1 + np.exp(-p[1] * (x - p[2]))), [4.0, 1.5, 0.4], [3.5, 1.2, 0.2],
     np.linspace(-4, 4, 50), 0.08, False),
    ("hill", "v*x/(k+x)", lambda x, p: p[0] * x / (p[1] + x), [10.0, 2.0], [9.0, 1.5], np.linspace(0.1, 12, 45), 0.2, True),
    ("sine", "a*sin(w*x+q)+c", lambda x, p: p[0] * np.sin(p[1] * x + p[2]) + p[3], [2.0, 1.3, 0.3, 0.5], [1.8, 1.28, 0.4, 0.4],
     np.linspace(0, 10, 70), 0.15, False),
    ("power", "a*x^b+c", lambda x, p: p[0] * x ** p[1] + p[2], [1.5, 1.7, 2.0], [1.2, 1.8, 1.5], np.linspace(0.2, 4, 55), 0.1, False),
    ("biexp", "a*exp(-b*x)+c*exp(-d*x)", lambda x, p: p[0] * np.exp(-p[1] * x) + p[2] * np.exp(-p[3] * x),
     [4.0, 2.5, 2.0, 0.3], [3.95, 2.45, 1.98, 0.295], np.linspace(0, 8, 90), 0.03, True),
    ("quadratic", "a+b*x+c*x^2", lambda x, p: p[0] + p[1] * x + p[2] * x * x, [1.0, -2.0, 0.5], [0.5, -1.0, 0.3], np.linspace(-3, 3, 48), 0.3, True),
]
LOSSES = [("soft_l1", 1.0), ("soft_l1", 0.3), ("huber", 1.345), ("huber", 0.5), ("cauchy", 2.385), ("arctan", 3.0), ("tukey", 4.685)]


def main():
    rng = np.random.default_rng(20260101)
    out = [f"# scipy {scipy.__version__}, numpy {np.__version__}; written by scipy_losses.py"]
    for name, formula, f, truth, p0, x, noise, weighted in PROBLEMS:
        sigma = noise * (0.5 + rng.random(x.size)) if weighted else np.full(x.size, noise)
        y = f(x, truth) + sigma * rng.standard_normal(x.size)
        bad = rng.choice(x.size, x.size // 10, replace=False)
        y[bad] += sigma[bad] * rng.choice([-1, 1], bad.size) * rng.uniform(5, 15, bad.size)
        y = np.round(y, 9)
        sigma = np.round(sigma, 9)
        weights = 1 / sigma if weighted else np.ones(x.size)
        out.append(f"problem {name} {x.size} {int(weighted)} {formula}")
        out.append("p0 " + " ".join(repr(float(v)) for v in p0))
        for i in range(x.size):
            out.append(f"{float(x[i])!r} {float(y[i])!r} {float(sigma[i])!r}")

        def residual(p):
            return (f(x, p) - y) * weights

        def jacobian(p):
            columns = []
            for j in range(len(p)):
                q = np.array(p, dtype=complex)
                q[j] += 1e-30j
                columns.append(np.imag(f(x, q)) / 1e-30 * weights)
            return np.array(columns).T

        for loss, scale in [("linear", 1.0)] + LOSSES:
            C = scale * (1.0 if weighted else noise)
            p, still = np.array(p0), 0
            for _ in range(200):
                fit = least_squares(residual, p, jacobian, loss=tukey if loss == "tukey" else loss, f_scale=C, method="trf", x_scale="jac",
                                    ftol=1e-15, xtol=1e-15, gtol=1e-15, max_nfev=5000)
                moved = np.max(np.abs(fit.x - p) / np.abs(fit.x))
                p = fit.x
                still = still + 1 if moved < 1e-13 else 0
                if still >= 2:
                    break
            z = (residual(p) / C) ** 2
            slope = {"linear": np.ones_like(z), "soft_l1": (1 + z) ** -0.5, "huber": np.where(z <= 1, 1, np.maximum(z, 1) ** -0.5),
                     "cauchy": 1 / (1 + z), "arctan": 1 / (1 + z * z), "tukey": tukey(z)[1]}[loss]
            J, r = jacobian(p), residual(p)
            cosine = np.max(np.abs(J.T @ (slope * r)) / np.linalg.norm(J, axis=0) / np.linalg.norm(r))
            assert cosine < 2e-8, (name, loss, cosine)
            first = least_squares(residual, p0, jacobian, loss=tukey if loss == "tukey" else loss, f_scale=C, method="trf", x_scale="jac")
            out.append(f"fit {loss} {C!r} {float(fit.cost)!r} {first.njev} " + " ".join(repr(float(v)) for v in p))
    with open(__file__.replace(".py", ".txt"), "w") as file:
        file.write("\n".join(out) + "\n")


main()
