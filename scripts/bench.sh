#!/usr/bin/env bash
# Measures every decoder on every lattice file: bench.sh LATTICES RESULTS REPEAT
# Writes RESULTS/NAME.json and RESULTS/NAME.txt; generates synthetic lattices if the folder does not exist.
set -euo pipefail
lattices=$1 results=$2 repeat=$3

${CARGO:-cargo} build --release
kbest=${CARGO_TARGET_DIR:-target}/release/kbest
mkdir -p "$results"
if [ ! -d "$lattices" ]; then
    mkdir -p "$lattices"
    for labels in 50 300 1000 3000; do
        "$kbest" generate lattice --labels "$labels" --dense -o "$lattices/tagger-$labels.npz"
    done
    "$kbest" generate lattice --family random --labels 300 --peaked 1 --edge-strength 1 -o "$lattices/random-300.npz"
fi

shopt -s nullglob
files=("$lattices"/*.npz)
if [ ${#files[@]} -eq 0 ]; then
    echo "no .npz files in $lattices" >&2
    exit 2
fi
# BENCH_DECODERS=a,b measures only these.
more=()
if [ -n "${BENCH_DECODERS:-}" ]; then more=(--decoders "$BENCH_DECODERS"); fi
status=0
for file in "${files[@]}"; do
    name=$(basename "$file" .npz)
    echo "== $name"
    "$kbest" bench decode "$file" --repeat "$repeat" "${more[@]}" --save "$results/$name.json" \
        >"$results/$name.txt.part" || status=1
    mv "$results/$name.txt.part" "$results/$name.txt"
    cat "$results/$name.txt"
done
exit $status
