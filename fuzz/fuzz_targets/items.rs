//! See `readers::items`.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| kbest_fuzz::readers::items(data));
