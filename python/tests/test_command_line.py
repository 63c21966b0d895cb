"""Tests that the answers of Python have the bits of the command line's. NLSQ_FIT is the path of nlsq-fit."""

import json
import os
import subprocess

import numpy as np
import nlsqfit as nf
import pytest

PROGRAM = os.environ.get("NLSQ_FIT", "")
pytestmark = pytest.mark.skipif(not os.path.exists(PROGRAM), reason="NLSQ_FIT names no program")
MODELS = {
    "a*exp(-b*x)+c": (lambda x, a, b, c: a * np.exp(-b * x) + c, (2.5, 1.3, 0.5)),
    "a*exp(-(x-b)^2/(2*c^2))": (lambda x, a, b, c: a * np.exp(-((x - b) ** 2) / (2 * c**2)), (2.5, 1.3, 0.5)),
    "a*sin(b*x+c)": (lambda x, a, b, c: a * np.sin(b * x + c), (1.2, 1.1, 0.3)),
    "(a+b*x)/(1+c*x)": (lambda x, a, b, c: (a + b * x) / (1 + c * x), (2.0, 0.5, 0.7)),
    "a/(1+exp(-b*(x-c)))": (lambda x, a, b, c: a / (1 + np.exp(-b * (x - c))), (2.0, 1.5, 1.2)),
}


def by_the_command_line(x, y, formula, folder):
    """Return parameters and standard errors."""
    table, answer = folder / "table.csv", folder / "fit.json"
    np.savetxt(table, np.column_stack([x, y]), fmt="%.17g", delimiter=",", header="x,y", comments="")
    command = [PROGRAM, table, "--model", formula, "--p0", "a=1,b=1,c=1", "--json", answer]
    subprocess.run(command, check=True, capture_output=True)
    parameters = json.loads(answer.read_text())["parameters"]
    return [p["value"] for p in parameters], [p["std_error"] for p in parameters]


@pytest.mark.parametrize("rows", [100, 10_000, 100_000])
@pytest.mark.parametrize("formula", MODELS)
def test_a_recorded_function_and_a_formula_have_the_bits_of_the_command_line(formula, rows, tmp_path):
    function, truth = MODELS[formula]
    x = np.linspace(0.01, 4, rows)
    y = function(x, *truth) + 0.05 * np.random.default_rng(1).normal(size=rows)
    values, errors = by_the_command_line(x, y, formula, tmp_path)
    for _ in range(6):  # a model that is fitted again becomes machine code, which must give the same bits
        popt, pcov = nf.curve_fit(function, x, y)
        assert popt.tolist() == values and np.sqrt(np.diag(pcov)).tolist() == errors
    fit = nf.fit(formula, x, y, p0={"a": 1, "b": 1, "c": 1})
    assert [fit.params[name].value for name in "abc"] == values
    assert [fit.params[name].stderr for name in "abc"] == errors
