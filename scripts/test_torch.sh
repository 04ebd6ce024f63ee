#!/usr/bin/env bash
# Builds the wheel, installs it with torch and pytorch-crf into a virtual environment under target/, and tests kbest.torch
# there: the Rust engine, then the kernels for GPUs in Triton's interpreter, and on a GPU if there is one.
#
# usage: scripts/test_torch.sh
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
venv=$PWD/target/python-torch
wheels=$PWD/target/wheels-torch

[ -d "$venv" ] || "$python" -m venv "$venv" # kept: torch is large
rm -rf "$wheels"
export PIP_DISABLE_PIP_VERSION_CHECK=1 VIRTUAL_ENV="$venv" PATH="$venv/bin:$PATH"
unset PYTHONPATH
pip install -q "maturin>=1.9,<2" pytest pytorch-crf "torch>=2.6" "numpy<2.5" # Triton 3.6 interprets no scalars of later ones
maturin build --release --out "$wheels"
pip install -q --force-reinstall --no-deps "$wheels"/kbest-*.whl

cd crates/kbest-py/tests/neural # away from the sources, so that the installed package is tested
run() { python -m pytest -q -c ../../../../pyproject.toml --rootdir . "$@"; }
run .
TRITON_INTERPRET=1 run . -k "not compiles"
if python -c "import sys, torch; sys.exit(not torch.cuda.is_available())"; then
    KBEST_TORCH_DEVICE=cuda run .
fi
