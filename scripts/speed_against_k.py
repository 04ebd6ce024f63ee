#!/usr/bin/env python3
"""Plots the time of k-best decoding against k: speed_against_k.py KBEST OUT.svg LATTICE.npz...

Runs `KBEST bench decode` with decoder auto for k from 1 to 1,000 on every lattice and writes one SVG with one line per
lattice: time per position relative to k = 1, both axes logarithmic. Needs nothing but Python.
"""
import json
import math
import pathlib
import subprocess
import sys

KS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]
WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 760, 460, 70, 60, 40, 190
COLOURS = ["#1b9e77", "#d95f02", "#7570b3", "#e7298a", "#66a61e", "#a6761d", "#1f78b4", "#666666"]


def seconds(kbest, lattice):
    """All numbers of paths in one process, in interleaved rounds."""
    ks = ",".join(map(str, KS))
    command = [kbest, "bench", "decode", lattice, "-k", ks, "--decoders", "auto", "--repeat", "40", "--json"]
    rows = json.loads(subprocess.check_output(command))["rows"]
    times = {row["k"]: row["seconds"] for row in rows if row["decoder"] == "auto"}
    return [times[k] for k in KS]


def main():
    kbest, out, *lattices = sys.argv[1:]
    lines = {pathlib.Path(f).stem: seconds(kbest, f) for f in lattices}
    ratios = {name: [t / times[0] for t in times] for name, times in lines.items()}
    top = max(max(r) for r in ratios.values())
    x = lambda k: LEFT + math.log10(k) / 3 * (WIDTH - LEFT - RIGHT)
    y = lambda r: HEIGHT - BOTTOM - math.log10(max(r, 0.9) / 0.9) / math.log10(top / 0.9) * (HEIGHT - BOTTOM - TOP)
    svg = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="13">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
           f'<text x="{LEFT}" y="24" font-size="15">Time of the k best paths (auto), relative to the best path alone</text>']
    for k in KS:
        svg.append(f'<line x1="{x(k):.1f}" y1="{TOP}" x2="{x(k):.1f}" y2="{HEIGHT - BOTTOM}" stroke="#eee"/>'
                   f'<text x="{x(k):.1f}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle">{k}</text>')
    r = 1
    while r <= top:
        svg.append(f'<line x1="{LEFT}" y1="{y(r):.1f}" x2="{WIDTH - RIGHT}" y2="{y(r):.1f}" stroke="#eee"/>'
                   f'<text x="{LEFT - 8}" y="{y(r) + 4:.1f}" text-anchor="end">{r}x</text>')
        r *= 2 if r < 4 else 4
    svg.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 14}" text-anchor="middle">k</text>')
    ends = sorted((y(r[-1]), name) for name, r in ratios.items())
    at = {}
    for end, name in ends:
        at[name] = max([end] + [v + 16 for v in at.values()])
    for i, (name, r) in enumerate(ratios.items()):
        points = " ".join(f"{x(k):.1f},{y(v):.1f}" for k, v in zip(KS, r))
        colour = COLOURS[i % len(COLOURS)]
        svg.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>'
                   f'<text x="{WIDTH - RIGHT + 8}" y="{at[name] + 4:.1f}" fill="{colour}">{name}</text>')
    svg.append("</svg>")
    pathlib.Path(out).write_text("\n".join(svg) + "\n")
    print(json.dumps({"k": KS, "seconds": lines}))


main()
