# Short names for the real commands. `make test` sets up everything it needs.

CARGO ?= cargo
# Lattices to measure: any .npz files that `kbest decode` reads.
LATTICES ?= bench-results/lattices
RESULTS ?= bench-results
REPEAT ?= 5
KBEST_SOAK ?= 1000000
# Cargo features of the library, which must build without any and with each alone.
FEATURES = text mmap gzip json safetensors

# Interpreter for the tests of the Python package, 3.9 or newer.
PYTHON ?= python3

.PHONY: all test test-python test-python-peers package lint soak bench demo clean help

all: lint test

help:
	@echo "make test    run all tests: Rust, the library's again without vector instructions, packaging, Python"
	@echo "make test-python        the Python package alone: builds the wheel, tests it in a fresh environment"
	@echo "make test-python-peers  the same beside librosa, torch and pytorch-crf (large downloads)"
	@echo "make package            build both crates from their packages, as crates.io would"
	@echo "make lint    check formatting, clippy (also with single cargo features) and documentation"
	@echo "make soak    send KBEST_SOAK=$(KBEST_SOAK) random lattices through every exact decoder"
	@echo "make bench   run every decoder on LATTICES=$(LATTICES)/*.npz (generated if absent); reports in $(RESULTS)/"
	@echo "make demo    train a tagger with 1,000 labels from scratch and run all decoders on its lattices"

test:
	$(CARGO) test --workspace
	KBEST_FORCE_SCALAR=1 $(CARGO) test --workspace --lib --test suite # all packages, so that nothing is rebuilt
	$(CARGO) package -q -p kbest -p kbest-cli --allow-dirty --no-verify # complete and describable; `make package` builds them
	PYTHON=$(PYTHON) scripts/test_python.sh

test-python:
	PYTHON=$(PYTHON) scripts/test_python.sh

test-python-peers:
	PYTHON=$(PYTHON) scripts/test_python.sh peers

package:
	$(CARGO) package -p kbest -p kbest-cli --allow-dirty

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
