"""Counts fits without starting values that reach the least minimum, by nlsqfit and by SciPy's curve_fit.

Usage: starts.py. Each of 17 curves is fitted to 20 sets of 120 rows with 1 % noise. The least minimum is that
of a fit that starts at the true parameters. Times are medians of one call, in milliseconds.
"""

import statistics
import time
import warnings

import numpy as np
import nlsqfit as nf
import scipy.optimize

CURVES = {
    "peak": (lambda x, a, m, w, c: a * np.exp(-(((x - m) / w) ** 2)) + c, (3, 32, 2.5, 1), (0, 50)),
    "decay by its rate": (lambda x, a, b, c: a * np.exp(-b * x) + c, (3, 0.05, 1), (0, 100)),
    "decay by its time": (lambda x, a, t, c: a * np.exp(-x / t) + c, (3, 250, 1), (0, 1000)),
    "wave": (lambda x, a, w, p, c: a * np.sin(w * x + p) + c, (3, 2.2, 0.7, 5), (0, 20)),
    "damped wave": (lambda x, a, k, w, p: a * np.exp(-k * x) * np.sin(w * x + p), (3, 0.1, 2.2, 0.7), (0, 20)),
    "logistic": (lambda x, L, k, x0: L / (1 + np.exp(-k * (x - x0))), (100, 0.7, 30), (0, 60)),
    "saturation": (lambda x, V, K: V * x / (K + x), (120, 400), (1, 2000)),
    "power": (lambda x, a, b: a * x**b, (2e-3, 2.5), (1, 100)),
    "Arrhenius": (lambda T, A, E: A * np.exp(-E / (8.314 * T)), (1e9, 60000), (300, 400)),
    "Lorentz": (lambda x, a, m, g, c: a / (1 + ((x - m) / g) ** 2) + c, (5, 1550.2, 0.3, 0.2), (1548, 1553)),
    "Hill": (lambda x, E, k, n: E * x**n / (k**n + x**n), (100, 50, 2.3), (1, 500)),
    "Weibull": (lambda t, k, l: 1 - np.exp(-((t / l) ** k)), (2.2, 400), (1, 1000)),
    "Gompertz": (lambda t, a, b, c: a * np.exp(-b * np.exp(-c * t)), (80, 5, 0.08), (0, 100)),
    "two decays": (lambda t, a, b, c, d: a * np.exp(-b * t) + c * np.exp(-d * t), (3, 0.5, 2, 0.03), (0, 80)),
    "tanh": (lambda x, a, m, s, c: a * np.tanh((x - m) / s) + c, (2, 150, 12, 7), (0, 300)),
    "Langmuir": (lambda p, q, K: q * K * p / (1 + K * p), (4, 0.002), (1, 3000)),
    "Vogel": (lambda T, A, B, T0: A + B / (T - T0), (-3, 600, 150), (250, 400)),
}
SETS, ROWS, NOISE = 20, 120, 0.01


def by_fit(f, x, y):
    return [one.value for one in nf.fit(f, x, y).params.values()]


WAYS = {
    "curve_fit": lambda f, x, y: nf.curve_fit(f, x, y)[0],
    "fit": by_fit,
    "SciPy": lambda f, x, y: scipy.optimize.curve_fit(f, x, y)[0],
}


def data_of(f, truth, ends, seed):
    random = np.random.default_rng(seed)
    p = np.array(truth) * (1 + 0.3 * random.uniform(-1, 1, len(truth)))
    x = np.linspace(*ends, ROWS)
    y = f(x, *p)
    y = y + NOISE * np.std(y) * random.normal(size=ROWS)
    best = nf.curve_fit(f, x, y, p0=p)[0]
    return x, y, np.sum((f(x, *best) - y) ** 2)


def main():
    warnings.simplefilter("ignore")
    total = dict.fromkeys(WAYS, 0)
    print(f"{'':18}" + "".join(f"{way:>22}" for way in WAYS))
    for name, (f, truth, ends) in CURVES.items():
        line = f"{name:18}"
        data = [data_of(f, truth, ends, seed) for seed in range(SETS)]
        for way, solve in WAYS.items():
            reached, times = 0, []
            for x, y, least in data:
                begin = time.perf_counter()
                try:
                    p = solve(f, x, y)
                except RuntimeError:  # SciPy found none
                    p = np.full(len(truth), np.nan)
                times.append(1e3 * (time.perf_counter() - begin))
                reached += bool(np.sum((f(x, *p) - y) ** 2) < 1.001 * least)
            total[way] += reached
            line += f"{reached:>9} of {SETS}{statistics.median(times):7.1f} ms"
        print(line)
    print(", ".join(f"{way} {n} of {SETS * len(CURVES)}" for way, n in total.items()))


if __name__ == "__main__":
    main()
