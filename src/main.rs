//! The binary: reads the command line and hands it to the library.
fn main() {}
