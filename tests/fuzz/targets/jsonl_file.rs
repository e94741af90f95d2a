#![no_main]

libfuzzer_sys::fuzz_target!(
    init: clawscope_fuzz::seeds::plant("jsonl_file"),
    |bytes: &[u8]| { clawscope_fuzz::transcripts::file_keeps_its_lines_and_grows(bytes); }
);
