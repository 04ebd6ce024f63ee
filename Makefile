# Short names for the real commands. `make test` sets up everything it needs.

CARGO ?= cargo
# Lattices to measure: any .npz files that `kbest decode` reads.
LATTICES ?= bench-results/lattices
RESULTS ?= bench-results
REPEAT ?= 5
KBEST_SOAK ?= 1000000
# Cargo features of the library, which must build without any and with each alone.
FEATURES = text mmap gzip json safetensors

.PHONY: all test lint soak bench demo clean help

all: lint test

help:
	@echo "make test    run all tests, then the library's again without vector instructions"
	@echo "make lint    check formatting, clippy (also with single cargo features) and documentation"
	@echo "make soak    send KBEST_SOAK=$(KBEST_SOAK) random lattices through every exact decoder"
	@echo "make bench   run every decoder on LATTICES=$(LATTICES)/*.npz (generated if absent); reports in $(RESULTS)/"
	@echo "make demo    train a tagger with 1,000 labels from scratch and run all decoders on its lattices"

test:
	$(CARGO) test --workspace
	KBEST_FORCE_SCALAR=1 $(CARGO) test --workspace --lib --test suite # all packages, so that nothing is rebuilt

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
