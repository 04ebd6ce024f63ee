#!/usr/bin/env python3
"""Measures the Python package: the cost of a call, and its speed beside librosa, hmmlearn, pytorch-crf and the command line.

One thread throughout, interleaved rounds, best of --repeat; seconds are those of the processor (of child processes, too), so that
other users of the machine matter less. Needs the installed package and the libraries to compare with (those
that are missing are left out), and a release build of the command line for the last part.

    make test-python-peers && cargo build --release -p kbest-cli
    target/python-peers/bin/python scripts/bench_python.py --lattices FOLDER
"""

from __future__ import annotations

import argparse
import os

for variable in ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "POLARS_MAX_THREADS"]:
    os.environ[variable] = "1"

import subprocess
import tempfile
import time
from pathlib import Path

import kbest
import numpy as np


def processor_seconds():
    """Time spent by this process and the children it has waited for."""
    import resource

    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def best_of(repeat, clock=time.process_time, **runs):
    """Seconds of each run: interleaved, best of all rounds."""
    seconds = {name: float("inf") for name in runs}
    for _ in range(repeat):
        for name, run in runs.items():
            begun = clock()
            run()
            seconds[name] = min(seconds[name], clock() - begun)
    return seconds


def row(*cells):
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def calls(repeat):
    print("\n## A call\n\nMicroseconds per call of `kbest.decode`, k = 1, threads=1; the search itself is part of it.\n")
    row("node", "edge", "microseconds")
    row("---", "---", "---")
    count = 20000
    for steps, labels, dtype in [(1, 2, np.float32), (1, 2, np.float64), (5, 4, np.float32), (20, 20, np.float32)]:
        node, edge = np.zeros((steps, labels), dtype), np.zeros((labels, labels), dtype)
        for name, edges in [("prepared", kbest.Edges(edge)), ("array", edge)]:

            def run(edges=edges):
                for _ in range(count):
                    kbest.decode(node, edges)

            seconds = best_of(repeat, run=run)["run"]
            row(f"({steps}, {labels}) {dtype.__name__}", name, f"{1e6 * seconds / count:.2f}")


def stochastic(random, states, band=None):
    rows = random.random((states, states)) ** 4 + 1e-6
    if band is not None:
        i = np.arange(states)
        rows[abs(i[:, None] - i) > band] = 0
    return rows / rows.sum(axis=1, keepdims=True)


def hmms(repeat, states=1440, steps=1000):
    print(f"\n## {states} states, {steps} steps\n\nSeconds per sequence; `kbest` reads the matrix in every call.\n")
    row("transitions", "library", "its seconds", "kbest's seconds", "times as fast")
    row("---", "---", "---", "---", "---")
    random = np.random.default_rng(0)
    for name, band in [("dense", None), ("banded, 5 on each side", 5)]:
        transition = stochastic(random, states, band)
        walk = np.clip(np.cumsum(random.integers(-2, 3, steps)) + states // 2, 0, states - 1)
        likelihood = np.exp(-0.5 * ((np.arange(states)[None] - walk[:, None] - random.normal(size=(steps, 1))) / 3) ** 2)
        prob = np.ascontiguousarray((likelihood + 1e-9).T)
        prob /= prob.sum(axis=0)
        sparse = transition
        if band is not None:
            import scipy.sparse

            sparse = scipy.sparse.csr_matrix(transition)
        try:
            import librosa

            librosa.sequence.viterbi(prob[:4, :3] / prob[:4, :3].sum(0), stochastic(random, 4))  # compiles
            seconds = best_of(
                repeat,
                theirs=lambda: librosa.sequence.viterbi(prob, transition),
                ours=lambda: kbest.compat.librosa_viterbi(prob, sparse, threads=1),
            )
            report(name, "librosa", seconds)
            theirs = librosa.sequence.viterbi(prob, transition)
            assert (theirs == kbest.compat.librosa_viterbi(prob, sparse)).all() or band is not None
        except ImportError:
            pass
        try:
            from hmmlearn import hmm

            model = hmm.GaussianHMM(n_components=states, covariance_type="diag")
            model.startprob_, model.transmat_ = np.full(states, 1 / states), transition
            model.means_, model.covars_ = np.arange(states, dtype=float)[:, None], np.full((states, 1), 9.0)
            X = (walk + random.normal(size=steps))[:, None]
            log_likelihood = model._compute_log_likelihood(X)
            with np.errstate(divide="ignore"):
                start, edge = np.log(model.startprob_), np.log(transition)
            edges = edge if band is None else kbest.SparseEdges.from_scipy(log_of(sparse))
            from hmmlearn import _hmmc

            seconds = best_of(
                repeat,
                theirs=lambda: _hmmc.viterbi(model.startprob_, transition, log_likelihood),
                ours=lambda: kbest.decode(log_likelihood, edges, start=start, threads=1),
            )
            report(name, "hmmlearn (its search alone)", seconds)
        except ImportError:
            pass


def log_of(matrix):
    matrix = matrix.copy()
    matrix.data = np.log(matrix.data)
    return matrix


def report(name, library, seconds):
    row(name, library, f"{seconds['theirs']:.4g}", f"{seconds['ours']:.4g}", f"{seconds['theirs'] / seconds['ours']:.1f}")


def torchcrf(repeat, folder, sequences):
    try:
        import torch
        from torchcrf import CRF
    except ImportError:
        return
    torch.set_num_threads(1)
    print(f"\n## pytorch-crf on the CPU\n\nThe first {sequences} sequences of each file, one by one; edges prepared once.\n")
    row("lattices", "labels", "its seconds", "kbest's seconds", "times as fast")
    row("---", "---", "---", "---", "---")
    for name in ["conll2000-joint", "hungarian-morph"]:
        path = Path(folder) / f"{name}.npz"
        if not path.exists():
            continue
        arrays = np.load(path)
        node = arrays["node"][:sequences]
        lengths = arrays["lengths"][:sequences] if "lengths" in arrays else np.full(len(node), node.shape[1])
        labels = node.shape[-1]
        if "edge" in arrays:
            edge = arrays["edge"]
        else:
            edge = np.full((labels, labels), arrays["edge_base"], np.float32)
            edge[arrays["edge_from"], arrays["edge_to"]] = arrays["edge_value"]
        crf = CRF(labels, batch_first=True)
        with torch.no_grad():
            crf.transitions.copy_(torch.tensor(edge))
            for border, parameter in [("start", crf.start_transitions), ("end", crf.end_transitions)]:
                parameter.copy_(torch.tensor(arrays[border]) if border in arrays else torch.zeros(labels))
        borders = {b: arrays[b] for b in ["start", "end"] if b in arrays}
        edges = kbest.Edges(edge)
        rows = [np.ascontiguousarray(n[:size]) for n, size in zip(node, lengths) if size]
        tensors = [torch.tensor(n)[None] for n in rows]

        def theirs():
            with torch.no_grad():
                return [crf.decode(tensor)[0] for tensor in tensors]

        def ours():
            return [kbest.decode(n, edges, threads=1, **borders) for n in rows]

        seconds = best_of(repeat, theirs=theirs, ours=ours)
        same = np.mean([found.labels.tolist() == labels for found, labels in zip(ours(), theirs())])
        row(name, labels, f"{seconds['theirs']:.4g}", f"{seconds['ours']:.4g}", f"{seconds['theirs'] / seconds['ours']:.0f}")
        print(f"\n{100 * same:.0f} % of the label sequences are equal (ties are broken differently).\n")


def text(repeat, program):
    if not Path(program).exists():
        return
    print("\n## Tagging text\n\nTokens per second, one thread; the command line reads a file and writes a file.\n")
    row("labels", "command line", "tag_batch", "share", "tag_arrow", "share")
    row("---", "---", "---", "---", "---", "---")
    import pyarrow

    with tempfile.TemporaryDirectory() as folder:
        for labels in [50, 300, 1000]:
            train, test, model = (str(Path(folder) / name) for name in ["train.tsv", "test.tsv", "model.kbest"])
            size = ["--sentences", "2000", "--test-sentences", "4000"]
            subprocess.run([program, "generate", "corpus", "--labels", str(labels), "-o", train, "--test", test, *size], check=True)
            subprocess.run([program, "train", train, "-m", model, "--epochs", "3", "-q"], check=True)
            tagger = kbest.Tagger.load(model)
            sequences = [
                [line.split("\t")[0].split(" ")[0] for line in block.split("\n") if line]
                for block in Path(test).read_text().split("\n\n")
                if block.strip()
            ]
            column = pyarrow.array(sequences)
            words = Path(folder) / "words.txt"
            words.write_text("".join("".join(w + "\n" for w in tokens) + "\n" for tokens in sequences))
            command = [program, "tag", "-m", model, str(words), "--threads", "1", "-o", str(Path(folder) / "out")]
            empty = Path(folder) / "empty.txt"
            empty.write_text("")
            seconds = best_of(
                repeat,
                clock=processor_seconds,
                nothing=lambda: subprocess.run([*command[:4], str(empty), *command[5:]], check=True),
                program=lambda: subprocess.run(command, check=True),
                batch=lambda: tagger.tag_batch(sequences, threads=1),
                arrow=lambda: tagger.tag_arrow(column, threads=1),
            )
            tokens = sum(map(len, sequences))
            speed = {name: tokens / s for name, s in seconds.items()}
            speed["program"] = tokens / (seconds["program"] - seconds["nothing"])  # without starting and loading
            cells = [f"{speed[n]:,.0f}" for n in ["program", "batch", "arrow"]]
            shares = [f"{100 * speed[n] / speed['program']:.0f} %" for n in ["batch", "arrow"]]
            row(labels, cells[0], cells[1], shares[0], cells[2], shares[1])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--lattices", default="bench-results/lattices", help="folder of .npz files")
    parser.add_argument("--sequences", type=int, default=10, help="sequences for pytorch-crf, which is slow")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--program", default="target/release/kbest")
    parser.add_argument("--only", default="calls,hmms,torchcrf,text")
    options = parser.parse_args()

    for part in options.only.split(","):
        {
            "calls": lambda: calls(options.repeat),
            "hmms": lambda: hmms(options.repeat),
            "torchcrf": lambda: torchcrf(options.repeat, options.lattices, options.sequences),
            "text": lambda: text(options.repeat, options.program),
        }[part]()
