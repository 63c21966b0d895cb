"""Changes recordings of the corpus and checks that the comparison notices each wrong one.

One operation, operand or constant of a tape is changed. A mutant is wrong if it differs from the function by
more than 1e-6 at some point that the comparison does not use. The comparison looks at the start, at the
answer, and beside an answer that is the start. The script prints the number of wrong mutants and how many of
them were not noticed, and it ends with 1 if one was not noticed. Models are recorded at three starts: some
way off the answer, all ones, and the answer.
Usage: mutants.py [COUNT]
"""

import sys
import warnings
from copy import copy
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests")]

from corpus import MODELS  # noqa: E402
from nlsqfit._agreement import agree, elsewhere, perturbed  # noqa: E402
from nlsqfit._handles import recorded_model  # noqa: E402
from nlsqfit.recording import guarded, record  # noqa: E402
from tape_numbers import evaluate  # noqa: E402

BINARY = ["+", "-", "*", "/", "^", "min", "max", "atan2", "hypot"]
UNARY = ["exp", "log", "sqrt", "sin", "cos", "tanh", "abs", "expm1", "log1p", "atan"]
COMPARISONS = ["<", "<=", ">", ">=", "==", "!="]


def mutate(entries, rng):
    """Return a copy with one change, or None if the entry that was drawn has no other form."""
    at = int(rng.integers(len(entries)))
    name, *operands = entries[at]
    if name == "constant":
        operands = [operands[0] * (1 + rng.choice([1e-6, 1e-3, 0.5])) + rng.choice([0, 1e-6])]
    elif name in ("column", "parameter"):
        leaves = [e for e in entries if e[0] in ("column", "parameter") and e != entries[at]]
        if not leaves:
            return None
        name, *operands = leaves[int(rng.integers(len(leaves)))]
    elif len(operands) == 2 and rng.random() < 0.5:
        operands = operands[::-1]
    elif rng.random() < 0.3:
        operands[int(rng.integers(len(operands)))] = int(rng.integers(at))
    elif len(operands) == 1:
        name = str(rng.choice(UNARY))
    elif len(operands) == 2:
        name = str(rng.choice(COMPARISONS if name in COMPARISONS else BINARY))
    else:
        operands[1], operands[2] = operands[2], operands[1]
    changed = list(entries)
    changed[at] = (name, *operands)
    return changed


def library_agrees(entries, recording, rows, points, values):
    """Return True if the library's own comparison, which allows for terms that cancel, believes a mutant."""
    mutant = copy(recording)
    mutant.entries = entries
    try:
        model = recorded_model(mutant)
    except ValueError:
        return False
    return all(model.agrees(recording.columns, p, np.broadcast_to(v, (rows,))) for p, v in zip(points, values))


def main(wanted):
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    rng = np.random.default_rng(1)
    known = []
    for entry in MODELS:
        data, rows = guarded(entry.x), entry.y.size
        recording = record(lambda *p: entry.function(data, *p), entry.p.size, rows)  # noqa: B023
        if isinstance(recording, str):
            continue
        others = [entry.p * (1 + 0.05 * rng.normal(size=entry.p.size)) for _ in range(3)]
        for start in (perturbed(entry.p, -np.inf, np.inf, 0.2), np.ones(entry.p.size), entry.p):
            points = [start, entry.p]
            if not elsewhere(start, entry.p):
                points.append(perturbed(entry.p, -np.inf, np.inf))
            values = [np.asarray(entry.function(entry.x, *p), float).reshape(-1) for p in others + points]
            known.append((entry, recording, rows, others + points, values))
    wrong = believed = 0
    while wrong < wanted:
        entry, recording, rows, points, values = known[int(rng.integers(len(known)))]
        changed = mutate(recording.entries, rng)
        if changed is None:
            continue
        given = [evaluate(changed, recording.result, recording.columns, p, rows) for p in points]
        size = max(np.nanmax(np.abs(v)) for v in values[:3])
        if all(np.nanmax(np.abs(g - v), initial=0) <= 1e-6 * size for g, v in zip(given[:3], values[:3])):
            continue
        wrong += 1
        if all(agree(g, v) for g, v in zip(given[3:], values[3:])) or library_agrees(
            changed, recording, rows, points[3:], values[3:]
        ):
            believed += 1
            print("believed:", entry.name, [(a, b) for a, b in zip(recording.entries, changed) if a != b])
    recorded = len(known) // 3
    print(f"{recorded} of {len(MODELS)} models recorded ({100 * recorded / len(MODELS):.0f} %)")
    print(f"{wrong} wrong recordings, {believed} believed")
    return 1 if believed else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000))
