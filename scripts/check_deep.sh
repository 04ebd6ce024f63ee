#!/usr/bin/env bash
# Checks that ordinary tests cannot make: `make check-deep [DEEP="miri asan neon"]`.
#
#   miri  Miri interprets the tests of simd/ and memory/ (scalar twins, safe faces, blobs): undefined behaviour, leaks, alignment
#   asan  the tests of both libraries with AddressSanitizer, vector kernels and mapped files included
#   neon  the library compiled for aarch64; tests of its kernels and decoders under qemu
#
# Needs: a nightly toolchain with miri and rust-src (`rustup component add miri rust-src --toolchain nightly`); for neon
# `rustup target add aarch64-unknown-linux-gnu`, and Debian's qemu-user, gcc-aarch64-linux-gnu, libc6-dev-arm64-cross.
# What is missing is skipped, and said; a check that fails ends the run.
set -u
cargo=${CARGO:-cargo}
failed=0

say() { printf '\n== %s\n' "$*"; }

miri() {
    if ! $cargo +nightly miri --version >/dev/null 2>&1; then say "miri: NOT RUN (no nightly toolchain with miri)"; return; fi
    say "miri: simd/ and memory/, scalar level"
    # Without the last flag, Miri adds a random error to exponentials, which the tests would find.
    KBEST_LEVEL=scalar PROPTEST_CASES=4 MIRIFLAGS="-Zmiri-disable-isolation -Zmiri-deterministic-floats" \
        $cargo +nightly miri test -p kbest-core -p kbest --lib -- simd:: memory:: || failed=1
}

asan() {
    say "asan: libraries"
    # The flags of nightly on the stable compiler, whose runtime comes with it.
    RUSTC_BOOTSTRAP=1 RUSTFLAGS="-Zsanitizer=address" ASAN_OPTIONS=detect_leaks=0 \
        $cargo test --target x86_64-unknown-linux-gnu --target-dir target/asan -p kbest-core -p kbest --lib --test suite || failed=1
}

neon() {
    if ! command -v qemu-aarch64 >/dev/null || ! command -v aarch64-linux-gnu-gcc >/dev/null; then
        say "neon: NOT RUN (no qemu-aarch64 or aarch64-linux-gnu-gcc)"
        return
    fi
    say "neon: kernels and segments under qemu"
    export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
    export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64 -L /usr/aarch64-linux-gnu"
    $cargo test --target aarch64-unknown-linux-gnu -p kbest-core --lib -- simd:: || failed=1
    $cargo test --target aarch64-unknown-linux-gnu -p kbest-core --test suite segments:: || failed=1
}

for check in ${DEEP:-miri asan neon}; do
    "$check"
done
exit $failed
