//! See `readers::wapiti`.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| kbest_fuzz::readers::wapiti(data));
