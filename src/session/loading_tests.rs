//! Opens the sessions of the demo store; follows and writes to copies of them.

use std::io::Write as _;

use super::*;
use crate::gateway::env::Environment;
use crate::policy::prune::Gate;
use crate::session::list::{SessionListing, list_sessions};
use crate::session::store_location::{StoreLocation, StoreRequest};
use crate::session::{CountSource, SessionItem, TokenCount, load_item};
use crate::store::demo::NOW_MS;
use crate::units::{Bytes, Chars, Millis, Tokens};

fn demo() -> (StoreLocation, SessionListing) {
    let place = StoreLocation::new(&StoreRequest::Demo, Environment::default()).unwrap();
    let listed = list_sessions(&place, NOW_MS);
    (place, listed)
}

fn item<'a>(listed: &'a SessionListing, part: &str) -> &'a SessionItem {
    listed.items.iter().find(|item| item.key.0.contains(part)).unwrap()
}

fn opened(listed: &SessionListing, part: &str, previous: Option<&LoadedSession>) -> LoadedSession {
    open(&listed.store, &item(listed, part).key, previous, NOW_MS, &mut |_, _| true).unwrap()
}

fn append(session: &LoadedSession, line: &str) {
    let mut file = std::fs::OpenOptions::new().append(true).open(session.source.path()).unwrap();
    writeln!(file, "{line}").unwrap();
}

fn plan(session: &LoadedSession) -> crate::plan::Plan {
    session.plan(&session.configured_settings, Gate::Open { idle_ms: Millis::ZERO }).unwrap()
}

#[test]
fn every_session_of_the_demo_opens_or_has_an_error() {
    let (_place, listed) = demo();
    for item in &listed.items {
        let opened = open(&listed.store, &item.key, None, NOW_MS, &mut |_, _| true);
        match opened {
            Ok(loaded) => {
                let session = &loaded.item;
                assert_eq!(session.entries, Some(loaded.index.entries.len() as u64));
                assert!(session.tokens.is_some() && session.compactions.is_some(), "{}", item.key);
                assert!(session.updated_ms.is_some_and(|ms| ms <= NOW_MS), "{}", item.key);
            }
            Err(error) => {
                assert!(item.has(Mark::Missing), "{}: {error}", item.key);
                assert!(error.to_string().contains("does not exist yet"), "{error}");
            }
        }
    }
}

#[test]
fn counting_a_session_gives_the_same_numbers_as_opening_it() {
    let recorded = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/transcripts");
    let (mut counted, mut failed) = (0, 0);
    for place in [StoreRequest::Demo, StoreRequest::Path(recorded.into())] {
        let place = StoreLocation::new(&place, Environment::default()).unwrap();
        let store = list_sessions(&place, NOW_MS).store;
        for session in &store.sessions {
            let opened = open(&store, &session.key, None, NOW_MS, &mut |_, _| true);
            match (opened, load_item(&store, session, NOW_MS, &mut |_, _| true)) {
                (Ok(opened), Ok(item)) => {
                    assert_eq!(opened.item, item);
                    counted += 1;
                }
                (Err(opened), Err(item)) => {
                    assert_eq!(opened.to_string(), item.to_string());
                    failed += 1;
                }
                (opened, item) => {
                    panic!("{}: opened {}, counted {}", session.key, opened.is_ok(), item.is_ok())
                }
            }
        }
    }
    assert!(counted > 20 && failed > 0, "{counted} counted, {failed} not");
}

#[test]
fn the_overflowed_session_carries_everything_the_screen_needs() {
    let (_place, listed) = demo();
    let session = opened(&listed, "telegram:direct:8812", None);
    assert!(session.item.has(Mark::Overflow));
    let counted = TokenCount { tokens: 203_412, source: CountSource::Measured };
    assert_eq!(session.item.tokens, Some(counted), "the refusal names it");
    assert_eq!((session.provider.as_str(), session.window.tokens), ("anthropic", Tokens(200_000.0)));
    assert!(session.pruning_configured && session.last_cache_touch_ms.is_some() && !session.context_throws);
    assert!(session.fixed_chars.is_some_and(|fixed| fixed.system > fixed.files && fixed.tools > Chars(0.0)));
    assert!(session.measured.is_ok_and(|measured| measured.prompt_tokens > 100_000));
    assert!(session.price.is_some_and(|price| price.output > price.input));
    assert!(!plan(&session).is_empty());
    let healthy = opened(&listed, "cron:", None);
    assert!(!healthy.item.has(Mark::Overflow));
    assert_eq!(healthy.item.tokens.map(|counted| counted.source), Some(CountSource::Measured));
}

#[test]
fn reopening_reads_only_the_new_lines() {
    let (_place, listed) = demo();
    let before = opened(&listed, "cron:", None);
    let same = opened(&listed, "cron:", Some(&before));
    assert!(Arc::ptr_eq(&before.index, &same.index));
    assert_eq!(same.epoch, before.epoch.next());
    let parent = before.index.display_id(before.index.last().unwrap());
    append(
        &before,
        &format!(
            r#"{{"type":"message","id":"feed0001","parentId":"{parent}","timestamp":"2026-03-05T14:00:00.000Z","message":{{"role":"user","content":"one more"}}}}"#
        ),
    );
    let mut first_block = None;
    let key = &before.item.key;
    let grown = open(&listed.store, key, Some(&before), NOW_MS, &mut |done, _| {
        first_block.get_or_insert(done);
        true
    });
    let grown = grown.unwrap();
    assert_eq!(grown.index.entries.len(), before.index.entries.len() + 1);
    assert!(first_block.is_some_and(|done| done > Bytes(before.index.end)));
    assert_eq!(grown.context.messages.len(), before.context.messages.len() + 1);
}

#[test]
fn a_cancelled_reading_stops() {
    let (_place, listed) = demo();
    let key = &item(&listed, "telegram:direct:8812").key;
    let error = open(&listed.store, key, None, NOW_MS, &mut |_, _| false).unwrap_err();
    assert!(error.is_stopped(), "{error}");
    let gone = crate::ids::SessionKey("agent:main:gone".into());
    let error = open(&listed.store, &gone, None, NOW_MS, &mut |_, _| true).unwrap_err();
    assert!(error.to_string().contains("Reload the list"));
}
