"""Runs the code that docs/python.md and the README show, and the examples."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples" / "python").glob("0*.py"))
WANTED = {"06_dask_array": "dask.array"}  # other packages that an example needs


@pytest.mark.parametrize("name", ["docs/python.md", "python/README.md", "README.md"])
def test_the_code_of_a_document(name):
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / name).read_text(), re.M | re.S)
    assert blocks
    names = {}
    if name == "README.md":  # it shows one call, without the data
        names["np"] = np
        names["x"] = np.linspace(0, 4, 50)
        names["y"] = 2.5 * np.exp(-1.3 * names["x"]) + 0.5 + 0.01 * np.sin(7 * names["x"])
    for block in blocks:
        exec(compile(block, name, "exec"), names)


def test_there_are_six_examples():
    assert len(EXAMPLES) == 6


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.stem)
def test_an_example(example):
    if example.stem in WANTED:  # without the package, CMake lists the example among the tests left out
        pytest.importorskip(WANTED[example.stem])
    more = ["--pixels", "2500"] if "pixels" in example.stem else []
    done = subprocess.run(
        [sys.executable, str(example), *more], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0 and done.stdout, done.stderr
