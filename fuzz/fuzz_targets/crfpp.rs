//! See `readers::crfpp`.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| kbest_fuzz::readers::crfpp(data));
