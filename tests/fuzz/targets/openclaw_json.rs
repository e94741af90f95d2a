#![no_main]

libfuzzer_sys::fuzz_target!(
    init: clawscope_fuzz::seeds::plant("openclaw_json"),
    |bytes: &[u8]| { clawscope_fuzz::stores::with_state(|state| state.survives_configuration(bytes)); }
);
