# Short names for the real commands. `make test` sets up everything it needs.

CARGO ?= cargo
# Lattices to measure: any .npz files that `kbest decode` reads.
LATTICES ?= bench-results/lattices
RESULTS ?= bench-results
REPEAT ?= 5
KBEST_SOAK ?= 1000000
# Instruction sets to soak, one after the other; one that the CPU lacks stands for the best that it has.
LEVELS ?= avx512 avx2 scalar
FUZZ_SECONDS ?= 60
# `none` is faster; memory errors could come from simd/ and memory/ alone.
FUZZ_SANITIZER ?= address
FUZZ_TARGETS ?= $(basename $(notdir $(wildcard fuzz/fuzz_targets/*.rs)))
KILLS ?= 1000
# Cargo features of the library, which must build without any and with each alone.
FEATURES = mmap gzip json safetensors bounds

# Interpreter for the tests of the Python package, 3.9 or newer.
PYTHON ?= python3

.PHONY: all test test-pages test-python test-python-peers test-torch test-cluster package lint soak fuzz torture check-targets check-deep check-deps bench demo clean help

all: lint test

help:
	@echo "make test    run all tests: Rust, the library's again without vector instructions, packaging, pages, Python"
	@echo "make test-pages         the pages of kbest explain alone, in a browser (installs Chromium if it can)"
	@echo "make test-python        the Python package alone: builds the wheel, tests it in a fresh environment"
	@echo "make test-python-peers  the same beside librosa, torch and pytorch-crf (large downloads)"
	@echo "make test-torch         kbest.torch alone, on a processor and with its kernels interpreted (installs torch)"
	@echo "make test-cluster       Spark: a cluster of two workers on this machine, parts of which are killed (after test-python)"
	@echo "make package            build all published crates from their packages, as crates.io would"
	@echo "make lint    check formatting, clippy (also with single cargo features) and documentation"
	@echo "make soak    send KBEST_SOAK=$(KBEST_SOAK) random lattices through every exact decoder, at every vector LEVELS=$(LEVELS)"
	@echo "make fuzz    run each of FUZZ_TARGETS for FUZZ_SECONDS=$(FUZZ_SECONDS) (needs cargo-fuzz)"
	@echo "make torture kill, fill and disturb the command line KILLS=$(KILLS) times"
	@echo "make check-targets  the library compiled for wasm32, 32 bits and big-endian numbers (rustup fetches what they need)"
	@echo "make check-deep  Miri, AddressSanitizer, NEON under qemu: DEEP=\"miri asan neon\""
	@echo "make check-deps  licences, sources and advisories of dependencies (cargo-deny); a build with the oldest versions allowed"
	@echo "make bench   run every decoder on LATTICES=$(LATTICES)/*.npz (generated if absent); reports in $(RESULTS)/"
	@echo "make demo    train a tagger with 1,000 labels from scratch and run all decoders on its lattices"

test:
	$(CARGO) test --workspace
	KBEST_LEVEL=scalar $(CARGO) test --workspace --lib --test suite # all packages, so that nothing is rebuilt
	$(CARGO) package -q -p kbest-core -p kbest -p kbest-cli --allow-dirty --no-verify # complete and describable; `make package` builds them
	PYTHON=$(PYTHON) scripts/test_pages.sh $${CARGO_TARGET_DIR:-target}/debug/kbest # built by the tests above
	PYTHON=$(PYTHON) scripts/test_python.sh

test-pages:
	CARGO="$(CARGO)" PYTHON=$(PYTHON) scripts/test_pages.sh

test-python:
	PYTHON=$(PYTHON) scripts/test_python.sh

test-python-peers:
	PYTHON=$(PYTHON) scripts/test_python.sh peers

test-torch:
	PYTHON=$(PYTHON) scripts/test_torch.sh

test-cluster:
	scripts/test_cluster.sh

package:
	$(CARGO) package -p kbest-core -p kbest -p kbest-cli --allow-dirty

lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	for feature in "" $(FEATURES); do \
		$(CARGO) clippy -q -p kbest --no-default-features --features "$$feature" -- -D warnings || exit 1; \
	done
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps

soak:
	for level in $(LEVELS); do \
		KBEST_LEVEL=$$level KBEST_SOAK=$(KBEST_SOAK) \
			$(CARGO) test --release -p kbest-core --test suite soak -- --ignored --nocapture || exit 1; \
	done

# The flags of nightly that libFuzzer needs, on the stable compiler.
fuzz:
	$(CARGO) test -p kbest --test suite write_seeds -- --ignored
	$(CARGO) test -p kbest-cli --test fuzz_arrays write_seeds -- --ignored
	for target in $(FUZZ_TARGETS); do \
		mkdir -p fuzz/corpus/$$target; \
		(cd fuzz && RUSTC_BOOTSTRAP=1 $(CARGO) fuzz run --fuzz-dir . -s $(FUZZ_SANITIZER) $$target -- \
			-max_total_time=$(FUZZ_SECONDS) -rss_limit_mb=4096 -timeout=20 -print_final_stats=1) || exit 1; \
	done

torture:
	$(CARGO) build --release -p kbest-cli
	scripts/torture.py --kills $(KILLS)

check-targets:
	CARGO="$(CARGO)" scripts/check_targets.sh

check-deep:
	CARGO="$(CARGO)" scripts/check_deep.sh

check-deps:
	CARGO="$(CARGO)" scripts/check_deps.sh

bench:
	CARGO="$(CARGO)" scripts/bench.sh "$(LATTICES)" "$(RESULTS)" "$(REPEAT)"

demo:
	$(CARGO) run --release -- demo

clean:
	$(CARGO) clean
