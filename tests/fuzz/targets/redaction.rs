#![no_main]

libfuzzer_sys::fuzz_target!(
    init: clawscope_fuzz::seeds::plant("redaction"),
    |bytes: &[u8]| { clawscope_fuzz::secrets_among(bytes); }
);
