#![no_main]

libfuzzer_sys::fuzz_target!(
    init: clawscope_fuzz::seeds::plant("jsonl_line"),
    |bytes: &[u8]| { clawscope_fuzz::transcripts::line_is_read_or_refused(bytes); }
);
