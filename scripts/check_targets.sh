#!/usr/bin/env bash
# Compiles the libraries for processors that they have no vector kernels for: wasm32, one of 32 bits, one with big-endian numbers.
# Nothing is run.
#
# usage: scripts/check_targets.sh [TARGET...]
#
# Needs the standard library of each target, which rustup fetches. What cannot be had is skipped, and said.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo=${CARGO:-cargo}
[ $# -gt 0 ] || set -- wasm32-unknown-unknown i686-unknown-linux-gnu s390x-unknown-linux-gnu

for target; do
    if ! [ -d "$(rustc --print sysroot)/lib/rustlib/$target/lib" ] && ! rustup -q target add "$target" >/dev/null 2>&1; then
        echo "check-targets: $target NOT CHECKED (no standard library for it, and \`rustup target add $target\` fails)"
        continue
    fi
    echo "check-targets: $target"
    RUSTFLAGS="-D warnings" $cargo check -q -p kbest --lib --target "$target"
done
