//! Checks that hold for any bytes, shared by `cargo fuzz` and `cargo test`.

pub mod journals;
pub mod pages;
pub mod secrets;
pub mod settings;
pub mod stores;
pub mod transcripts;

/// Splits an input for several files or fields at form feeds, which no file needs.
pub fn parts(bytes: &[u8]) -> impl Iterator<Item = String> {
    bytes.split(|byte| *byte == b'\x0C').map(|part| String::from_utf8_lossy(part).into_owned())
}
