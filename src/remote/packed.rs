//! Packed text: zstd in base64. The rows of a large transcript are many and alike, so a link carries a tenth of them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::protocol::MAX_CHUNK_BYTES;

/// Packing pays from this length on, bytes.
const MIN_BYTES: usize = 1 << 10;
const LEVEL: i32 = 3;

/// Packs a text; `None` for one that is too short.
pub(super) fn pack(text: &str) -> Option<String> {
    if text.len() < MIN_BYTES {
        return None;
    }
    zstd::bulk::compress(text.as_bytes(), LEVEL).ok().map(|bytes| STANDARD.encode(bytes))
}

/// Unpacks a text; `None` for anything else, and for a text that is longer than a message may be.
pub(super) fn unpack(packed: &str) -> Option<String> {
    let bytes = STANDARD.decode(packed).ok()?;
    // A character that a write cut in half belongs to the next message.
    let text = zstd::bulk::decompress(&bytes, MAX_CHUNK_BYTES + 4).ok()?;
    String::from_utf8(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_survives_and_one_that_unpacks_without_end_does_not() {
        let text = "row é 漢 ".repeat(5_000);
        let packed = pack(&text).unwrap();
        assert!(packed.len() * 10 < text.len());
        assert_eq!(unpack(&packed), Some(text));
        assert_eq!(pack("short"), None);
        let bomb = pack(&" ".repeat(1 << 30 >> 4)).unwrap();
        assert_eq!(unpack(&bomb), None);
        for hostile in ["", "!", "AAAA", "KLUv/SAA"] {
            assert!(unpack(hostile).is_none_or(|text| text.is_empty()), "{hostile}");
        }
    }
}
