#!/usr/bin/env python3
"""Measures segment decoding against flash-semicrf: bench_segments.py KBEST T:W [T:W ...]

For each size: one sequence of `kbest generate segments` (24 labels, node scores, durations, dense edges, double
precision), decoded by flash-semicrf on the CPU and by kbest, on one thread each. flash-semicrf computes the best score
only (no path), from cumulative scores that are made outside the timing; kbest finds the path, too, from the raw scores. The
best scores must agree. Prints a table. Needs flash-semicrf and numpy in the Python that runs this.
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy
import torch
from flash_semicrf import semi_crf_streaming_forward

DECODERS = ["semi-viterbi-simd", "auto"]


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    kbest = sys.argv[1]
    torch.set_num_threads(1)
    print("| T | W | flash-semicrf | semi-viterbi-simd | auto | simd vs flash | auto vs flash |")
    print("|---|---|---|---|---|---|---|")
    for size in sys.argv[2:]:
        positions, longest = map(int, size.split(":"))
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "segments.npz"
            generate = [kbest, "generate", "segments", "--sequences", "1", "--positions", str(positions)]
            subprocess.run(generate + ["--longest", str(longest), "--dtype", "f64", "-o", file], check=True)
            arrays = dict(numpy.load(file))
            # flash-semicrf lets an edge lead into the first segment, too, from the label that suits it best.
            numpy.savez(file, start=arrays["edge"].max(axis=0), **arrays)
            ours, score = measure(kbest, file)
            theirs, expected = flash(arrays)
        if abs(score - expected) > 1e-6 * max(1.0, abs(expected)):
            sys.exit(f"the best scores differ: {score} by kbest, {expected} by flash-semicrf")
        times = [theirs] + [ours[decoder] for decoder in DECODERS]
        shown = [f"{1000 * seconds:,.2f} ms" for seconds in times]
        ratios = [f"{theirs / seconds:,.0f}" for seconds in times[1:]]
        print("|", " | ".join([f"{positions:,}", f"{longest:,}"] + shown + ratios), "|", flush=True)


def measure(kbest, file):
    """Seconds of each decoder, and the best score."""
    bench = [kbest, "bench", "decode", file, "--decoders", ",".join(DECODERS), "--repeat", "9", "--json"]
    rows = json.loads(subprocess.run(bench, check=True, capture_output=True).stdout)["rows"]
    line = subprocess.run([kbest, "decode", file], check=True, capture_output=True).stdout
    return {row["decoder"]: row["seconds"] for row in rows}, json.loads(line)["paths"][0]["score"]


def flash(arrays):
    """CPU seconds of the best of two runs (one if it takes long), and the best score."""
    node = torch.from_numpy(arrays["node"].reshape(-1, arrays["node"].shape[-1]))
    edge, duration = torch.from_numpy(arrays["edge"]), torch.from_numpy(arrays["duration"])
    sums = torch.zeros(1, len(node) + 1, node.shape[1], dtype=torch.float64)
    sums[0, 1:] = torch.cumsum(node, 0)
    lengths = torch.tensor([len(node)])
    best = float("inf")
    for _ in range(2):
        begin = time.process_time()
        with torch.no_grad():
            score = semi_crf_streaming_forward(
                sums, edge, duration, lengths, len(duration), semiring="max", use_triton=False
            )
        best = min(best, time.process_time() - begin)
        if best > 20:
            break
    return best, score.item()


if __name__ == "__main__":
    main()
