"""Compares the time and cost of bundle adjustment with residuals in plain Python and in C++.

Usage: ladybug.py FILE EXAMPLE [REPEAT]. FILE is a problem of "Bundle Adjustment in the Large". EXAMPLE is the
program example_05_bundle_adjustment of a build. Both run alternately, from the same start with the same
options. The time in Python includes recording and adding all blocks, but not reading the file. The time in
C++ is that of the solve alone, as the program prints it. All times are medians.
"""

import contextlib
import os
import re
import runpy
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import nlsqfit as nf

EXAMPLE = Path(__file__).resolve().parents[2] / "examples/python/04_bundle_adjustment.py"


def in_python(reprojection, scene):
    """Return the seconds until all blocks are added, the seconds of the solve, and the cost."""
    cameras, points, camera_of, point_of, observed = scene
    cameras, points = cameras.copy(), points.copy()
    begin = time.perf_counter()
    problem = nf.Problem()
    problem.add(reprojection, (cameras, camera_of), (points, point_of), data=[observed])
    added = time.perf_counter()
    result = problem.solve(max_iterations=50, ftol=1e-9)
    return added - begin, time.perf_counter() - added, result.cost


def in_cpp(program, path):
    """Return the seconds of the solve, and the cost."""
    text = subprocess.run([program, path], capture_output=True, text=True, check=True).stdout
    cost = re.search(r"cost \S+ (?:→|->) ([0-9.e+-]+)", text)
    return float(re.search(r"([0-9.]+) s,", text).group(1)), float(cost.group(1))


def main(path, program, repeat=5):
    sys.argv[1:] = []  # the example then solves a small problem of its own
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        example = runpy.run_path(str(EXAMPLE))
    scene = example["read"](path)
    runs = [(in_python(example["reprojection"], scene), in_cpp(program, path)) for _ in range(int(repeat))]
    added, solved, cost = np.median([ours for ours, _ in runs], axis=0)
    theirs, cost_of_cpp = np.median([cpp for _, cpp in runs], axis=0)
    print(
        f"Python: {added:.2f} s to add, {solved:.2f} s to solve, cost {cost:.6g}; C++: {theirs:.2f} s, cost "
        f"{cost_of_cpp:.6g}; ratio {solved / theirs:.2f} of the solve, {(added + solved) / theirs:.2f} of all"
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
