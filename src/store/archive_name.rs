//! The parts of an archived transcript's name: the original name, the reason and the time (store F1, F2).

use crate::js;
use crate::units::Moment;

/// Reason why a transcript was archived (store F2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ArchiveReason {
    /// `/new` or `/reset`.
    Reset,
    /// Deleted, or pruned by maintenance.
    Deleted,
    /// Copy made before a manual compaction.
    Bak,
}

impl ArchiveReason {
    pub(super) const ALL: [Self; 3] = [Self::Reset, Self::Deleted, Self::Bak];

    /// Returns the word in file names.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reset => "reset",
            Self::Deleted => "deleted",
            Self::Bak => "bak",
        }
    }
}

/// A parsed archive name (store F1).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ArchiveName<'a> {
    /// Name before archiving.
    pub original: &'a str,
    pub reason: ArchiveReason,
    /// Its time; `None` when the name holds none.
    pub time_ms: Option<Moment>,
    /// Whether the file is packed (sqlite E5).
    pub is_packed: bool,
}

/// Parses `YYYY-MM-DDTHH-MM-SS(.mmm)?Z`; only the dashes of the time were colons.
pub(super) fn parse_stamp_ms(stamp: &str) -> Option<Moment> {
    let shape =
        |text: &str| text.bytes().map(|b| if b.is_ascii_digit() { b'0' } else { b }).collect::<Vec<_>>();
    if !matches!(shape(stamp).as_slice(), b"0000-00-00T00-00-00Z" | b"0000-00-00T00-00-00.000Z") {
        return None;
    }
    let (date, time) = stamp.split_once('T')?;
    let iso = js::Value::from(format!("{date}T{}", time.replace('-', ":")));
    let ms = js::date_value(Some(&iso));
    ms.is_finite().then_some(ms)
}
