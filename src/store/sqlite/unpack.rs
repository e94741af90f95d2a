//! Decompresses Zstandard frames of events and archives with a size limit, so that a broken or hostile frame cannot
//! exhaust memory or disk (sqlite E2, E4).

use std::fs::File;
use std::io::{self, Read, Write as _};
use std::path::Path;

use ruzstd::decoding::StreamingDecoder;

use crate::files;
use crate::format::format_size;
use crate::units::Bytes;

/// Maximum bytes of an event that the gateway packs (sqlite E2).
pub(super) const MAX_EVENT_BYTES: Bytes = Bytes(4 << 20);
/// Limit for a packed event, far above what the gateway keeps: it packs only what gets smaller.
pub(super) const MAX_PACKED_BYTES: Bytes = Bytes(8 << 20);

fn corrupt_error(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.into())
}

/// Unpacks one event of exactly `bytes` bytes.
pub(super) fn unpack_event(packed: &[u8], bytes: Bytes) -> io::Result<Vec<u8>> {
    if bytes > MAX_EVENT_BYTES {
        return Err(corrupt_error(format!("{bytes} bytes exceed the size limit of a packed event")));
    }
    let mut text = Vec::with_capacity(bytes.to_len());
    unpack_into(packed, &mut text, bytes)?;
    if Bytes::from_len(text.len()) != bytes {
        return Err(corrupt_error(format!("expected {bytes} bytes, found {}", text.len())));
    }
    Ok(text)
}

/// Unpacks a stream of frames. Output beyond `limit` bytes and a wrong checksum are errors.
pub(super) fn unpack_into(mut packed: impl Read, out: &mut impl io::Write, limit: Bytes) -> io::Result<()> {
    let mut left = limit.get();
    loop {
        let mut first = [0; 1];
        if packed.read(&mut first)? == 0 {
            return Ok(());
        }
        let frame = first.as_slice().chain(&mut packed);
        let mut decoder = StreamingDecoder::new(frame)
            .map_err(|error| corrupt_error(format!("not a Zstandard frame: {error}")))?;
        let written = io::copy(&mut (&mut decoder).take(left + 1), out)?;
        left = left.checked_sub(written).ok_or_else(|| {
            corrupt_error(format!("it unpacks to more than {}, the limit for its size", format_size(limit)))
        })?;
        let (message, found) =
            (decoder.decoder.get_checksum_from_data(), decoder.decoder.get_calculated_checksum());
        if message.is_some() && message != found {
            return Err(corrupt_error("its checksum is wrong"));
        }
    }
}

/// Returns the output limit for packed bytes: 100 times their number, far above the ratio of real transcripts, at least
/// 64 MiB and at most 2 GiB, because the output takes space on the disk.
pub(super) fn limit_for_size(packed: Bytes) -> Bytes {
    Bytes(packed.get().saturating_mul(100).clamp(64 << 20, 2 << 30))
}

/// Unpacks a transcript into an anonymous temporary file.
pub(in crate::store) fn unpack_file(path: &Path) -> io::Result<File> {
    let packed = files::open(path)?;
    let limit = limit_for_size(Bytes(packed.metadata()?.len()));
    unpack_stream(io::BufReader::new(packed), limit)
}

/// Unpacks a stream in the same way; `limit` is in bytes.
pub(super) fn unpack_stream(packed: impl Read, limit: Bytes) -> io::Result<File> {
    let mut out = io::BufWriter::new(tempfile::tempfile()?);
    unpack_into(packed, &mut out, limit)?;
    out.flush()?;
    out.into_inner().map_err(io::IntoInnerError::into_error)
}

/// Returns bytes in lower-case hex, as hashes name archives.
pub(super) fn hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from_digit(half.into(), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

#[cfg(test)]
mod tests {
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::*;

    fn packed(text: &[u8]) -> Vec<u8> {
        compress_to_vec(text, CompressionLevel::Fastest)
    }

    #[test]
    fn an_event_has_exactly_the_bytes_it_says() {
        let text = b"abc".repeat(1000);
        let frame = packed(&text);
        assert_eq!(unpack_event(&frame, Bytes(3000)).unwrap(), text);
        for wrong in [2999, 3001] {
            assert!(unpack_event(&frame, Bytes(wrong)).is_err(), "{wrong}");
        }
        assert!(
            unpack_event(&frame, Bytes((4 << 20) + 1))
                .unwrap_err()
                .to_string()
                .contains("exceed the size limit")
        );
        assert!(unpack_event(b"no frame", Bytes(8)).is_err());
        assert!(unpack_event(&frame[..frame.len() / 2], Bytes(3000)).is_err());
    }

    #[test]
    fn the_checksum_detects_a_changed_byte() {
        let mut frame = packed(&b"some words that do not repeat 0123456789".repeat(3));
        let last = frame.len() - 1;
        frame[last] ^= 1;
        assert!(unpack_event(&frame, Bytes(120)).unwrap_err().to_string().contains("checksum"));
    }

    #[test]
    fn frames_follow_each_other_and_a_limit_holds_for_all() {
        let two = [packed(b"one\n"), packed(b"two\n")].concat();
        let mut out = Vec::new();
        unpack_into(two.as_slice(), &mut out, Bytes(8)).unwrap();
        assert_eq!(out, b"one\ntwo\n");
        assert!(unpack_into(two.as_slice(), &mut Vec::new(), Bytes(7)).is_err());
    }

    #[test]
    fn the_hash_is_in_hex() {
        assert_eq!(hex(&[0xe3, 0xb0, 0x0c]), "e3b00c");
    }
}
