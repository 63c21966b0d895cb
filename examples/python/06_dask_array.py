"""A fit to dask arrays: each worker reduces its blocks to a few sums, and only the sums travel."""

import dask
import dask.array as da
import numpy as np
import nlsqfit as nf


def peak(x, height, centre, width, offset):
    return height * np.exp(-0.5 * ((x - centre) / width) ** 2) + offset


x = da.linspace(-3, 5, 200_000, chunks=25_000)
noise = da.random.default_rng(5).normal(scale=0.05, size=x.shape, chunks=x.chunks)
y = (3 * da.exp(-0.5 * ((x - 1) / 0.7) ** 2) + 0.4 + noise).persist()  # else every pass makes other noise


def sums_at(parameters):
    """One pass over all rows."""
    blocks = zip(x.to_delayed(), y.to_delayed())
    partial = [dask.delayed(nf.partial_sums)(peak, parameters, block) for block in blocks]
    return dask.delayed(sum)(partial).compute()


start = [2, 0.5, 1, 0]
step = nf.solve_sums(sums_at(start), start)
while not step.done:
    step = nf.solve_sums(sums_at(step.parameters), step)

for name, value, error in zip(("height", "centre", "width", "offset"), step.parameters, step.std_errors):
    print(f"{name:>6} = {value:.6f} +- {error:.6f}")
print(f"{step.message}; {step.passes} passes over {step.rows} rows in {x.numblocks[0]} blocks")

popt, pcov = nf.curve_fit(peak, x.compute(), y.compute(), p0=start)
assert step.success and np.allclose(step.parameters, popt, rtol=1e-7)
assert np.allclose(step.covariance, pcov, rtol=1e-6)
