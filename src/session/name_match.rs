//! Finds sessions by a part of their key or title, for a person who remembers `8812` and not the whole key.

use crate::session::SessionItem;

/// Returns the sessions whose key or title contains every word of `text` in any case, the newest first. Sessions in use
/// win over those that are set aside.
pub fn match_part<'a>(items: &'a [SessionItem], text: &str) -> Vec<&'a SessionItem> {
    let text = text.to_lowercase();
    let words: Vec<&str> = text.split_whitespace().collect();
    let contains = |item: &&SessionItem| {
        let names = [&item.key.0, &item.title, &item.id].map(|name| name.to_lowercase());
        words.iter().all(|word| names.iter().any(|name| name.contains(word)))
    };
    let mut found: Vec<&SessionItem> =
        if words.is_empty() { Vec::new() } else { items.iter().filter(contains).collect() };
    found.sort_by_cached_key(|item| {
        let (aside, updated, key) = item.sort_key();
        (aside, updated, key.clone())
    });
    let best = found.first().map(|item| item.sort_key().0);
    found.retain(|item| Some(item.sort_key().0) == best);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::SessionKey;
    use crate::session::{Mark, testing};
    use crate::units::Moment;

    fn item(key: &str, title: &str, updated_ms: Moment) -> SessionItem {
        let item = testing::loaded_session("", 1.0).item;
        let marks = Vec::new();
        let key = SessionKey(key.to_owned());
        SessionItem { key, title: title.to_owned(), updated_ms: Some(updated_ms), marks, ..item }
    }

    fn found(items: &[SessionItem], text: &str) -> Vec<String> {
        match_part(items, text).into_iter().map(|item| item.key.0.clone()).collect()
    }

    #[test]
    fn every_word_is_in_the_key_or_the_title_and_the_newest_is_first() {
        let items = [
            item("agent:main:telegram:direct:8812", "telegram:8812", Moment(1.0)),
            item("agent:main:telegram:direct:9020", "Build FAILS", Moment(2.0)),
        ];
        assert_eq!(found(&items, "8812"), ["agent:main:telegram:direct:8812"]);
        assert_eq!(found(&items, "Telegram build"), ["agent:main:telegram:direct:9020"]);
        assert_eq!(found(&items, "telegram").first().unwrap(), "agent:main:telegram:direct:9020");
        assert_eq!(found(&items, "telegram nobody"), [""; 0]);
        assert_eq!(found(&items, "  "), [""; 0]);
    }

    #[test]
    fn a_session_in_use_wins_over_its_archive() {
        let mut items =
            [item("agent:main:x", "x", Moment(1.0)), item("x.jsonl.reset.2026", "x", Moment(2.0))];
        items[1].set_mark(Mark::Reset, true);
        assert_eq!(found(&items, "x"), ["agent:main:x"]);
        assert_eq!(found(&items, "reset"), ["x.jsonl.reset.2026"]);
    }
}
