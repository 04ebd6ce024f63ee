#!/usr/bin/env python3
"""How much memory tagging and training on a cluster take: writes the table of sizes in benchmarks/spark.md.

usage: scripts/spark_memory.py [--program PATH] [--labels L] [--tokens T]

Each figure is the growth of a process's peak (VmHWM), in a process of its own. Needs an environment with kbest[spark] and the
command line (to generate text); no Java.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path

from bench_spark import ROOT, read


def status(field):
    """Bytes: VmHWM is the peak so far, VmRSS what is there now."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(field))
    return 1024 * int(line.split()[1])


def of_model(path, field):
    """Bytes of the file's map in this process: Rss, or Pss, its share if several have it."""
    total, inside = 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if "-" in line.split()[0] and not line.split()[0].endswith(":"):
            inside = path in line
        elif inside and line.startswith(field + ":"):
            total += 1024 * int(line.split()[1])
    return total


def tag(path, tokens, length, k, marginals):
    """Growth of the peak by one long row."""
    import kbest

    tagger = kbest.Tagger.load(path)
    call = lambda row: tagger.kbest(row, k, probabilities=marginals)  # noqa: E731
    call(tokens[:10])
    before = max(status("VmHWM"), status("VmRSS"))
    call((tokens * -(-length // len(tokens)))[:length])
    return status("VmHWM") - before


def shared(path, tokens, sibling):
    """The model's map in two processes that tag at the same time: Rss and Pss of the first."""
    import kbest

    tagger = kbest.Tagger.load(path)
    tagger.tag(tokens)
    if not sibling:
        other = subprocess.Popen([sys.executable, __file__, "child", json.dumps(["shared", path, tokens, True])],
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        other.stdout.readline()
        found = of_model(path, "Rss"), of_model(path, "Pss")
        other.communicate(b"\n")
        return found
    print("ready", flush=True)
    sys.stdin.readline()


def answer(path):
    """Growth of the peak while a shard answers a step."""
    from kbest._kbest import ShardPlan

    with open(path, "rb") as file:
        options, model, observed, shard, step = pickle.load(file)
    before = status("VmHWM")
    plan = ShardPlan(options, model, observed)
    planned = status("VmHWM") - before
    plan.answer(0, shard, step)
    return planned, status("VmHWM") - before - planned


def driver(path):
    """Growth of the driver's peak from the first step on; the shards are elsewhere."""
    from kbest._kbest import ShardPlan

    with open(path, "rb") as file:
        options, model, observed, total = pickle.load(file)
    plan = ShardPlan(options, model, observed)
    before = []

    def run(step):
        before.append(status("VmHWM"))
        return total

    plan.train(run, 0, epochs=3)
    return status("VmHWM") - before[0]


def child(*call):
    ran = subprocess.run([sys.executable, __file__, "child", json.dumps(call)], capture_output=True, text=True, check=True)
    return json.loads(ran.stdout)


def training(folder, tokens, labels):
    import kbest.sharded
    import pyarrow

    table = pyarrow.table({"id": range(len(tokens)), "tokens": tokens, "labels": labels})
    count = sum(map(len, tokens))
    for algorithm in ["averaged", "crf"]:
        seen = {}

        class Watched(kbest.sharded._Here):
            def number(self, model):
                seen["model"] = model
                return super().number(model)

            def total(self, plan, observed, step):
                seen.update(observed=observed, step=step, shard=max(self.shards, key=len), bytes=sum(map(len, self.shards)))
                seen["total"] = super().total(plan, observed, step)
                return seen["total"]

        here, kbest.sharded._Here = kbest.sharded._Here, Watched
        kbest.sharded.train(table, algorithm, shards=8, epochs=3, threads=1)
        kbest.sharded._Here = here
        options = {"algorithm": algorithm}
        (folder / "answer").write_bytes(pickle.dumps((options, seen["model"], seen["observed"], seen["shard"], seen["step"])))
        (folder / "driver").write_bytes(pickle.dumps((options, seen["model"], seen["observed"], seen["total"])))
        step = len(seen["step"])
        planned, worked = child("answer", str(folder / "answer"))
        grown = child("driver", str(folder / "driver"))
        print(f"| {algorithm}: shards as numbers | {seen['bytes'] / count:.0f} bytes per token |")
        print(f"| {algorithm}: a step (the weights as they travel) | {step / 1e6:.2f} MB |")
        print(f"| {algorithm}: labels, features and layout, per Python worker | {planned / len(seen['model']):.1f} x the {len(seen['model']) / 1e6:.2f} MB of labels and features |")
        print(f"| {algorithm}: a task that answers, besides | {(worked - len(seen['shard'])) / step:.1f} x a step, and its shard |")
        print(f"| {algorithm}: the driver while it trains | {grown / step:.1f} x a step |")


def main():
    if sys.argv[1:2] == ["child"]:
        name, *call = json.loads(sys.argv[2])
        found = {"tag": tag, "shared": shared, "answer": answer, "driver": driver}[name](*call)
        if found is not None:
            print(json.dumps(found))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "target/release/kbest"))
    parser.add_argument("--labels", type=int, default=1000)
    parser.add_argument("--tokens", type=int, default=20_000)
    arguments = parser.parse_args()
    import kbest

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        train = folder / "train.tsv"
        subprocess.run([arguments.program, "generate", "corpus", "--labels", str(arguments.labels), "-o", str(train)], check=True)
        tokens, labels = read(train)
        model = str(folder / "model.kbest")
        tagger = kbest.train(tokens, labels, epochs=3)
        tagger.save(model)
        words = [word for sentence in tokens for word in sentence][:100]
        size, count = os.path.getsize(model), len(tagger.labels)
        print(f"{count} labels, a model of {size / 1e6:.2f} MB, {len(tokens):,} sentences\n\n| what | memory |\n|---|---|")
        rss, pss = child("shared", model, words, False)
        print(f"| the model's map in one of two workers | {rss / size:.2f} x the file, of which {pss / size:.2f} x is its own share |")
        for k, marginals, length in [(1, False, arguments.tokens), (1, True, arguments.tokens), (5, False, arguments.tokens)]:
            grown = child("tag", model, words, length, k, marginals)
            what = f"k = {k}{', marginals' if marginals else ''}, a row of {length:,} tokens"
            print(f"| scratch of a tagger, {what} | {grown / length / count:.1f} bytes x positions x labels |")
        training(folder, tokens, labels)


if __name__ == "__main__":
    main()
