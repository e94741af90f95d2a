//! Formats sizes of files.

use crate::format::number::quantity;
use crate::units::Bytes;

/// Formats bytes in decimal units: `3.1 MB`, `231 bytes`.
pub fn format_size(bytes: Bytes) -> String {
    let units = [("GB", 1e9), ("MB", 1e6), ("KB", 1e3)];
    match units.iter().find(|(_, size)| bytes.get() as f64 >= *size) {
        Some((name, size)) => format!("{:.1} {name}", bytes.get() as f64 / size),
        None => quantity(bytes, "byte"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_decimal_units() {
        let sizes = [1, 231, 999, 1_000, 3_149_999, 2_000_000_000].map(Bytes).map(format_size);
        assert_eq!(sizes, ["1 byte", "231 bytes", "999 bytes", "1.0 KB", "3.1 MB", "2.0 GB"]);
    }
}
