"""This script was written for SciPy. One line is changed: the import."""

import numpy as np

from nlsqfit import curve_fit  # was: from scipy.optimize import curve_fit


def decay(t, amplitude, rate, offset):
    return amplitude * np.exp(-rate * t) + offset


rng = np.random.default_rng(1)
t = np.linspace(0, 4, 200)
y = decay(t, 2.5, 1.3, 0.5) + 0.05 * rng.normal(size=t.size)

popt, pcov = curve_fit(decay, t, y, p0=[1, 1, 0], sigma=np.full(t.size, 0.05), absolute_sigma=True)
for name, value, error in zip(("amplitude", "rate", "offset"), popt, np.sqrt(np.diag(pcov))):
    print(f"{name} = {value:.4f} ± {error:.4f}")

# Was the function recorded, and if not, why?
_, _, infodict, message, _ = curve_fit(decay, t, y, full_output=True)
print(infodict["evaluator"], "-", message)
