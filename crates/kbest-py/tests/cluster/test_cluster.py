"""A standalone cluster on the loopback address, and what is killed in it: everything arrives, once, the same.

Run by `make test-cluster`. Each kill hits a running task: an executor, a Python worker, a worker daemon; while tagging and while
training. The victim is halted (SIGSTOP) until Spark has given its executor a task, and only then killed; afterwards Spark must have
counted a task as failed, or have given up the executor that was halted with its task; else another victim is looked for. A job may
be over before that has happened: then it is run again, and its answer must be right all the same.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import kbest
import kbest.sharded
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from spark_session import java, session  # noqa: E402
from test_spark import X, Y  # noqa: E402

pyarrow = pytest.importorskip("pyarrow")
pyspark = pytest.importorskip("pyspark", reason="pip install kbest[spark]")

ROWS = X * 20
GOLD = Y * 20
OPTIONS = dict(labels="gold", shards=10, epochs=6)


def processes() -> dict[int, str]:
    """Command lines by process id, of this user's processes."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                pass  # it has ended
    return found


def parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
    except OSError:
        return 0


def send(pid: int, number: int) -> bool:
    """A signal; False if the process has ended."""
    try:
        os.kill(pid, number)
        return True
    except ProcessLookupError:
        return False


def wait(condition, seconds: float) -> bool:
    until = time.time() + seconds
    while not condition():
        if time.time() > until:
            return False
        time.sleep(0.02)
    return True


def executor_number(pid: int) -> str:
    words = processes().get(pid, "").split()
    return words[words.index("--executor-id") + 1] if "--executor-id" in words else ""


class Status:
    """What the driver knows of its executors, those that are gone included."""

    def __init__(self, spark) -> None:
        self.store = spark.sparkContext._jsc.sc().statusStore()

    def executors(self) -> list:
        found = self.store.executorList(False)
        return [found.apply(i) for i in range(found.size())]

    def failed(self) -> int:
        return sum(executor.failedTasks() for executor in self.executors())

    def is_gone(self, number: str) -> bool:
        return not any(executor.isActive() for executor in self.executors() if executor.id() == number)

    def active(self, number: str) -> int:
        return sum(executor.activeTasks() for executor in self.executors() if executor.id() == number)


class Cluster:
    """A master and two workers with a core each."""

    def __init__(self, folder: Path) -> None:
        java()
        self.home = Path(pyspark.__file__).parent
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"spark://127.0.0.1:{self.port}"
        self.environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_HOME": str(self.home), "PYSPARK_PYTHON": sys.executable}
        deploy = "org.apache.spark.deploy"
        self.master = self.start("master", f"{deploy}.master.Master", "--host", "127.0.0.1", "--port", str(self.port), "--webui-port", "0")
        self.workers = [self.worker(i) for i in range(2)]

    def start(self, name: str, *command: str) -> subprocess.Popen:
        log = open(self.folder / f"{name}.log", "ab")
        return subprocess.Popen([str(self.home / "bin/spark-class"), *command], env=self.environment, stdout=log, stderr=log)

    def worker(self, i: int) -> subprocess.Popen:
        arguments = ["--host", "127.0.0.1", "--webui-port", "0", "--cores", "1", "--memory", "1g", "--work-dir", str(self.folder / f"work{i}")]
        return self.start(f"worker{i}", "org.apache.spark.deploy.worker.Worker", *arguments, self.url)

    def executors(self) -> list[int]:
        return [pid for pid, line in processes().items() if "CoarseGrainedExecutorBackend" in line and str(self.folder) in self.place(pid)]

    def place(self, pid: int) -> str:
        try:
            return os.readlink(f"/proc/{pid}/cwd")
        except OSError:
            return ""

    def python_workers(self) -> list[int]:
        """Children of the daemons that executors start."""
        lines = processes()
        executors = set(self.executors())
        daemons = {pid for pid, line in lines.items() if "pyspark.daemon" in line and parent(pid) in executors}
        return [pid for pid in lines if parent(pid) in daemons]

    def victim(self, what: str) -> tuple[int, list[int]]:
        """An executor, and what to halt of it: itself or its Python workers; nothing to halt if there is none."""
        workers = self.python_workers()
        for executor in self.executors():
            halted = [pid for pid in workers if parent(parent(pid)) == executor] if what == "python" else [executor]
            if halted:
                return executor, halted
        return 0, []

    def kill(self, what: str, spark, over: threading.Event) -> int:
        """Kills one of them with SIGKILL while it has a task. Returns how many tasks were lost, 0 if none before the job was over."""
        status = Status(spark)
        before = status.failed()
        while not over.is_set():
            executor, halted = self.victim(what)
            if not halted or not all(send(pid, signal.SIGSTOP) for pid in halted):
                time.sleep(0.05)
                continue
            number = executor_number(executor)
            # Its task does not end, because it is halted, or because the executor waits for the Python worker.
            lost = False
            if wait(lambda: status.active(number) > 0 or over.is_set(), 5) and not over.is_set():
                for pid in [parent(executor)] if what == "daemon" else halted:
                    send(pid, signal.SIGKILL)
                # An executor whose daemon is gone stays halted until Spark has given it up: it must not end its task first.
                # Tasks of a lost daemon are not always counted as failed, but a halted executor that is gone had one.
                halts = what != "python"
                lost = wait(lambda: status.failed() > before or halts and status.is_gone(number), 30)
            for pid in halted:
                send(pid, signal.SIGCONT)
            if lost:
                return max(status.failed() - before, 1)
            self.mend()
        return 0

    def mend(self) -> None:
        """Starts daemons again that were killed."""
        for i, worker in enumerate(self.workers):
            if worker.poll() is not None:
                self.workers[i] = self.worker(i)

    def stop(self) -> None:
        for process in [*self.workers, self.master]:
            if process.poll() is None:
                process.terminate()
                process.wait(30)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    cluster = Cluster(tmp_path_factory.mktemp("cluster"))
    yield cluster
    cluster.stop()


@pytest.fixture(scope="module")
def spark(cluster):
    spark = session(cluster.url, **{"spark.executor.memory": "512m", "spark.task.maxFailures": "8"})
    yield spark
    spark.stop()


@pytest.fixture(scope="module")
def tagger():
    return kbest.train(X, Y, epochs=3)


@pytest.fixture(scope="module")
def expected():
    table = pyarrow.table({"id": range(len(ROWS)), "tokens": ROWS, "gold": GOLD})
    return {algorithm: kbest.sharded.train(table, algorithm, **OPTIONS).to_bytes() for algorithm in ["averaged", "crf"]}


def frame(spark, parts=24):
    def slowly(batches):
        """As if every part of the data had to be fetched from far away. Inside, so that it is sent: workers lack this file."""
        import time

        for batch in batches:
            time.sleep(0.4)
            yield batch

    rows = list(zip(range(len(ROWS)), ROWS, GOLD))
    df = spark.createDataFrame(rows, "id long, tokens array<string>, gold array<string>").repartitionByRange(parts, "id")
    return df.mapInArrow(slowly, df.schema)


class Strike(threading.Thread):
    """Kills one of `what` as soon as `due` says so, unless the job is over first."""

    def __init__(self, cluster, spark, what: str, due) -> None:
        super().__init__(daemon=True)
        self.lost = 0
        self.over = threading.Event()
        self.parts = cluster, spark, what, due

    def run(self) -> None:
        cluster, spark, what, due = self.parts
        while not self.over.is_set() and not due():
            time.sleep(0.02)
        self.lost = cluster.kill(what, spark, self.over)

    def __enter__(self) -> Strike:
        self.start()
        return self

    def __exit__(self, *_) -> None:
        self.over.set()
        self.join()


ATTEMPTS = 5


@pytest.mark.parametrize("what", ["nothing", "executor", "python", "daemon"])
def test_tagging_survives(cluster, spark, tagger, what):
    from kbest.spark import tag

    tracker = spark.sparkContext.statusTracker()

    def under_way() -> bool:  # some tasks are done, and others are not
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        return any(stage and stage.numTasks == 24 and 2 <= stage.numCompletedTasks <= 16 for stage in stages)

    def check(rows) -> None:
        assert [row.id for row in rows] == list(range(len(ROWS))), "everything arrives, once, in order"
        assert [row.labels for row in rows] == tagger.tag_batch(ROWS)
        assert all(row.error is None for row in rows)

    if what == "nothing":
        check(tag(frame(spark), tagger).collect())
        return
    for _ in range(ATTEMPTS):
        with Strike(cluster, spark, what, under_way) as strike:
            check(tag(frame(spark), tagger).collect())
        cluster.mend()
        if strike.lost:
            return
    pytest.fail("no task was lost")


@pytest.mark.parametrize("algorithm, what", [("averaged", "executor"), ("crf", "python"), ("averaged", "daemon"), ("crf", "executor")])
def test_training_survives(cluster, spark, expected, algorithm, what):
    from kbest.spark import train

    for _ in range(ATTEMPTS):
        second = threading.Event()  # pass is over

        def passed(epoch):
            if epoch.epoch >= 2:
                second.set()
                if not strike.lost:
                    time.sleep(0.5)  # a pass is short: let the victim be halted between two of them

        with Strike(cluster, spark, what, second.is_set) as strike:
            found = train(frame(spark, 4), algorithm, callback=passed, **OPTIONS)
        assert found.to_bytes() == expected[algorithm]
        cluster.mend()
        if strike.lost:
            return
    pytest.fail("no task was lost")


def test_two_executors_of_a_local_cluster(spark, expected, tagger):
    """`local-cluster[2,1,1024]`: real executors, started by the session itself. Last, because it ends the other session."""
    from kbest.spark import evaluate, tag, train

    spark.stop()
    local = session("local-cluster[2,1,1024]")
    try:
        df = local.createDataFrame(list(zip(range(len(ROWS)), ROWS, GOLD)), "id long, tokens array<string>, gold array<string>")
        assert train(df, "averaged", **OPTIONS).to_bytes() == expected["averaged"]
        assert [row.labels for row in tag(df, tagger).orderBy("id").collect()] == tagger.tag_batch(ROWS)
        assert str(evaluate(df, tagger, labels="gold")) == str(tagger.evaluate(ROWS, GOLD))
    finally:
        local.stop()
