# Thin names over real commands. `make test` sets up all it needs.

CARGO ?= cargo
# Lattices to measure on: any .npz files that `kbest decode` reads.
LATTICES ?= bench-results/lattices
RESULTS ?= bench-results
REPEAT ?= 5
KBEST_SOAK ?= 1000000
# Of the library: it must build with none of them and with each alone.
FEATURES = text mmap gzip json safetensors

.PHONY: all test lint soak bench demo clean help

all: lint test

help:
	@echo "make test    all tests, then the library's again without vector instructions"
	@echo "make lint    formatting, clippy (also with single cargo features), documentation"
	@echo "make soak    KBEST_SOAK=$(KBEST_SOAK) random lattices through every exact decoder"
	@echo "make bench   every decoder on LATTICES=$(LATTICES)/*.npz (made if absent), JSON and text into $(RESULTS)/"
	@echo "make demo    a tagger with 1,000 labels from nothing, and all decoders on its lattices"

test:
	$(CARGO) test --workspace
	KBEST_FORCE_SCALAR=1 $(CARGO) test --workspace --lib --test suite # all packages, so that nothing is built anew

lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	for feature in "" $(FEATURES); do \
		$(CARGO) clippy -q -p kbest --no-default-features --features "$$feature" -- -D warnings || exit 1; \
	done
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps

soak:
	KBEST_SOAK=$(KBEST_SOAK) $(CARGO) test --release -p kbest --test suite soak -- --ignored --nocapture

bench:
	CARGO="$(CARGO)" scripts/bench.sh "$(LATTICES)" "$(RESULTS)" "$(REPEAT)"

demo:
	$(CARGO) run --release -- demo

clean:
	$(CARGO) clean
