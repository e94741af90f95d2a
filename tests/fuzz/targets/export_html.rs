#![no_main]

libfuzzer_sys::fuzz_target!(
    init: clawscope_fuzz::seeds::plant("export_html"),
    |bytes: &[u8]| { clawscope_fuzz::pages::page_has_the_programs_elements_alone(bytes); }
);
