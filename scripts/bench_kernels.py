#!/usr/bin/env python3
"""Accuracy of kernels, with every parameter chosen on held-out training data and the test data used once.

    scripts/bench_kernels.py letters TRAIN TEST     16 numbers per token: --features numbers
    scripts/bench_kernels.py chunks TRAIN TEST      words: the first 1,000 sequences, --features columns

Every fourth training sequence is held out while parameters are chosen. Then each family's choice is trained on all
sequences and evaluated on the test data. KBEST names the program (target/release/kbest).
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

KBEST = os.environ.get("KBEST", "target/release/kbest")
MARGIN = ["--loss", "margin", "--gap", "0.05"]
FAMILIES = {
    "letters": {
        "linear": [["--kernel", "linear", "--epochs", e] for e in ("10", "30")],
        "poly": [["--kernel", f"poly:{d}", "--epochs", e] for d in (2, 3, 4, 5, 6, 8) for e in ("10", "30")],
        "rbf": [["--kernel", f"rbf:{g}", "--epochs", e] for g in (0.5, 1, 2, 4, 8, 16) for e in ("10", "30")],
        "linear, margin": [["--kernel", "linear", *MARGIN, "--C", c] for c in ("100", "1000")],
        "rbf, margin": [["--kernel", f"rbf:{g}", *MARGIN, "--C", c] for g in (2, 4, 8) for c in ("100", "1000")],
    },
    "chunks": {
        "linear": [["--kernel", "linear"]],
        "poly": [["--kernel", f"poly:{d}:{o}"] for d, o in ((2, 1), (2, 5), (2, 20), (3, 20))],
        "rbf": [["--kernel", f"rbf:{g}"] for g in (0.003, 0.01, 0.03, 0.1)],
    },
}
FEATURES = {"letters": "numbers", "chunks": "columns"}
LIMIT = {"letters": None, "chunks": 1000}


def kbest(*arguments):
    return subprocess.run([KBEST, *map(str, arguments)], check=True, capture_output=True, text=True).stdout


def measure(kind, options, train, test, folder):
    """Accuracy on `test`, and seconds of training."""
    model = folder / "model.kbest"
    begun = time.monotonic()
    kbest("train", train, "-m", model, "-q", "--features", FEATURES[kind], "--algorithm", "dual", *options)
    seconds = time.monotonic() - begun
    report = json.loads(kbest("evaluate", "-m", model, test, "--json", "--threads", 1))
    support = json.loads(kbest("inspect", model, "--json")).get("support")
    return report, seconds, support["tokens"] if support else None


def main():
    kind, train, test = sys.argv[1], *map(pathlib.Path, sys.argv[2:4])
    blocks = [block for block in train.read_text().split("\n\n") if block.strip()][: LIMIT[kind]]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)

        def write(name, some):
            path = folder / name
            path.write_text("".join(block.strip("\n") + "\n\n" for block in some))
            return path

        part = write("part.tsv", [block for i, block in enumerate(blocks) if i % 4 != 3])
        held_out = write("held-out.tsv", blocks[3::4])
        whole = write("whole.tsv", blocks)
        print(f"{len(blocks)} sequences, {len(blocks[3::4])} of them held out")
        chosen = {}
        for family, grid in FAMILIES[kind].items():
            tried = []
            for options in grid:
                report, seconds, _ = measure(kind, options, part, held_out, folder)
                tried.append((report["accuracy"], options))
                print(f"  held out  {100 * report['accuracy']:6.2f} %  {seconds:5.1f} s  {' '.join(options)}", flush=True)
            chosen[family] = max(tried, key=lambda one: one[0])[1]  # the first among equals
        print("| options, chosen on held-out data | test: tokens right, % | F1 of spans | support tokens | training, s |")
        print("|---|---|---|---|---|")
        for options in chosen.values():
            report, seconds, support = measure(kind, options, whole, test, folder)
            f1 = (report.get("spans") or {}).get("f1")
            cells = [f"`{' '.join(options)}`", f"{100 * report['accuracy']:.2f}", f"{100 * f1:.2f}" if f1 else "", support or "(weights)"]
            print(f"| {' | '.join(map(str, cells))} | {seconds:.1f} |", flush=True)


if __name__ == "__main__":
    main()
