//! See `readers::crfsuite`.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| kbest_fuzz::readers::crfsuite(data));
