#![no_main]

libfuzzer_sys::fuzz_target!(
    init: clawscope_fuzz::seeds::plant("journal"),
    |bytes: &[u8]| { clawscope_fuzz::journals::any_journal_costs_no_byte(bytes); }
);
