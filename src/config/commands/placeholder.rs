//! The values that a command takes from the selected row.

/// Similarity (Jaro-Winkler) from which clawscope suggests a name for a mistyped one.
const MIN_SIMILARITY: f64 = 0.7;

/// A value of the selected row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placeholder {
    /// The session's id.
    Session,
    /// The session's key.
    Key,
    /// The transcript's file.
    File,
    /// The entry's id.
    Entry,
    /// The entry's line in the file, from 1.
    Line,
    /// The store's folder.
    Store,
}

impl Placeholder {
    pub const ALL: [Self; 6] = [Self::Session, Self::Key, Self::File, Self::Entry, Self::Line, Self::Store];

    /// The name in braces.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Key => "key",
            Self::File => "file",
            Self::Entry => "entry",
            Self::Line => "line",
            Self::Store => "store",
        }
    }

    /// Whether only an entry has it.
    pub(super) const fn needs_entry(self) -> bool {
        matches!(self, Self::Entry | Self::Line)
    }
}

/// Returns the placeholder that a mistyped name probably means.
pub(super) fn nearest(name: &str) -> Option<&'static str> {
    let similarity = |known: &str| strsim::jaro_winkler(name, known);
    let names = Placeholder::ALL.map(Placeholder::name);
    let near = names.into_iter().max_by(|one, other| similarity(one).total_cmp(&similarity(other)));
    near.filter(|near| similarity(near) >= MIN_SIMILARITY)
}
