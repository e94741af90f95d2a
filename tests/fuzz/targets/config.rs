#![no_main]

libfuzzer_sys::fuzz_target!(
    init: clawscope_fuzz::seeds::plant("config"),
    |bytes: &[u8]| { clawscope_fuzz::settings::config_is_read_or_refused(bytes); }
);
