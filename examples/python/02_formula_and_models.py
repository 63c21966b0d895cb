"""Formulas, built-in models and sums of them; parameters by name; predictions with errors."""

import numpy as np
import nlsqfit as nf

rng = np.random.default_rng(2)
x = np.linspace(-3, 5, 150)
y = 3 * np.exp(-((x - 1) ** 2) / (2 * 0.5**2)) + 0.3 * x + 1 + 0.05 * rng.normal(size=x.size)

fit = nf.fit("gaussian + linear", x, y)  # finds its own start
print(fit)
print(fit.params["g1_mu"])

held = nf.fit("h*exp(-(x-mu)^2/(2*s^2)) + a*x + c", x, y, p0={"mu": 1.2, "s": 0.6}, fixed={"a": 0.3})
print(repr(held))
print("same peak:", np.isclose(held.params["mu"].value, fit.params["g1_mu"].value, atol=0.01))

prediction = fit.predict(np.array([0.0, 1.0, 2.0]), band=True)
for value, error in zip(prediction.fit, prediction.std_error):
    print(f"{value:.4f} ± {error:.4f}")
