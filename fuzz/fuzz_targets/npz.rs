//! See `arrays::read`.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| kbest_fuzz::arrays::read(data, "npz"));
