"""Rows that are never together in memory: sums of each block, and one step from the sums of all.

Each block here is made anew in every pass. It might as well be read from a file, or lie on another machine.
"""

import numpy as np
import nlsqfit as nf

BLOCKS, ROWS = 20, 5_000


def decay(t, a, b, c):
    return a * np.exp(-b * t) + c


def block(number):
    """The times and counts of one file."""
    rng = np.random.default_rng(number)
    t = rng.uniform(0, 4, ROWS)
    return t, decay(t, 2.5, 1.3, 0.5) + 0.05 * rng.normal(size=ROWS)


def sums_at(parameters):
    """One pass over all rows: 20 numbers from each block."""
    return sum(nf.partial_sums(decay, parameters, block(k)) for k in range(BLOCKS))


step = nf.solve_sums(sums_at([1, 1, 1]), [1, 1, 1])
while not step.done:
    step = nf.solve_sums(sums_at(step.parameters), step)

for name, value, error in zip("abc", step.parameters, step.std_errors):
    print(f"{name} = {value:.6f} +- {error:.6f}")
print(f"{step.message}; {step.passes} passes over {step.rows} rows")

# The same rows at once give the same answer.
t, y = (np.concatenate(parts) for parts in zip(*map(block, range(BLOCKS))))
popt, pcov = nf.curve_fit(decay, t, y)
print("largest difference in standard errors:", np.max(np.abs(step.parameters - popt) / step.std_errors))
assert step.success and np.allclose(step.parameters, popt, rtol=1e-7)
assert np.allclose(step.covariance, pcov, rtol=1e-6)
