#![no_main]

libfuzzer_sys::fuzz_target!(
    init: clawscope_fuzz::seeds::plant("archive"),
    |bytes: &[u8]| { clawscope_fuzz::stores::with_state(|state| state.survives(clawscope_fuzz::stores::ARCHIVE, bytes)); }
);
