"""Measures the time from call to return, for nlsqfit and SciPy alternately in one run.

Usage: speed.py [--quick]. Times are medians of `repeat` calls. The first ratio is of times by the clock, the
second of processor time of all threads together. Under NLSQ_ISA=avx2 or baseline, NumPy uses no AVX-512
either.
"""

import argparse
import math
import os
import resource
import sys
import time

# NumPy reads this when it is imported. At most, it warns of names that it does not know.
if os.environ.get("NLSQ_ISA") in ("avx2", "baseline"):
    beyond = "AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL"
    os.environ.setdefault("NPY_DISABLE_CPU_FEATURES", beyond)

import numpy as np
import nlsqfit as nf
import scipy.optimize


def decay(x, a, b, c):
    return a * np.exp(-b * x) + c


def pixel(t, a, k):
    return a * np.exp(-k * t)


def timed(function):
    """Return the seconds by the clock and those of the processor."""
    clock, processor = time.perf_counter(), time.process_time()
    function()
    return np.array([time.perf_counter() - clock, time.process_time() - processor])


def alternately(ours, theirs, repeat):
    """Return the medians of both, and how many times as long SciPy takes by the clock and the processor."""
    pairs = np.array([(timed(ours), timed(theirs)) for _ in range(repeat)])
    a, b = np.median(pairs, axis=0)
    return a, b, f"ratio {b[0] / a[0]:6.2f}, of processor time {b[1] / a[1]:6.2f}"


def curves(repeats):
    rng = np.random.default_rng(0)
    for rows, repeat in repeats:
        x = np.linspace(0, 4, rows)
        y = decay(x, 2.5, 1.3, 0.5) + 0.05 * rng.normal(size=rows)
        a, b, ratios = alternately(
            lambda: nf.curve_fit(decay, x, y),  # noqa: B023
            lambda: scipy.optimize.curve_fit(decay, x, y),  # noqa: B023
            repeat,
        )
        print(f"curve_fit, {rows:>9,} rows: ours {a[0] * 1e3:9.3f} ms, SciPy {b[0] * 1e3:9.3f} ms, {ratios}")


def pixels(count, sample=300):
    rng = np.random.default_rng(0)
    t = np.linspace(0, 10, 16)
    film = rng.uniform(1, 3, (count, 1)) * np.exp(-rng.uniform(0.2, 0.5, (count, 1)) * t)
    film += 0.02 * rng.normal(size=film.shape)
    ours = np.median([timed(lambda: nf.fit_many(pixel, t, film, p0=[2, 0.3])) for _ in range(15)], axis=0)

    def loop():
        for row in film[:sample]:
            scipy.optimize.curve_fit(pixel, t, row, p0=[2, 0.3])

    theirs = timed(loop) / sample * count
    ratio = theirs / ours
    print(
        f"fit_many, {count:,} pixels: ours {ours[0]:.3f} s, SciPy {theirs[0]:.1f} s (from {sample}), "
        f"ratio {ratio[0]:.0f}, of processor time {ratio[1]:.0f}"
    )


def called():
    x = np.linspace(0, 4, 100)

    def by_math(x, a, b, c):
        return np.array([a * math.exp(-b * s) + c for s in x])

    for noise in (0.05, 0):
        y = decay(x, 2.5, 1.3, 0.5) + noise * np.random.default_rng(1).normal(size=x.size)
        _, _, ratios = alternately(
            lambda: nf.curve_fit(by_math, x, y),  # noqa: B023
            lambda: scipy.optimize.curve_fit(by_math, x, y),  # noqa: B023
            31,
        )
        print(f"a function that is called, 100 rows, noise {noise}: {ratios}")


def leak(calls):
    x = np.linspace(0, 4, 20)
    y = pixel(x, 2, 1)
    for _ in range(500):
        nf.curve_fit(pixel, x, y)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(calls):
        nf.curve_fit(pixel, x, y)
    print(
        f"{calls:,} calls: the process grew by {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before} kB"
    )


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true")
    quick = options.parse_args().quick
    curves([(100, 200), (10_000, 20), (1_000_000, 1 if quick else 5)])
    pixels(10_000 if quick else 100_000)
    called()
    leak(5_000 if quick else 100_000)
    sys.exit(0)
