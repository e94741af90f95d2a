//! Version numbers of OpenClaw and pi, ordered so that detectors can be selected by release.

/// Year, month, day for OpenClaw; major, minor, patch for pi.
pub(super) type Release = [u32; 3];

/// Separates the two numberings: OpenClaw counts years, pi does not.
const FIRST_YEAR: u32 = 2025;

/// Parses an OpenClaw version: `2026.3.2`, `v2026.3.2-beta.1`, `2026.1.24-3`, `2026.9.x`.
pub(super) fn parse_openclaw(text: &str) -> Option<Release> {
    parse_numbers(text).filter(|release| (FIRST_YEAR..10_000).contains(&release[0]) && release[1] > 0)
}

/// Parses a pi version: `0.55.3`, `v1.5.2`, `pi-1.5`.
pub(super) fn parse_pi(text: &str) -> Option<Release> {
    let text = text.trim();
    parse_numbers(text.strip_prefix("pi-").unwrap_or(text)).filter(|release| release[0] < FIRST_YEAR)
}

/// Parses one to three numbers; a missing part or `x` becomes `u32::MAX`.
fn parse_numbers(text: &str) -> Option<Release> {
    let text = text.trim();
    let text = text.strip_prefix(['v', 'V']).unwrap_or(text).split(['-', '+', ' ']).next()?;
    let mut release = [u32::MAX; 3];
    let mut open = false;
    for (at, word) in text.split('.').enumerate() {
        let slot = release.get_mut(at)?;
        if at > 0 && matches!(word, "x" | "*") {
            open = true;
        } else if open || word.is_empty() || !word.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        } else {
            *slot = word.parse().ok()?;
        }
    }
    Some(release)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_texts_are_read_as_both_programs_write_them() {
        for (text, release) in [
            ("2026.3.2", [2026, 3, 2]),
            (" v2026.3.2-beta.1 ", [2026, 3, 2]),
            ("2026.1.24-3", [2026, 1, 24]),
            ("2026.9.x", [2026, 9, u32::MAX]),
            ("2026.9", [2026, 9, u32::MAX]),
        ] {
            assert_eq!(parse_openclaw(text), Some(release), "{text}");
        }
        assert_eq!((parse_pi("0.55.3"), parse_pi("pi-1.5")), (Some([0, 55, 3]), Some([1, 5, u32::MAX])));
    }

    #[test]
    fn a_text_that_names_no_release_is_not_guessed() {
        for text in [
            "",
            "latest",
            "0.55.3",
            "2026",
            "2026.x.3",
            "2026.3.2.1",
            "2026..2",
            "2026.+3",
            "99999999999.1.1",
        ] {
            assert_eq!(parse_openclaw(text).filter(|release| release[1] < u32::MAX), None, "{text}");
        }
        assert_eq!([parse_pi("2026.3.2"), parse_pi("dev"), parse_pi("")], [None; 3]);
    }
}
