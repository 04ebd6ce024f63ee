#!/usr/bin/env python3
"""Measures `kbest train` and `kbest tag` against CRFsuite: bench_text.py --data DIR --kbest PATH --out OUT

DIR contains one folder per data set with train.tsv and test.tsv (or .tsv.gz): columns separated by tabs, the label
last, a blank line after each sequence. Both programs train an averaged perceptron on the same features: `kbest bench
tag --items` writes kbest's features as items that CRFsuite reads.

What is measured, on one thread each:

- Training: CPU seconds per epoch. kbest: the whole process (reading, features, epochs, writing) divided by the number
  of epochs. CRFsuite: training alone, with the data already loaded. If a CRFsuite epoch takes too long, it gets fewer
  epochs, then fewer sentences (but all labels), its time is scaled by tokens, and the result says so.
- Tagging: tokens per second of CPU time, best of several rounds. kbest: the whole process from text to text, and the
  same without its start-up time (from passing the file several times). CRFsuite: `set` and Viterbi alone, with features
  prepared in advance.
- Peak memory of the processes that tag. CRFsuite then reads its items one sequence at a time; the table shows its
  memory without and with the Python it runs in.

Results: OUT/NAME/result.json, written step by step, so that an interrupted run continues where it stopped (--fresh
starts over); OUT/summary.json and OUT/summary.txt for all data sets. Needs Linux, and python-crfsuite in the Python
that runs this.
"""
import argparse
import gzip
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

# Folder and feature set of each data set, ordered by number of labels.
DATASETS = {
    "conll2000": "columns",
    "ewt-pos": "words",
    "conll2000-joint": "words",
    "hpsg-lextype": "words",
    "czech-morph": "words",
}
COPIES = 10  # how often the test file is passed to one process to measure start-up time


# Files


def lines(path):
    """The lines of a file, gzipped or not."""
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as file:
        for line in file:
            yield line.rstrip("\n")


def blocks(path):
    """Lists of lines, separated by blank lines."""
    block = []
    for line in lines(path):
        if line:
            block.append(line)
        elif block:
            yield block
            block = []
    if block:
        yield block


def unescaped(field):
    return field.replace("\\:", ":").replace("\\\\", "\\") if "\\" in field else field


def items(path):
    """Sequences as (labels, lists of attributes) from a file of CRFsuite items."""
    for block in blocks(path):
        rows = [line.split("\t") for line in block]
        yield [unescaped(row[0]) for row in rows], [[unescaped(field) for field in row[1:]] for row in rows]


def found(folder, stem):
    for name in (stem + ".tsv", stem + ".tsv.gz"):
        if (folder / name).exists():
            return folder / name
    sys.exit(f"{folder}: expected {stem}.tsv or {stem}.tsv.gz, got neither")


def cut(path, sequences, out):
    """Writes the first sequences of a file to a new file; returns the file itself if all are wanted."""
    if not sequences:
        return path
    with open(out, "w", encoding="utf-8") as file:
        for _, block in zip(range(sequences), blocks(path)):
            file.write("\n".join(block) + "\n\n")
    return out


def write_json(path, value):
    part = path.with_suffix(".part")
    part.write_text(json.dumps(value, indent=1) + "\n")
    part.replace(path)


# Processes


class Failed(Exception):
    pass


def status_bytes(pid, key):
    """A size from the status of a process: VmRSS (current), VmHWM (peak so far); 0 if the process is gone."""
    try:
        with open(f"/proc/{pid}/status") as file:
            return next((int(line.split()[1]) * 1024 for line in file if line.startswith(key + ":")), 0)
    except OSError:
        return 0


def run(command, limit, stdout=subprocess.DEVNULL):
    """Runs a command; returns CPU seconds, wall seconds, peak bytes and its output (if requested)."""
    begun = time.monotonic()
    process = subprocess.Popen([str(word) for word in command], stdout=stdout, stderr=subprocess.PIPE)
    late = threading.Event()

    def stop():
        late.set()
        process.kill()

    timer = threading.Timer(limit, stop)
    timer.start()
    # Not `ru_maxrss`: that includes the Python that the process was forked from.
    peak, over = [0], threading.Event()

    def watch():
        while not over.is_set():
            peak[0] = max(peak[0], status_bytes(process.pid, "VmHWM"))
            over.wait(0.002)

    # Each pipe is read by its own thread before the wait, so that neither can fill up.
    texts = {}
    readers = [
        threading.Thread(target=lambda name=name, pipe=pipe: texts.update({name: pipe.read()}))
        for name, pipe in (("out", process.stdout), ("error", process.stderr))
        if pipe
    ]
    threads = [*readers, threading.Thread(target=watch)]
    for thread in threads:
        thread.start()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    timer.cancel()
    over.set()
    for thread in threads:
        thread.join()
    if late.is_set():
        raise Failed(f"stopped after {limit:.0f} s")
    if process.returncode != 0:
        tail = texts.get("error", b"").decode(errors="replace").strip().splitlines()[-3:]
        raise Failed(f"exit code {process.returncode}: {' '.join(map(str, command[:3]))}: {' | '.join(tail)}")
    return {
        "cpu": usage.ru_utime + usage.ru_stime,
        "wall": time.monotonic() - begun,
        "bytes": peak[0],
        "text": texts.get("out", b"").decode(),
    }


def child(step, limit, **options):
    """Runs a CRFsuite step in its own process, so that memory and time are its own."""
    command = [sys.executable, __file__, "--step", step, "--options", json.dumps(options)]
    return json.loads(run(command, limit, subprocess.PIPE)["text"])


# CRFsuite, in separate processes


def crfsuite_train(train, model, epochs, budget, seconds_per_token=None):
    """Trains within a budget of CPU seconds, as predicted from the pilot run."""
    import pycrfsuite

    sequences = list(items(pathlib.Path(train)))
    tokens = sum(len(labels) for labels, _ in sequences)
    # Sequences that introduce a new label come first, so that these alone cover all labels.
    seen, first, rest = set(), [], []
    for sequence in sequences:
        (first if set(sequence[0]) - seen else rest).append(sequence)
        seen.update(sequence[0])
    if seconds_per_token is None:
        chosen, epochs = first, 1
    else:
        chosen, expected = first + rest, tokens * seconds_per_token
        epochs = max(1, min(epochs, int(budget / max(expected, 1e-9))))
        if expected > budget:
            share, chosen = budget / expected * tokens, list(first)
            used = sum(len(labels) for labels, _ in chosen)
            for sequence in rest:
                if used >= share:
                    break
                chosen.append(sequence)
                used += len(sequence[0])
    trainer = pycrfsuite.Trainer(algorithm="ap", verbose=False)
    trainer.set_params({"max_iterations": epochs, "epsilon": 0.0, "feature.minfreq": 0})
    attributes = set()
    for labels, attribute_lists in chosen:
        attributes.update(*attribute_lists)
        trainer.append(pycrfsuite.ItemSequence(attribute_lists), labels)
    used = sum(len(labels) for labels, _ in chosen)
    begun = time.process_time()
    trainer.train(model)
    seconds = time.process_time() - begun
    return {
        "cpu": seconds,
        "epochs": epochs,
        "sequences": len(chosen),
        "tokens": used,
        "all_tokens": tokens,
        "labels": len(seen),
        "attributes": len(attributes),
        "cpu_per_epoch": seconds / epochs * tokens / used,
        "scaled": used < tokens,
        "model_bytes": os.path.getsize(model),
    }


def crfsuite_tag(test, model, rounds, budget):
    """Speed of `set` and Viterbi; accuracy on the sequences tagged."""
    import pycrfsuite

    tagger = pycrfsuite.Tagger()
    tagger.open(model)
    sequences = [(labels, pycrfsuite.ItemSequence(lists)) for labels, lists in items(pathlib.Path(test))]
    best, right, tokens, spent = None, 0, 0, 0.0
    for round_number in range(rounds):
        begun, done = time.process_time(), 0
        for labels, sequence in sequences:
            tagger.set(sequence)
            answer = tagger.tag()
            done += len(labels)
            if round_number == 0:
                right += sum(mine == gold for mine, gold in zip(answer, labels))
            if time.process_time() - begun > budget:
                break
        seconds = time.process_time() - begun
        best = max(best or 0.0, done / seconds)
        tokens = max(tokens, done)
        spent += seconds
        if spent > budget:
            break
    return {"tokens_per_second": best, "tokens": tokens, "accuracy": right / max(tokens, 1)}


def crfsuite_memory(test, model, budget):
    """Peak memory when sequences are read, tagged and discarded."""
    import pycrfsuite

    interpreter = status_bytes("self", "VmRSS")
    tagger = pycrfsuite.Tagger()
    tagger.open(model)
    begun = time.process_time()
    for _, lists in items(pathlib.Path(test)):
        tagger.tag(lists)
        if time.process_time() - begun > budget:
            break
    peak = status_bytes("self", "VmHWM")
    return {"bytes": peak - interpreter, "bytes_with_python": peak}


STEPS = {"train": crfsuite_train, "tag": crfsuite_tag, "memory": crfsuite_memory}


# Steps of a data set; each returns its part of the result


class Dataset:
    def __init__(self, name, options):
        self.name, self.options = name, options
        self.folder = options.out / name
        self.folder.mkdir(parents=True, exist_ok=True)
        source = options.data / name
        self.train = cut(found(source, "train"), options.sentences, self.folder / "train.tsv")
        self.test = cut(found(source, "test"), options.test_sentences, self.folder / "test.tsv")
        self.model, self.their_model = self.folder / "kbest.model", self.folder / "crfsuite.model"
        self.items = {"train": self.folder / "train.items", "test": self.folder / "test.items"}
        self.results = self.folder / "result.json"
        # The options a result depends on: results made with others are not reused.
        self.asked = {key: str(getattr(options, key)) for key in ("epochs", "sentences", "test_sentences")}

    def kbest(self, *words, limit=None, stdout=subprocess.DEVNULL):
        return run([self.options.kbest, *words], limit or self.options.limit, stdout)

    def our_training(self, _):
        words = ["--features", DATASETS[self.name], "--algorithm", "averaged", "--epochs", self.options.epochs]
        ran = self.kbest("train", self.train, "-m", self.model, *words, "--json", stdout=subprocess.PIPE)
        told = json.loads(ran["text"])
        epochs = told["epochs"]
        return {
            "cpu": ran["cpu"],
            "epochs": len(epochs),
            "cpu_per_epoch": ran["cpu"] / len(epochs),
            "wall_per_epoch_alone": sum(epoch["seconds"] for epoch in epochs) / len(epochs),
            "bytes": ran["bytes"],
            "labels": told["labels"],
            "tokens": told["tokens"],
            "features": told["node_features"],
            "model_bytes": told["bytes"],
        }

    def features(self, _):
        every = self.model.with_suffix(".every-feature")  # not only those that got weights
        words = ["--features", DATASETS[self.name], "--epochs", 1, "--keep-features"]
        self.kbest("train", self.train, "-m", every, *words)
        for part, path in self.items.items():
            data = self.train if part == "train" else self.test
            self.kbest("bench", "tag", every, data, "--repeat", 1, "--items", path)
        return {part: path.stat().st_size for part, path in self.items.items()}

    def pilot(self, _):
        options = {"train": str(self.items["train"]), "model": str(self.their_model), "epochs": 1, "budget": 0}
        return child("train", self.options.limit, **options)

    def their_training(self, results):
        pilot = results["pilot"]
        options = {
            "train": str(self.items["train"]),
            "model": str(self.their_model),
            "epochs": self.options.epochs,
            "budget": self.options.budget,
            "seconds_per_token": pilot["cpu"] / pilot["tokens"],
        }
        return child("train", self.options.limit, **options)

    def our_tagging(self, _):
        tagged = self.folder / "tagged.tsv"
        words = ["tag", "-m", self.model, "--threads", 1, "-o", tagged]
        once, often = [], []
        for _ in range(self.options.rounds):
            often.append(self.kbest(*words, *[self.test] * COPIES))
            once.append(self.kbest(*words, self.test))
        rows = [line.split("\t") for line in lines(tagged) if line]
        right = sum(row[-1] == row[-2] for row in rows)
        tagged.unlink()
        cpu = min(ran["cpu"] for ran in once)
        further = max(min(ran["cpu"] for ran in often) - cpu, 1e-9) / (COPIES - 1)
        return {
            "tokens": len(rows),
            "accuracy": right / max(len(rows), 1),
            "tokens_per_second": len(rows) / cpu,
            "tokens_per_second_once_started": len(rows) / further,
            "bytes": max(ran["bytes"] for ran in once + often),
        }

    def our_stages(self, _):
        words = ["bench", "tag", self.model, self.test, "--repeat", self.options.rounds, "--json"]
        return json.loads(self.kbest(*words, stdout=subprocess.PIPE)["text"])

    def their_tagging(self, _):
        options = {"test": str(self.items["test"]), "model": str(self.their_model)}
        budget = self.options.budget / 4
        tagging = child("tag", self.options.limit, **options, rounds=self.options.rounds, budget=budget)
        memory = child("memory", self.options.limit, **options, budget=min(budget, 20))
        return {**tagging, **memory}

    def run(self):
        """Runs the steps not done yet. Reports a step that fails, and the steps that need it."""
        results = {}
        if self.results.exists() and not self.options.fresh:
            results = json.loads(self.results.read_text())
        if results.get("asked") != self.asked:
            results = {"name": self.name, "asked": self.asked}
        # Name, function, results it needs, files it must leave.
        steps = [
            ("our_training", self.our_training, [], [self.model]),
            ("our_tagging", self.our_tagging, ["our_training"], []),
            ("our_stages", self.our_stages, ["our_training"], []),
            ("features", self.features, ["our_training"], list(self.items.values())),
            ("pilot", self.pilot, ["features"], []),
            ("their_training", self.their_training, ["pilot"], [self.their_model]),
            ("their_tagging", self.their_tagging, ["their_training"], []),
        ]
        again = set()
        for name, step, needs, files in steps:
            done = name in results and "error" not in results[name] and all(file.exists() for file in files)
            if done and not again & set(needs):
                continue
            again.add(name)
            missing = [need for need in needs if "error" in results.get(need, {"error": ""})]
            begun = time.monotonic()
            try:
                if missing:
                    raise Failed(f"needs {', '.join(missing)}")
                results[name] = step(results)
            except (Failed, OSError, ValueError, KeyError) as error:
                results[name] = {"error": str(error) or type(error).__name__}
            write_json(self.results, results)
            remark = results[name].get("error", "done")
            print(f"{self.name}: {name}: {remark} ({time.monotonic() - begun:.1f} s)", file=sys.stderr, flush=True)
        return results


# The tables


def number(value):
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def table(header, rows):
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    line = lambda row: "  ".join([row[0].ljust(widths[0])] + [c.rjust(w) for c, w in zip(row[1:], widths[1:])])
    return "\n".join(line(row).rstrip() for row in [header, *rows]) + "\n"


def ratio(above, below):
    return above / below if above and below else None


def summary(results):
    def get(result, *keys):
        for key in keys:
            result = result.get(key) if isinstance(result, dict) else None
        return result

    rows = []
    for result in results:
        ours, theirs = result.get("our_tagging", {}), result.get("their_tagging", {})
        our_epoch = get(result, "our_training", "cpu_per_epoch")
        their_epoch = get(result, "their_training", "cpu_per_epoch")
        speed, their_speed = ours.get("tokens_per_second"), theirs.get("tokens_per_second")
        epochs, asked = get(result, "their_training", "epochs"), get(result, "our_training", "epochs")
        used, tokens = get(result, "their_training", "tokens"), get(result, "their_training", "all_tokens")
        rows.append({
            "name": result["name"],
            "labels": get(result, "our_training", "labels"),
            "features": get(result, "our_training", "features"),
            "crfsuite_attributes": get(result, "their_training", "attributes"),
            "train_s": our_epoch,
            "crfsuite_train_s": their_epoch,
            "train_ratio": ratio(their_epoch, our_epoch),
            "tag": speed,
            "tag_started": ours.get("tokens_per_second_once_started"),
            "crfsuite_tag": their_speed,
            "tag_ratio": ratio(speed, their_speed),
            "tag_started_ratio": ratio(ours.get("tokens_per_second_once_started"), their_speed),
            "mb": ratio(ours.get("bytes"), 1e6),
            "crfsuite_mb": ratio(theirs.get("bytes"), 1e6),
            "crfsuite_python_mb": ratio(theirs.get("bytes_with_python"), 1e6),
            "accuracy": ours.get("accuracy"),
            "crfsuite_accuracy": theirs.get("accuracy"),
            "crfsuite_epochs": epochs,
            "crfsuite_share_of_data": ratio(used, tokens),
            "epochs": asked,
        })
    percent = lambda share: "-" if share is None else f"{100 * share:.2f}"
    speeds = [[row["name"]] + [number(row[key]) for key in (
        "labels", "train_s", "crfsuite_train_s", "train_ratio", "tag", "tag_started", "crfsuite_tag", "tag_ratio",
        "tag_started_ratio", "mb", "crfsuite_mb", "crfsuite_python_mb")] for row in rows]
    header = ["data set", "labels", "train s/epoch", "crfsuite", "ratio", "tag tokens/s", "once started", "crfsuite",
              "ratio", "started", "MB", "crfsuite", "with Python"]
    text = table(header, speeds) + "\n"
    rights = [[row["name"], percent(row["accuracy"]), percent(row["crfsuite_accuracy"]), number(row["epochs"]),
               number(row["crfsuite_epochs"]), percent(row["crfsuite_share_of_data"])] for row in rows]
    text += table(["data set", "accuracy %", "crfsuite %", "epochs", "crfsuite", "of its data %"], rights)
    text += "\nCPU time. CRFsuite's epoch is scaled by tokens if it saw only part of the data; its accuracy is not.\n"
    for result in results:
        for step, value in result.items():
            if isinstance(value, dict) and "error" in value:
                text += f"{result['name']}: {step}: {value['error']}\n"
    return rows, text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path, help="folder with the data sets")
    parser.add_argument("--kbest", type=pathlib.Path, help="path of the kbest program")
    parser.add_argument("--out", type=pathlib.Path, help="folder for the results")
    parser.add_argument("--datasets", default=",".join(DATASETS), help="comma-separated [%(default)s]")
    parser.add_argument("--epochs", type=int, default=10, help="training epochs [%(default)s]")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of tagging [%(default)s]")
    parser.add_argument("--budget", type=float, default=900, help="CPU seconds for CRFsuite's training [%(default)s]")
    parser.add_argument("--limit", type=float, default=3600, help="stop a step after this many seconds [%(default)s]")
    parser.add_argument("--sentences", type=int, help="train on the first N only")
    parser.add_argument("--test-sentences", type=int, help="tag the first N only")
    parser.add_argument("--fresh", action="store_true", help="discard earlier results and measure everything again")
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    parser.add_argument("--options", type=json.loads, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        json.dump(STEPS[options.step](**options.options), sys.stdout)
        return
    if not (options.data and options.kbest and options.out):
        parser.error("--data, --kbest and --out are required")
    try:
        import pycrfsuite  # noqa: F401
    except ImportError:
        parser.error("this Python has no python-crfsuite: pip install python-crfsuite")
    options.kbest = options.kbest.resolve()
    names = options.datasets.split(",")
    if unknown := [name for name in names if name not in DATASETS]:
        parser.error(f"--datasets: expected some of {', '.join(DATASETS)}, got {', '.join(unknown)}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    results = [Dataset(name, options).run() for name in names]
    rows, text = summary(results)
    write_json(options.out / "summary.json", rows)
    (options.out / "summary.txt").write_text(text)
    print(text, end="")


if __name__ == "__main__":
    main()
