#!/usr/bin/env python3
"""Kills, fills, closes and disturbs `kbest` at random moments, and checks that nothing is lost and nothing is left behind.

    scripts/torture.py [--kills 1000] [--seed 1] [--kbest target/release/kbest]

Checks after every trial: a file is the old one, the new one, or absent where it never was, and never anything else; a run that
resumes gives the same model, byte for byte, as one that was never disturbed; after the next run there is no file that a run left
behind. Prints what was done, how often, and what failed; exit code 1 if anything did. Linux.
"""

import argparse
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

COUNTS = {}
FAILURES = []


def count(what):
    COUNTS[what] = COUNTS.get(what, 0) + 1


def check(holds, what, detail=""):
    if not holds:
        FAILURES.append(f"{what}: {detail}")
        print(f"FAILED {what}: {detail}", flush=True)


class Lab:
    """A folder with data, a model and its answers, made without disturbance."""

    def __init__(self, kbest, folder):
        self.kbest, self.folder = kbest, folder
        self.run("generate", "corpus", "--labels", "40", "--seed", "3", "-o", "train.tsv", "--test", "test.tsv")
        self.train = ["train", "train.tsv", "-m", "model", "--epochs", "4", "-q", "--dev", "test.tsv"]
        begun = time.monotonic()
        self.run(*self.train)
        self.seconds = {"train": time.monotonic() - begun}
        self.model = (folder / "model").read_bytes()
        for what, command in self.commands().items():
            begun = time.monotonic()
            self.run(*command)
            self.seconds[what] = time.monotonic() - begun
        self.right = {name: (folder / name).read_bytes() for name in ("tagged", "copy.kbest")}

    def commands(self):
        return {
            "tag -o": ["tag", "-m", "model", "test.tsv", "-o", "tagged", "--threads", "2"],
            "convert": ["convert", "model", "copy.kbest", "-q"],
        }

    def start(self, *arguments, **more):
        return subprocess.Popen([self.kbest, *arguments], cwd=self.folder, stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, **more)

    def run(self, *arguments):
        done = subprocess.run([self.kbest, *arguments], cwd=self.folder, capture_output=True)
        assert done.returncode == 0, (arguments, done.stderr)

    def strays(self):
        known = {"train.tsv", "test.tsv", "model", "tagged", "copy.kbest"}
        return sorted(name for name in os.listdir(self.folder) if name not in known)

    def disturb(self, process, seconds, how):
        time.sleep(random.uniform(0, seconds * 1.1))
        if process.poll() is None:
            process.send_signal(how)
            count(f"{how.name} hit")
        process.communicate()


def killed_training(lab, how):
    """A training that is disturbed again and again, and resumed until it is done."""
    (lab.folder / "model").unlink(missing_ok=True)
    more = []
    for _ in range(50):
        process = lab.start(*lab.train, *more)
        lab.disturb(process, lab.seconds["train"], how)
        count(f"train {how.name}")
        if process.returncode == 0:
            break
        model = lab.folder / "model"  # it may have been killed after the last step but one
        check(not model.exists() or model.read_bytes() == lab.model, "train", "half a model")
        if how != signal.SIGKILL:
            left = [name for name in lab.strays() if name not in ("model.checkpoint", "model.best")]
            check(not left, f"{how.name} leaves nothing half written", left)
        more = ["--resume"]
    else:
        lab.run(*lab.train, "--resume")
    check((lab.folder / "model").read_bytes() == lab.model, "a resumed model is the same", how.name)
    check(not lab.strays(), "no stray file after training", lab.strays())


def killed_output(lab, what, how):
    """An output that exists already, while a new one is written."""
    name = {"tag -o": "tagged", "convert": "copy.kbest"}[what]
    path = lab.folder / name
    old = random.choice([b"old", None])
    path.write_bytes(old) if old else path.unlink(missing_ok=True)
    process = lab.start(*lab.commands()[what])
    lab.disturb(process, lab.seconds[what], how)
    count(f"{what} {how.name}")
    now = path.read_bytes() if path.exists() else None
    check(now in (old, lab.right[name]), f"{what} is whole or not there", None if now is None else len(now))
    if how != signal.SIGKILL:
        check(not lab.strays(), f"{what}: {how.name} leaves nothing half written", lab.strays())
    lab.run(*lab.commands()[what])
    check(path.read_bytes() == lab.right[name], f"{what} after a kill")
    check(not lab.strays(), f"no stray file after {what}", lab.strays())


def two_at_once(lab):
    """Two trainings into one model: one is refused, the other is not disturbed."""
    (lab.folder / "model").unlink(missing_ok=True)
    both = [lab.start(*lab.train) for _ in range(2)]
    for process in both:
        process.communicate()
    codes = sorted(process.returncode for process in both)
    check(codes in ([0, 0], [0, 2]), "two at once", codes)
    check((lab.folder / "model").read_bytes() == lab.model, "two at once: the model")
    check(not lab.strays(), "two at once: no stray file", lab.strays())
    count("two trainings at once" + (", one refused" if codes == [0, 2] else ""))


def replaced_model(lab):
    """A model that is replaced while it is in use."""
    process = lab.start(*lab.commands()["tag -o"])
    for _ in range(5):
        (lab.folder / "new").write_bytes(lab.model)
        os.replace(lab.folder / "new", lab.folder / "model")
    process.communicate()
    check(process.returncode == 0, "a replaced model", process.returncode)
    check((lab.folder / "tagged").read_bytes() == lab.right["tagged"], "answers with a replaced model")
    count("model replaced under a running tag")


def closed_pipe(lab):
    process = subprocess.Popen([lab.kbest, "tag", "-m", "model", "test.tsv"], cwd=lab.folder,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.read(random.randrange(200))
    process.stdout.close()
    stderr = process.stderr.read()
    check(process.wait() == 0 and not stderr, "closed pipe", (process.returncode, stderr))
    count("closed pipe")


def full_disk(lab):
    """Every write to /dev/full fails as on a full disk; a limit on file sizes cuts real files short."""
    for arguments in (["tag", "-m", "model", "test.tsv", "-o", "/dev/full"], ["convert", "model", "/dev/full"]):
        done = subprocess.run([lab.kbest, *arguments], cwd=lab.folder, capture_output=True)
        check(done.returncode == 2 and b"kbest:" in done.stderr, "full disk", (arguments, done.returncode))
        count("full disk")
    before = (lab.folder / "model").read_bytes()
    blocks = random.randrange(1, 30)
    script = f"trap '' XFSZ; ulimit -f {blocks}; exec {lab.kbest} {' '.join(lab.train)}"
    done = subprocess.run(["bash", "-c", script], cwd=lab.folder, capture_output=True)
    check(done.returncode == 2, "a file too large", (blocks, done.returncode, done.stderr))
    check((lab.folder / "model").read_bytes() == before, "the old model stays", blocks)
    lab.run(*lab.train)
    check(not lab.strays(), "no stray file after a full disk", lab.strays())
    count("file size limit")


def read_only(lab):
    """A folder that cannot be written to. Root can write everywhere, so the folder is one of the kernel's."""
    for target in ("/proc/model", "/sys/model"):
        done = subprocess.run([lab.kbest, "train", "train.tsv", "-m", target], cwd=lab.folder, capture_output=True)
        check(done.returncode == 2 and b"kbest:" in done.stderr, "read-only folder", (target, done.stderr))
        count("read-only folder")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=1000, help="signals that hit a running process")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kbest", default="target/release/kbest")
    arguments = parser.parse_args()
    random.seed(arguments.seed)
    with tempfile.TemporaryDirectory() as folder:
        lab = Lab(str(pathlib.Path(arguments.kbest).resolve()), pathlib.Path(folder))
        hits = lambda: sum(n for what, n in COUNTS.items() if what.endswith(" hit"))
        shown, rounds = 0, 0
        while hits() < arguments.kills and len(FAILURES) < 20:
            rounds += 1
            how = random.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
            killed_training(lab, how)
            for what in lab.commands():
                killed_output(lab, what, how)
            if rounds % 5 == 1:
                for other in (two_at_once, replaced_model, closed_pipe, full_disk, read_only):
                    other(lab)
            if hits() - shown >= 100:
                shown = hits()
                print(f"{shown} signals, {len(FAILURES)} failures", flush=True)
    for what in sorted(COUNTS):
        print(f"{COUNTS[what]:6}  {what}")
    print(f"{len(FAILURES)} failures")
    sys.exit(1 if FAILURES else 0)


if __name__ == "__main__":
    main()
