//! Previews, writes, undoes and refuses plans on copies of the demo store.

use super::*;
use crate::commit::{SystemClock, UndoTarget};
use crate::gateway::env::Environment;
use crate::policy::prune::Gate;
use crate::session::list::{SessionListing, list_sessions};
use crate::session::loading::open;
use crate::session::store_location::{StoreLocation, StoreRequest};
use crate::session::{Mark, SessionItem};
use crate::store::demo::NOW_MS;
use crate::units::{Bytes, Millis};

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

fn plan(session: &LoadedSession) -> crate::plan::Plan {
    session.plan(&session.configured_settings, Gate::Open { idle_ms: Millis::ZERO }).unwrap()
}

#[test]
fn a_plan_is_previewed_written_read_back_and_undone() {
    let (_place, listed) = demo();
    let before = opened(&listed, "telegram:direct:8812", None);
    let plan = plan(&before);
    let request = WriteRequest {
        session: &before,
        action: WriteAction::Commit { plan: &plan, summary: None },
        allow_orphan: false,
        now_ms: NOW_MS,
    };
    let shown = preview(&request, NOW_MS).unwrap();
    let words: Vec<&str> = shown.checks.iter().map(|(_, words)| words.as_str()).collect();
    assert_eq!(shown.checks[0].0, CheckStatus::Passed);
    assert!(words[0].starts_with("unchanged since 2026-03-05 14:") && words[0].ends_with('Z'), "{words:?}");
    assert!(words.contains(&"lock available") && words.contains(&"sizes match the plan"));
    assert_eq!(Bytes(before.source.len().unwrap()), shown.bytes, "a preview writes nothing");
    let written = write(&request, None, &SystemClock, &Environment::default()).unwrap();
    assert!(written.message.contains(&format!("{} entries", shown.entries)), "{}", written.message);
    let after = opened(&listed, "telegram:direct:8812", Some(&before));
    assert_eq!(after.budget().message_tokens(), before.budget_after(&plan).message_tokens());

    let stale = write(&request, None, &SystemClock, &Environment::default()).unwrap_err();
    assert!(stale.is_refusal() && stale.to_string().contains("Reload the session"), "{stale}");

    let undo = WriteRequest {
        session: &after,
        action: WriteAction::Undo(UndoTarget::LastCommit),
        allow_orphan: false,
        now_ms: NOW_MS,
    };
    let effect = preview(&undo, NOW_MS).unwrap().effect.unwrap();
    let (now, then) = (after.next_prompt.total.tokens, before.next_prompt.total.tokens);
    assert_eq!(effect.prompt_tokens, (now, then), "an undo says what it does to the next prompt");
    write(&undo, None, &SystemClock, &Environment::default()).unwrap();
    let back = opened(&listed, "telegram:direct:8812", Some(&after));
    assert_eq!(back.budget(), before.budget());
}

#[test]
fn archives_and_orphans_are_refused() {
    let (_place, listed) = demo();
    let aside =
        |item: &&SessionItem| item.has(Mark::Orphan) || item.marks.iter().any(|mark| mark.is_archive());
    let items: Vec<_> = listed.items.iter().filter(aside).collect();
    assert!(items.len() >= 3);
    for item in items {
        let loaded = open(&listed.store, &item.key, None, NOW_MS, &mut |_, _| true).unwrap();
        let plan = plan(&loaded);
        let request = WriteRequest {
            session: &loaded,
            action: WriteAction::Commit { plan: &plan, summary: None },
            allow_orphan: false,
            now_ms: NOW_MS,
        };
        assert!(matches!(prepare(&request), Err(WriteError::Refused(_))), "{}", item.key);
    }
}
