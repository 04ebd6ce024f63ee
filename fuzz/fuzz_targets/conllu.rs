//! See `readers::conllu`.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| kbest_fuzz::readers::conllu(data));
