#!/usr/bin/env bash
# What the crates depend on: `make check-deps`.
#
#   licences, sources, bans  by cargo-deny (deny.toml); advisories too, where their database can be fetched
#   oldest versions          library and command line build with the oldest direct dependencies that Cargo.toml allows
#
# Needs cargo-deny (`cargo install cargo-deny`). The registry's index is fetched by cargo as usual. What cannot be run is said.
set -u
cargo=${CARGO:-cargo}
failed=0

say() { printf '\n== %s\n' "$*"; }

if $cargo deny --version >/dev/null 2>&1; then
    say "licences, sources, bans"
    $cargo deny check licenses sources bans || failed=1
    say "advisories"
    if $cargo deny fetch db; then
        $cargo deny check advisories || failed=1
    else
        echo "NOT RUN (the database of advisories cannot be fetched here)"
    fi
else
    say "cargo-deny: NOT RUN (not installed)"
fi

say "oldest versions that Cargo.toml allows"
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
git ls-files -z | xargs -0 cp --parents -t "$copy"
# Only direct dependencies: those of others are theirs to test. The flag is nightly's, on the stable compiler.
(cd "$copy" && rm Cargo.lock && RUSTC_BOOTSTRAP=1 $cargo update -q -Z direct-minimal-versions) \
    && $cargo check --manifest-path "$copy/Cargo.toml" --target-dir target/oldest -p kbest -p kbest-cli --all-features --locked || failed=1

exit $failed
