#!/usr/bin/env python3
"""Draw speed-up against length: one line per decoder, one point per group of lengths.

usage: kbest bench tag MODEL FILE --json | speed_against_length.py - OUT.svg
       speed_against_length.py TABLE OUT.svg

The table is printed. TABLE: a line of group names, then for each decoder its name and its speed-ups, all separated by tabs:

    tokens<TAB>5-8<TAB>9-12
    semi-astar<TAB>1.4<TAB>1.7
"""

import json
import sys

WIDTH, HEIGHT, LEFT, TOP, BOTTOM, RIGHT = 640, 360, 50, 20, 50, 170
COLOURS = ["#1b6ca8", "#c0392b", "#27823b", "#7d3c98"]


def of_report(report: dict) -> list[list[str]]:
    """The table of a report of `kbest bench tag`: groups with sequences, decoders but for the one they are compared with."""
    firsts = [first for first, _ in report["lengths"]]
    names = [f"{first}-{next_first - 1}" for first, next_first in zip(firsts, firsts[1:])] + [f"{firsts[-1]}-"]
    there = [i for i, (_, sequences) in enumerate(report["lengths"]) if sequences > 0]
    table = [["tokens"] + [names[i] for i in there], ["sequences"] + [str(report["lengths"][i][1]) for i in there]]
    for row in report["decoders"][1:]:
        table.append([row["decoder"]] + [f"{row['speedup_by_length'][i]:.1f}" for i in there])
    return table


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    if sys.argv[1] == "-":
        table = of_report(json.load(sys.stdin))
    else:
        with open(sys.argv[1], encoding="utf-8") as file:
            table = [line.split("\t") for line in file.read().splitlines() if line]
    for row in table:
        print("| " + " | ".join(row) + " |")
    (title, *groups), *rows = [row for row in table if row[0] != "sequences"]
    top = max(float(value) for _, *values in rows for value in values) * 1.1
    across = (WIDTH - LEFT - RIGHT) / max(1, len(groups) - 1)
    up = (HEIGHT - TOP - BOTTOM) / top
    place = lambda i, value: (LEFT + i * across, HEIGHT - BOTTOM - value * up)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>']
    for tick in range(int(top) + 1):
        _, y = place(0, tick)
        out.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="{"#888" if tick == 1 else "#ddd"}"/>')
        out.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{tick}</text>')
    for i, group in enumerate(groups):
        x, _ = place(i, 0)
        out.append(f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{group}</text>')
    out.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 10}" text-anchor="middle">{title}</text>')
    for colour, (name, *values) in zip(COLOURS, rows):
        points = [place(i, float(value)) for i, value in enumerate(values)]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        out.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        out.extend(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in points)
        x, y = points[-1]
        out.append(f'<text x="{x + 8:.1f}" y="{y + 4:.1f}" fill="{colour}">{name}</text>')
    out.append("</svg>")
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write("\n".join(out) + "\n")


main()
