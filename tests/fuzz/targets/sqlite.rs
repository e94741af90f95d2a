#![no_main]

libfuzzer_sys::fuzz_target!(
    init: clawscope_fuzz::seeds::plant("sqlite"),
    |bytes: &[u8]| { clawscope_fuzz::stores::with_state(|state| state.leaves_database(bytes)); }
);
