#!/usr/bin/env bash
# Builds the wheel as it would be released, installs it into a fresh virtual environment under target/ and tests it there:
# pytest with all examples of the documentation, mypy on a sample, stubtest.
#
# usage: scripts/test_python.sh [EXTRA]     EXTRA: test (default), or peers: also librosa, torch and pytorch-crf
set -euo pipefail
cd "$(dirname "$0")/.."
extra=${1:-test}
python=${PYTHON:-python3}
venv=$PWD/target/python-$extra
wheels=$PWD/target/wheels

rm -rf "$venv" "$wheels"
"$python" -m venv "$venv"
export PIP_DISABLE_PIP_VERSION_CHECK=1 VIRTUAL_ENV="$venv" PATH="$venv/bin:$PATH"
unset PYTHONPATH
pip install -q "maturin>=1.9,<2"
maturin build --release --out "$wheels"
pip install -q "$(echo "$wheels"/kbest-*.whl)[$extra]"

cd crates/kbest-py/tests # away from the sources, so that the installed package is tested
python -m pytest -q -c ../../../pyproject.toml --rootdir . --ignore neural . # make test-torch runs those
python -m mypy --config-file ../../../pyproject.toml --strict typing/sample.py
python -m mypy --config-file ../../../pyproject.toml --strict -p kbest
python -m mypy.stubtest --mypy-config-file ../../../pyproject.toml --ignore-missing-stub --allowlist typing/unchecked.txt kbest
