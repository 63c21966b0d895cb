#!/usr/bin/env python3
"""Draws the precision timeline of a fit: what nlsq-fit --json tells, as SVG on standard output.

    awk -f docs/counts.awk > counts.csv
    nlsq-fit counts.csv --model biexp --quiet --json fit.json
    python3 docs/precision_timeline.py fit.json > docs/precision_timeline.svg

Every iteration is a column: above, how far the optimum is, in standard errors of the parameters (of those
that the rows in the pass would give); below, how many rows the pass read; in the colour of the format that
evaluated them. The last column is the certificate.
"""
import json
import math
import sys

COLOUR = {"f32": "#d9822b", "f64": "#2b6cb0", "certificate": "#2f855a"}
LEFT, RIGHT, TOP = 86, 18, 52
DISTANCE, GAP, ROWS, BOTTOM = 190, 26, 70, 62  # heights of the two panels and what lies around them
COLUMN = 74


def steps(fit):
    for it in fit["precision"]["trace"]:
        yield it["residual"], it["decrement_sigma"], it["rows"], str(it["iteration"])
    end = fit["certificate"]
    yield "certificate", end["decrement_sigma"], fit["rows"], "certificate"


def text(x, y, words, anchor="middle", size=12, colour="#222", more=""):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" '
            f'fill="{colour}" {more}>{words}</text>')


def power(exponent):
    sign = "−" if exponent < 0 else ""
    return f'10<tspan dy="-5" font-size="9">{sign}{abs(exponent)}</tspan>'


def draw(fit):
    columns = list(steps(fit))
    positive = [d for _, d, _, _ in columns if d and d > 0]
    low = math.floor(math.log10(min(positive)))
    high = math.ceil(math.log10(max(positive)))
    most = max(rows for _, _, rows, _ in columns)
    width = LEFT + COLUMN * len(columns) + RIGHT
    base = TOP + DISTANCE + GAP + ROWS
    height = base + BOTTOM

    def y_distance(d):
        return TOP + DISTANCE * (high - math.log10(d)) / (high - low)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
           f'height="{height}" font-family="sans-serif">',
           f'<rect width="{width}" height="{height}" fill="white"/>']
    for k, (name, words) in enumerate([("f32", "rows in float32"), ("f64", "rows in float64"),
                                       ("certificate", "certificate, float64")]):
        x = LEFT + 150 * k
        out.append(f'<rect x="{x}" y="14" width="14" height="14" fill="{COLOUR[name]}"/>')
        out.append(text(x + 20, 26, words, "start"))
    for exponent in range(low, high + 1, 2):
        y = y_distance(10.0 ** exponent)
        out.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{width - RIGHT}" y2="{y:.1f}" stroke="#ddd"/>')
        out.append(text(LEFT - 8, y + 4, power(exponent), "end"))
    out.append(f'<line x1="{LEFT}" y1="{base}" x2="{width - RIGHT}" y2="{base}" stroke="#ddd"/>')
    for words, middle in (("distance, std. errors", TOP + DISTANCE / 2), ("rows", base - ROWS / 2)):
        out.append(text(24, middle, words, more=f'transform="rotate(-90 24 {middle:.1f})"'))

    points = []
    for k, (name, distance, rows, label) in enumerate(columns):
        x = LEFT + COLUMN * (k + 0.5)
        bar = max(2, ROWS * rows / most)
        out.append(f'<rect x="{x - 22:.1f}" y="{base - bar:.1f}" width="44" height="{bar:.1f}" '
                   f'fill="{COLOUR[name]}"/>')
        out.append(text(x, base + 18, label))
        out.append(text(x, base + 34, f"{rows:,}".replace(",", " "), size=10, colour="#666"))
        if distance and distance > 0:
            points.append((x, y_distance(distance), COLOUR[name]))
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in points)
    out.append(f'<polyline points="{path}" fill="none" stroke="#888"/>')
    out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="6" fill="{colour}"/>' for x, y, colour in points]
    out.append(text(LEFT + COLUMN * len(columns) / 2, base + 54,
                    f'iteration ({fit["model"]}, policy {fit["precision"]["policy"]}, {fit["kernel"]} kernels)',
                    colour="#444"))
    out.append("</svg>")
    return "\n".join(out)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as file:
        print(draw(json.load(file)))


if __name__ == "__main__":
    main()
