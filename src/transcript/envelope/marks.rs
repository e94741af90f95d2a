//! The few words that replace an envelope.

const MAX_MARK_CHARS: usize = 40;
/// A limit, because a hostile text may contain thousands.
const MAX_MARKS: usize = 4;

#[derive(Debug, Default)]
pub(super) struct Marks {
    channel: Option<String>,
    group: bool,
    others: Vec<String>,
}

impl Marks {
    /// Adds a mark unless it is already there.
    pub(super) fn add(&mut self, words: &str) {
        let words = shorten(words);
        if !words.is_empty() && self.others.len() < MAX_MARKS && !self.others.contains(&words) {
            self.others.push(words);
        }
    }

    /// Sets the channel; the first part of the envelope that names one wins.
    pub(super) fn set_channel(&mut self, channel: &str) {
        let channel = shorten(&channel.to_lowercase());
        if self.channel.is_none() && !channel.is_empty() {
            self.channel = Some(channel);
        }
    }

    pub(super) fn set_group(&mut self) {
        self.group = true;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.channel.is_none() && !self.group && self.others.is_empty()
    }

    /// Returns the marks, the channel first.
    pub(super) fn into_words(self) -> Vec<String> {
        let group = self.group.then(|| "group".to_owned());
        let place: Vec<String> = self.channel.into_iter().chain(group).collect();
        let place = (!place.is_empty()).then(|| place.join(" "));
        place.into_iter().chain(self.others).collect()
    }
}

/// Collapses white space and cuts the words to the length of a mark.
fn shorten(words: &str) -> String {
    let mut out = String::new();
    for word in words.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.extend(word.chars().take(MAX_MARK_CHARS));
        if out.chars().count() > MAX_MARK_CHARS {
            return out.chars().take(MAX_MARK_CHARS - 1).chain(['…']).collect();
        }
    }
    out
}
