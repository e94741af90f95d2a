#![no_main]

libfuzzer_sys::fuzz_target!(
    init: clawscope_fuzz::seeds::plant("keymap"),
    |bytes: &[u8]| { clawscope_fuzz::settings::keymap_is_read_or_refused(bytes); }
);
