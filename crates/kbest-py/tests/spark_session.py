"""What every test of Spark needs: Java, and a session on the loopback address."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

import pytest


def java() -> str:
    """The Java program; skips, and says what is missing, without Java 17 or newer."""
    home = os.environ.get("JAVA_HOME")
    program = os.path.join(home, "bin", "java") if home else shutil.which("java")
    if program is None or not os.path.exists(program):
        pytest.skip("Spark needs Java 17 or newer: no `java` on the path, and no JAVA_HOME")
    told = subprocess.run([program, "-version"], capture_output=True, text=True).stderr
    version = re.search(r'version "(\d+)', told)
    if version is None or int(version.group(1)) < 17:
        pytest.skip(f"Spark needs Java 17 or newer: {program} says {told.splitlines()[:1]}")
    return program


def session(master: str, **settings: str):
    """A session that talks to nobody outside of this machine."""
    pytest.importorskip("pyspark", reason="pip install kbest[spark]")
    java()
    from pyspark.sql import SparkSession

    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(master).appName("kbest")
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "4",
        "spark.log.level": "ERROR",
        **settings,
    }.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()
