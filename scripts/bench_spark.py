#!/usr/bin/env python3
"""kbest.spark on executors of this machine, against one thread without Spark: writes the tables of benchmarks/spark.md.

usage: scripts/bench_spark.py [--program PATH] [--sentences N] [--labels L] [--features SET] [--repeat N] [--only tagging|training]

Needs an environment with kbest[spark], Java 17 or newer, and the command line (to generate text).
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PARTITIONS = 16
ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "crates/kbest-py/tests"))


def read(path):
    """Sentences of a file in columns: tokens and labels."""
    tokens, labels = [[]], [[]]
    for line in open(path, encoding="utf-8"):
        line = line.rstrip("\n")
        if line:
            word, *_, label = line.split("\t")
            tokens[-1].append(word)
            labels[-1].append(label)
        elif tokens[-1]:
            tokens.append([])
            labels.append([])
    return [x for x in tokens if x], [y for y in labels if y]


def processor_seconds():
    """Of this process, and of all executors and Python workers of this machine."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            line = (stat.parent / "cmdline").read_bytes()
            if b"CoarseGrainedExecutorBackend" in line or b"pyspark.daemon" in line:
                fields = stat.read_text().rsplit(")", 1)[1].split()
                ticks += sum(map(int, fields[11:13]))
        except OSError:
            pass  # it has ended
    return time.process_time() + ticks / os.sysconf("SC_CLK_TCK")


def timed(run):
    """Seconds of the clock and of the processor."""
    used, begun = processor_seconds(), time.perf_counter()
    run()
    return time.perf_counter() - begun, processor_seconds() - used


def tagging(folder, model, table, repeat):
    """Rows per second: one thread without Spark, then two executors."""
    import kbest
    import kbest.spark
    from spark_session import session

    tagger = kbest.Tagger.load(model)
    path = str(folder / "rows.parquet")
    tokens = sum(map(len, table["tokens"].to_pylist()))
    times = {"tag_arrow, one thread": [], "2 executors": [], "2 executors, rows only passed through": []}
    spark = session("local-cluster[2,1,2048]", **{"spark.executor.memory": "1g"})
    import pyarrow.parquet

    pyarrow.parquet.write_table(table, path, row_group_size=4000)
    df = spark.read.parquet(path).repartition(PARTITIONS).persist()
    df.count()
    finish = lambda rows: rows.write.format("noop").mode("overwrite").save()  # noqa: E731
    finish(kbest.spark.tag(df, tagger))  # workers are started, the model is there
    for _ in range(repeat):
        times["tag_arrow, one thread"].append(timed(lambda: tagger.tag_arrow(table, threads=1)))
        times["2 executors"].append(timed(lambda: finish(kbest.spark.tag(df, tagger))))
        times["2 executors, rows only passed through"].append(timed(lambda: finish(df.mapInArrow(lambda rows: rows, df.schema))))
    clock = {name: min(seconds for seconds, _ in pairs) for name, pairs in times.items()}
    used = {name: min(seconds for _, seconds in pairs) for name, pairs in times.items()}
    cores = {name: 2 if "executors" in name else 1 for name in times}
    print("\n| what | seconds | processor seconds | tokens per second | times one thread | times one thread if every core were free |\n|---|---|---|---|---|---|")
    one = "tag_arrow, one thread"
    for name in times:
        free = used[one] / (used[name] / cores[name])
        print(f"| {name} | {clock[name]:.2f} | {used[name]:.2f} | {tokens / clock[name]:,.0f} | {clock[one] / clock[name]:.2f} | {free:.2f} |")
    passed = used["2 executors, rows only passed through"]
    # The same rows in large and in small batches: the difference is what a batch costs.
    seconds = {}
    for size in [10_000, 100]:
        spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", str(size))
        seconds[size] = min(timed(lambda: finish(kbest.spark.tag(df, tagger)))[1] for _ in range(repeat))
    batches = {size: PARTITIONS * -(-(len(table) // PARTITIONS) // size) for size in seconds}
    each = (seconds[100] - seconds[10_000]) / (batches[100] - batches[10_000])
    print(f"\n{len(table):,} rows; passing rows through costs {1e6 * passed / len(table):.1f} microseconds of the processor per row; a batch of rows {1e3 * each:.2f} ms")
    spark.stop()


def training(table):
    """Seconds per epoch and bytes that travel, with one and two executors."""
    import kbest
    import kbest.sharded
    import kbest.spark
    from spark_session import session

    options = dict(shards=8, epochs=3)
    print("\n| algorithm | where | seconds per epoch | a step sends | the sum of a group | same model |\n|---|---|---|---|---|---|")
    for algorithm in ["averaged", "crf"]:
        volume = {}
        whole = kbest.spark._OnSpark.total

        def total(self, plan, observed, step, volume=volume, whole=whole):
            answer = whole(self, plan, observed, step)
            volume.update(step=len(step), answer=len(answer))
            return answer

        seen, models = [], []
        kbest.sharded.train(table, algorithm, threads=1, callback=lambda e: seen.append(e.seconds), **options)
        models.append(kbest.sharded.train(table, algorithm, threads=1, **options).to_bytes())
        rows = [("one thread, no Spark", min(seen))]
        for executors in [1, 2]:
            spark = session(f"local-cluster[{executors},1,2048]", **{"spark.executor.memory": "1g"})
            df = spark.createDataFrame(table.to_pandas())
            seen = []
            kbest.spark._OnSpark.total = total
            models.append(kbest.spark.train(df, algorithm, callback=lambda e: seen.append(e.seconds), **options).to_bytes())
            kbest.spark._OnSpark.total = whole
            rows.append((f"{executors} executor{'s' * (executors > 1)}", min(seen)))
            spark.stop()
        for name, seconds in rows:
            same = "yes" if len(set(models)) == 1 else "NO"
            print(f"| {algorithm} | {name} | {seconds:.2f} | {volume['step'] / 1e6:.1f} MB | {volume['answer'] / 1e6:.1f} MB | {same} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "target/release/kbest"))
    parser.add_argument("--sentences", type=int, default=60_000)
    parser.add_argument("--labels", type=int, default=300)
    parser.add_argument("--features", help="set of features, as for kbest.train [default: that of kbest.train]")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", choices=["tagging", "training"])
    arguments = parser.parse_args()
    import kbest
    import pyarrow

    print(f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores, pyspark {__import__('pyspark').__version__}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        train, test = folder / "train.tsv", folder / "test.tsv"
        generate = [arguments.program, "generate", "corpus", "--labels", str(arguments.labels), "-o", str(train), "--test", str(test)]
        subprocess.run(generate, check=True)
        tokens, labels = read(train)
        tagger = kbest.train(tokens, labels, epochs=3, features=arguments.features)
        tagger.save(folder / "model.kbest")
        many = (tokens * -(-arguments.sentences // len(tokens)))[: arguments.sentences]
        rows = pyarrow.table({"id": range(len(many)), "tokens": many})
        print(f"{len(many):,} sentences, {sum(map(len, many)):,} tokens, {len(tagger.labels)} labels")
        if arguments.only != "training":
            tagging(folder, folder / "model.kbest", rows, arguments.repeat)
        if arguments.only != "tagging":
            training(pyarrow.table({"id": range(len(tokens)), "tokens": tokens, "labels": labels}))
    print(f"load at the end {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
