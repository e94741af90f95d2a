use super::*;
use crate::app::screens::write::WriteDialog;
use crate::app::state::{Options, Overlay, ToastKind};
use crate::app::target::Target;
use crate::commit::UndoTarget;
use crate::ids::{EntryIx, Epoch};
use crate::session::message::excerpt::Excerpt;
use crate::session::testing::{item, loaded_session, transcript, user};
use crate::store::sqlite::item_path;
use crate::units::{Bytes, Moment};

/// A list item of a transcript with `bytes`, at its path.
fn listed(key: &str, path: &Path, bytes: u64) -> SessionItem {
    SessionItem { key: SessionKey(key.into()), path: Some(path.to_path_buf()), bytes: Bytes(bytes), ..item() }
}

fn session(item: &SessionItem) -> LoadedSession {
    LoadedSession { item: item.clone(), ..loaded_session(&transcript(&[user("hi")]), 200_000.0) }
}

fn list(app: &mut App, items: &[SessionItem]) -> Vec<Effect> {
    let listing =
        StoreListing { store_label: "~/.openclaw".into(), items: items.to_vec(), ..StoreListing::default() };
    app.update(Event::Listed(Box::new(listing)), Moment::ZERO)
}

fn open(app: &mut App, session: LoadedSession) -> Vec<Effect> {
    app.update(Event::Opened(Box::new(session)), Moment::ZERO)
}

/// An app with these sessions and the first of them open.
fn app(items: &[SessionItem]) -> App {
    let mut app = App::new(Options { motion: false, ..Options::default() }, (140, 40));
    list(&mut app, items);
    app.open_session(items[0].key.clone());
    open(&mut app, session(&items[0]));
    app
}

fn displayed(app: &App) -> &str {
    app.displayed_session().map_or("", |session| &session.item.key.0)
}

fn refreshes(effects: &[Effect]) -> bool {
    effects.iter().any(|effect| matches!(effect, Effect::RefreshSession { .. }))
}

#[test]
fn a_session_that_loads_after_a_newer_request_is_dropped() {
    let items = ["a", "b", "c"].map(|key| listed(key, Path::new(key), 1));
    let mut app = app(&items);
    assert_eq!(displayed(&app), "a");
    app.open_session(items[1].key.clone());
    app.open_session(items[2].key.clone());
    open(&mut app, session(&items[1]));
    assert_eq!(displayed(&app), "a", "c was requested last");
    open(&mut app, session(&items[2]));
    assert_eq!(displayed(&app), "c");
    open(&mut app, session(&items[1]));
    assert_eq!(displayed(&app), "c", "nothing loads, and another session is open");
}

#[test]
fn a_change_of_the_database_reads_the_open_session_again() {
    let database = Path::new("/s/agent/openclaw-agent.sqlite");
    let mut app = app(&[listed("a", &item_path(database, "s"), 1)]);
    let changed =
        |app: &mut App, path: &Path| app.update(Event::FilesChanged(vec![path.into()]), Moment::ZERO);
    assert!(refreshes(&changed(&mut app, database)));
    assert!(!refreshes(&changed(&mut app, Path::new("/s/agent/other.sqlite"))));
}

#[test]
fn a_key_with_a_new_transcript_opens_it_and_one_without_keeps_the_old() {
    let old = listed("a", Path::new("old.jsonl"), 1);
    let mut app = app(std::slice::from_ref(&old));
    assert!(!refreshes(&list(&mut app, &[old])));
    let new = listed("a", Path::new("new.jsonl"), 1);
    let missing = SessionItem { marks: vec![Mark::Missing], ..new.clone() };
    assert!(!refreshes(&list(&mut app, &[missing])), "the gateway has not written it yet");
    assert!(refreshes(&list(&mut app, &[new])));
}

#[test]
fn a_toast_sets_a_timer_for_its_end() {
    let mut app = app(&[listed("a", Path::new("a"), 1)]);
    let effects = app.update(Event::Notice("saved".into()), Moment(1_000.0));
    assert!(
        effects
            .iter()
            .any(|effect| matches!(effect, Effect::SetTimer(at) if *at == Moment(1_000.0) + TOAST_MS))
    );
    app.update(Event::Timer, Moment(999.0) + TOAST_MS);
    assert!(app.toast.is_some());
    app.update(Event::Timer, Moment(1_000.0) + TOAST_MS);
    assert!(app.toast.is_none());
}

#[test]
fn excerpts_of_an_older_reading_are_dropped() {
    let items = [listed("a", Path::new("a"), 1)];
    let mut app = app(&items);
    open(&mut app, LoadedSession { epoch: Epoch(7), ..session(&items[0]) });
    let entry = EntryIx(40);
    let mut has_after = |epoch: u64| {
        app.update(
            Event::Excerpts { epoch: Epoch(epoch), items: vec![(entry, Excerpt::default())] },
            Moment::ZERO,
        );
        app.transcript.as_ref().is_some_and(|pane| pane.excerpts.contains_key(&entry))
    };
    assert!(!has_after(6));
    assert!(has_after(7));
}

#[test]
fn a_preview_counts_only_while_the_dialog_checks() {
    let items = [listed("a", Path::new("a"), 1)];
    let mut app = app(&items);
    let mut stage_after = |stage: WriteStage| {
        let write =
            PendingWrite::Undo { session: Arc::new(session(&items[0])), target: UndoTarget::LastCommit };
        app.views.push(Overlay::Write(WriteDialog {
            write,
            stage,
            requested_from: Target::NextCall,
            top: 0,
        }));
        app.update(Event::WritePreviewed(Err(EffectError::SessionGone)), Moment::ZERO);
        let stage = app.write_dialog_mut().map(|dialog| dialog.stage.clone());
        app.views.pop();
        stage
    };
    assert!(matches!(stage_after(WriteStage::Checking), Some(WriteStage::Refused(_))));
    assert!(matches!(stage_after(WriteStage::Writing), Some(WriteStage::Writing)));
    assert!(matches!(stage_after(WriteStage::Waiting), Some(WriteStage::Waiting)));
}

#[test]
fn a_list_keeps_counts_only_of_files_that_did_not_change() {
    let counted = SessionItem { entries: Some(9), ..listed("a", Path::new("a"), 1) };
    let mut app = app(std::slice::from_ref(&counted));
    let mut entries_of = |item: SessionItem| {
        list(&mut app, &[item]);
        app.sessions.items[0].entries
    };
    let uncounted = |path: &str, bytes: u64| listed("a", Path::new(path), bytes);
    assert_eq!(entries_of(uncounted("a", 1)), Some(9));
    assert_eq!(entries_of(counted.clone()), Some(9));
    assert_eq!(entries_of(uncounted("a", 2)), None, "the file grew");
    assert_eq!(entries_of(counted), Some(9));
    assert_eq!(entries_of(uncounted("b", 1)), None, "another file");
}

#[test]
fn counting_a_session_updates_family_totals_and_the_filter() {
    let mut app = app(&[listed("a", Path::new("a"), 1)]);
    app.sessions.set_filter("zebra", None, 10);
    assert_eq!(app.sessions.session_count(), 0);
    let mut counted =
        SessionItem { title: "zebra".into(), overflows: Some(3), ..listed("a", Path::new("a"), 1) };
    counted.usage = Some(crate::session::ItemUsage::default());
    app.update(Event::ItemsCounted(vec![counted]), Moment::ZERO);
    assert_eq!(app.sessions.session_count(), 1);
    assert_eq!(app.sessions.rollups, app.sessions.families.rollups(&app.sessions.items));
}

#[test]
fn a_session_that_overflowed_is_still_marked_while_it_is_counted_again() {
    let counted = SessionItem {
        entries: Some(9),
        overflows: Some(2),
        marks: vec![Mark::Overflow],
        ..listed("a", Path::new("a"), 1)
    };
    let mut app = app(std::slice::from_ref(&counted));
    list(&mut app, &[listed("a", Path::new("a"), 1)]);
    let item = &app.sessions.items[0];
    assert_eq!((item.overflows, &item.marks[..]), (Some(2), &[Mark::Overflow][..]));
    // One that the list marks itself is marked once.
    list(&mut app, &[SessionItem { marks: vec![Mark::Overflow], ..listed("a", Path::new("a"), 1) }]);
    assert_eq!(app.sessions.items[0].marks, [Mark::Overflow]);
}

#[test]
fn warnings_of_the_start_are_shown_once_with_the_first_list() {
    let items = [listed("a", Path::new("a"), 1)];
    let options = Options { motion: false, warnings: vec!["no such theme".into()], ..Options::default() };
    let mut app = App::new(options, (140, 40));
    assert!(app.toast.is_none());
    list(&mut app, &items);
    assert_eq!(
        app.toast.take().map(|toast| (toast.text, toast.kind)),
        Some(("no such theme".into(), ToastKind::Alert))
    );
    list(&mut app, &items);
    assert!(app.toast.is_none());
}

#[test]
fn only_rows_without_an_excerpt_request_one() {
    let items = [listed("a", Path::new("a"), 1)];
    let mut app = App::new(Options { motion: false, ..Options::default() }, (140, 40));
    list(&mut app, &items);
    app.open_session(items[0].key.clone());
    let requested = |effects: &[Effect]| -> Vec<EntryIx> {
        let excerpts = effects.iter().filter_map(|effect| match effect {
            Effect::ReadExcerpts { entries, .. } => Some(entries.clone()),
            _ => None,
        });
        excerpts.flatten().collect()
    };
    assert_eq!(requested(&open(&mut app, session(&items[0]))), [EntryIx(0)]);
    let epoch = app.displayed_session().expect("a session").epoch;
    let known = Event::Excerpts { epoch, items: vec![(EntryIx(0), Excerpt::default())] };
    let effects = app.update(known, Moment::ZERO);
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::ReadExcerpts { .. })), "{effects:?}");
}
