//! Output of a command on a copy, with the paths of the other machine in place of those of the copy.

use std::io::{self, Write};

/// Replaces one text by another in everything that is written.
pub(super) struct PathWriter<'a> {
    to: &'a mut dyn Write,
    old: Vec<u8>,
    new: Vec<u8>,
    /// Bytes that may begin the old text.
    held: Vec<u8>,
}

impl<'a> PathWriter<'a> {
    /// Creates a writer; `old` must not be empty.
    pub(super) fn new(to: &'a mut dyn Write, old: &str, new: &str) -> Self {
        Self { to, old: old.as_bytes().to_vec(), new: new.as_bytes().to_vec(), held: Vec::new() }
    }

    /// Writes the buffered rest.
    pub(super) fn finish(mut self) -> io::Result<()> {
        let held = std::mem::take(&mut self.held);
        self.to.write_all(&held)?;
        self.to.flush()
    }
}

impl Write for PathWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.held.extend_from_slice(bytes);
        let mut from = 0;
        while let Some(at) = memchr::memmem::find(&self.held[from..], &self.old) {
            self.to.write_all(&self.held[from..from + at])?;
            self.to.write_all(&self.new)?;
            from += at + self.old.len();
        }
        let rest = &self.held[from..];
        let longest = rest.len().min(self.old.len() - 1);
        let keep = (0..=longest).rev().find(|keep| self.old.starts_with(&rest[rest.len() - keep..]));
        let end = self.held.len() - keep.unwrap_or(0);
        self.to.write_all(&self.held[from..end])?;
        self.held.drain(..end);
        Ok(bytes.len())
    }

    /// Keeps the end of the text back, because it may be half of a path.
    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_path_is_replaced_even_across_split_writes(text in "(/tmp/aab|/tmp|/|a|b|t|m|p){0,30}", cuts in prop::collection::vec(0_usize..60, 0..6)) {
            let mut out = Vec::new();
            let mut writer = PathWriter::new(&mut out, "/tmp/aab", "/srv/x");
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
            cuts.sort_unstable();
            cuts.push(text.len());
            let mut from = 0;
            for cut in cuts {
                writer.write_all(&text.as_bytes()[from..cut]).unwrap();
                from = cut;
            }
            writer.finish().unwrap();
            prop_assert_eq!(String::from_utf8(out).unwrap(), text.replace("/tmp/aab", "/srv/x"));
        }
    }
}
