"""A film of a million pixels: the decay of each, fitted on its own. `--pixels N` makes fewer."""

import argparse
import time

import numpy as np
import nlsqfit as nf

arguments = argparse.ArgumentParser()
arguments.add_argument("--pixels", type=int, default=1_000_000)
side = int(arguments.parse_args().pixels ** 0.5)

rng = np.random.default_rng(3)
t = np.linspace(0, 10, 16).astype(np.float32)
amplitude = rng.uniform(1, 3, (side, side)).astype(np.float32)
rate = rng.uniform(0.2, 0.5, (side, side)).astype(np.float32)
film = amplitude[..., None] * np.exp(-rate[..., None] * t)
film += rng.normal(scale=0.02, size=film.shape).astype(np.float32)
dead = rng.random(film.shape) < 0.001  # values that the camera lost
film[dead] = np.nan

start = time.perf_counter()
fits = nf.fit_many(lambda t, a, k: a * np.exp(-k * t), t, film, p0=[2, 0.3], mask=dead, progress=True)
seconds = time.perf_counter() - start

print(fits)
print(f"{side * side} pixels in {seconds:.2f} s")
print("median error of the rate:", float(np.median(fits.stderr("k"))))
pull = (fits["k"] - rate) / fits.stderr("k")
print(f"(fitted - true) / error has standard deviation {np.std(pull[fits.success]):.2f}")
