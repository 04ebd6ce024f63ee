#!/usr/bin/env bash
# Tests kbest.spark on a standalone cluster of two workers on this machine, and kills parts of it while jobs run. Uses the
# environment that `make test-python` leaves under target/ (or the one that is active, with KBEST_CLUSTER=active).
# Needs Java 17 or newer; Linux, for /proc.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ "${KBEST_CLUSTER:-}" != active ]; then
    venv=$PWD/target/python-test
    if [ ! -x "$venv/bin/python" ]; then
        echo "no environment in $venv: run \`make test-python\` first" >&2
        exit 2
    fi
    export VIRTUAL_ENV="$venv" PATH="$venv/bin:$PATH"
    unset PYTHONPATH
fi
if ! command -v java >/dev/null && [ -z "${JAVA_HOME:-}" ]; then
    echo "no Java: install 17 or newer, or set JAVA_HOME" >&2
    exit 2
fi
export KBEST_CLUSTER=1 SPARK_LOCAL_IP=127.0.0.1
cd crates/kbest-py/tests
python -m pytest -q -c ../../../pyproject.toml --rootdir . cluster
