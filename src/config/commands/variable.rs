//! The environment variables in which a command gets the selected row. A value never becomes a part of the command itself:
//! no list of programs tells which of them would read it as code.

/// A value of the selected row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowVariable {
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

/// The start of every variable's name.
const PREFIX: &str = "CLAWSCOPE_";

impl RowVariable {
    pub const ALL: [Self; 6] = [Self::Session, Self::Key, Self::File, Self::Entry, Self::Line, Self::Store];

    /// The name in the environment.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Session => "CLAWSCOPE_SESSION",
            Self::Key => "CLAWSCOPE_KEY",
            Self::File => "CLAWSCOPE_FILE",
            Self::Entry => "CLAWSCOPE_ENTRY",
            Self::Line => "CLAWSCOPE_LINE",
            Self::Store => "CLAWSCOPE_STORE",
        }
    }

    /// Whether a word reads the variable.
    pub fn is_in(self, word: &str) -> bool {
        word.match_indices(self.name()).any(|(at, name)| {
            let after = word[at + name.len()..].chars().next();
            after.is_none_or(|char| !char.is_ascii_alphanumeric() && char != '_')
        })
    }

    /// Whether only an entry has it.
    pub(super) const fn needs_entry(self) -> bool {
        matches!(self, Self::Entry | Self::Line)
    }

    /// Whether a word has the placeholder `{name}`, which nothing replaces. `${name}` is a shell's own variable.
    pub(super) fn is_placeholder_in(self, word: &str) -> bool {
        let placeholder = ["{", &self.word(), "}"].concat();
        word.match_indices(&placeholder).any(|(at, _)| !word[..at].ends_with('$'))
    }

    /// The name in the placeholder: `key` for `CLAWSCOPE_KEY`.
    pub(super) fn word(self) -> String {
        self.name().trim_start_matches(PREFIX).to_ascii_lowercase()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_reads_a_variable_by_its_whole_name() {
        for word in ["$CLAWSCOPE_KEY", "\"${CLAWSCOPE_KEY}\"", "--key=$CLAWSCOPE_KEY", "%CLAWSCOPE_KEY%"] {
            assert!(RowVariable::Key.is_in(word), "{word}");
        }
        assert!(!RowVariable::Key.is_in("$CLAWSCOPE_KEYS") && !RowVariable::Key.is_in("$KEY"));
        assert!(
            RowVariable::File.is_placeholder_in("{file}:{line}")
                && RowVariable::Line.is_placeholder_in("{{line}}")
        );
        assert!(
            !RowVariable::File.is_placeholder_in("${file}")
                && !RowVariable::File.is_placeholder_in("{print}")
        );
    }
}
