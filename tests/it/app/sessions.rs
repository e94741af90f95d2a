//! The list of sessions, its filter, and quitting.

use clawscope::app::layout::Pane;
use clawscope::app::sessions::SessionRow;
use clawscope::session::Mark;
use clawscope::session::order::SortColumn;
use clawscope::units::Moment;

use crate::support::driver::Driver;

#[test]
fn the_newest_session_is_open_at_its_last_row() {
    let driver = Driver::demo(130, 36);
    let live =
        driver.app.sessions.items.iter().filter(|item| !item.has(Mark::Missing) && !item.has(Mark::Orphan));
    let newest = live
        .filter(|item| !item.marks.iter().any(|mark| mark.is_archive()))
        .filter_map(|item| item.updated_ms)
        .reduce(Moment::max);
    let session = driver.app.displayed_session().expect("a session");
    assert_eq!(session.item.updated_ms, newest);
    let pane = driver.app.transcript.as_ref().expect("a transcript");
    assert_eq!(pane.scroll.cursor + 1, pane.rows.len());
    assert!(pane.follow);
    assert!(pane.rows.iter().skip(pane.scroll.top).all(|row| pane.excerpts.contains_key(&row.entry)));
}

#[test]
fn a_configuration_that_the_gateway_refuses_is_reported_on_the_screen_with_line_and_column() {
    let dir = tempfile::tempdir().expect("a folder");
    std::fs::create_dir_all(dir.path().join("agents/main/sessions")).expect("folders");
    let mut file = std::fs::File::create(dir.path().join("openclaw.json")).expect("a file");
    std::io::Write::write_all(&mut file, b"{\n session: { scope: 'all' } }").expect("written");
    let driver = Driver::on(dir, 130, 36);
    let toast = driver.app.toast.as_ref().expect("a word");
    assert!(
        toast.is_error && toast.text.contains("openclaw.json:2:13: session.scope: Invalid input"),
        "{}",
        toast.text
    );
    let listing = driver.app.store.listing.as_ref().expect("a list");
    assert!(listing.config_error.is_some() && !listing.diagnostics.is_empty());
}

#[test]
fn typing_a_filter_narrows_the_sessions_and_enter_opens_the_match() {
    let mut driver = Driver::demo(130, 36);
    let all = driver.app.sessions.session_count();
    driver.press("1 / text:slack");
    assert!(driver.app.sessions.session_count() < all);
    driver.press("enter");
    assert!(driver.app.displayed_session().expect("a session").item.key.0.contains("slack"));
    assert_eq!(driver.app.focus, Pane::Transcript);
}

#[test]
fn the_first_esc_clears_the_filter_and_the_second_leaves_it() {
    let mut driver = Driver::demo(130, 36);
    let all = driver.app.sessions.session_count();
    driver.press("1 / text:zzzzqq");
    assert_eq!(driver.app.sessions.session_count(), 0);
    driver.press("esc");
    assert_eq!((driver.app.sessions.session_count(), driver.app.input.is_some()), (all, true));
    driver.press("esc");
    assert!(driver.app.input.is_none());
}

fn visible_keys(driver: &Driver) -> Vec<String> {
    let pane = &driver.app.sessions;
    let key = |row: &SessionRow| match row {
        SessionRow::Item(row) => Some(pane.items[row.at].key.0.clone()),
        _ => None,
    };
    pane.rows.iter().filter_map(key).collect()
}

fn selected(driver: &Driver) -> String {
    driver.app.sessions.selected().expect("a session").key.0.clone()
}

fn open_key(driver: &Driver) -> String {
    driver.app.displayed_session().expect("a session").item.key.0.clone()
}

#[test]
fn a_filter_word_selects_only_matching_sessions() {
    let mut driver = Driver::demo(130, 36);
    driver.press("1 / text:tele");
    let keys = visible_keys(&driver);
    assert_eq!(keys.len(), 2, "{keys:?}");
    assert!(keys.iter().all(|key| key.contains("telegram")), "{keys:?}");
    driver.press("esc text:tlgrm");
    assert_eq!(visible_keys(&driver), keys, "letters that are missing change nothing");
    driver.press("esc text:zqx");
    assert_eq!(visible_keys(&driver), Vec::<String>::new());
}

#[test]
fn the_start_of_an_id_selects_and_opens_its_session_and_clearing_keeps_the_row() {
    let mut driver = Driver::demo(130, 36);
    let item = driver.app.sessions.items.iter().find(|item| item.key.0.contains("llvm")).expect("it");
    let (key, id) = (item.key.0.clone(), item.id[..6].to_owned());
    driver.press(&format!("1 / text:{id}"));
    assert_eq!(visible_keys(&driver), [key.as_str()]);
    driver.press("enter");
    assert_eq!((open_key(&driver), selected(&driver)), (key.clone(), key.clone()));
    driver.press("1 esc");
    assert_eq!(driver.app.sessions.filter, "");
    assert_eq!((open_key(&driver), selected(&driver)), (key.clone(), key), "clearing keeps the row");
    assert_eq!(visible_keys(&driver).len(), driver.app.sessions.items.len());
}

#[test]
fn a_filter_that_is_given_up_selects_the_open_session_again() {
    let mut driver = Driver::demo(130, 36);
    let open = open_key(&driver);
    driver.press("1 / text:slack");
    assert_ne!(selected(&driver), open);
    driver.press("esc esc");
    assert_eq!(selected(&driver), open);
}

#[test]
fn conditions_and_words_combine_and_a_mistake_is_reported() {
    let mut driver = Driver::demo(130, 36);
    let mut keys = |filter: &str| {
        driver.press(&format!("1 / ctrl-u text:{filter}"));
        let keys = visible_keys(&driver);
        let problem = driver.app.input.as_ref().and_then(|input| input.error.clone());
        driver.press("esc esc");
        (keys, problem)
    };
    let (overflowed, _) = keys("channel:slack");
    assert_eq!(overflowed.len(), 1);
    assert_eq!(keys("agent:research").0.len(), 5);
    assert_eq!(keys("model:haiku").0.len(), 3);
    assert_eq!(keys("kind:subagent").0.len(), 1);
    assert!(keys("age:<2h").0.len() < keys("age:<2d").0.len());
    let (all, problem) = keys("colour:red");
    assert_eq!(all, Vec::<String>::new());
    assert!(problem.expect("a word").starts_with("unknown key colour;"));
}

#[test]
fn the_order_cycles_and_survives_a_reload() {
    let mut driver = Driver::demo(130, 36);
    let by_age = visible_keys(&driver);
    driver.press("1 o");
    assert_eq!(driver.app.sessions.order.column, SortColumn::Fullness);
    let shares = |driver: &Driver| -> Vec<Option<u64>> {
        let pane = &driver.app.sessions;
        let rows = pane.rows.iter().filter_map(|row| match row {
            SessionRow::Item(row) => Some(pane.items[row.at].window_percent()),
            _ => None,
        });
        rows.collect()
    };
    let sorted = shares(&driver);
    let known: Vec<u64> = sorted.iter().copied().map_while(|share| share).collect();
    assert!(known.is_sorted_by(|one, other| one >= other), "{sorted:?}");
    assert!(sorted[known.len()..].iter().all(Option::is_none), "unknown ones come last");
    let open = open_key(&driver);
    driver.press(":reload");
    assert_eq!((shares(&driver), selected(&driver)), (sorted, open));
    driver.press("o o o o");
    assert_eq!(visible_keys(&driver), by_age);
}

#[test]
fn a_sub_agent_is_below_its_parent_and_folds_into_it() {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("research:main");
    driver.press("1");
    let row = |driver: &Driver| match driver.app.sessions.rows[driver.app.sessions.scroll.cursor] {
        SessionRow::Item(row) => row,
        _ => panic!("a heading is selected"),
    };
    let parent = driver.app.sessions.scroll.cursor;
    let SessionRow::Item(below) = driver.app.sessions.rows[parent + 1] else { panic!("no row below") };
    assert_eq!(below.depth, 1);
    assert!(driver.app.sessions.items[below.at].key.0.contains("subagent"));
    driver.press("space");
    assert_eq!((row(&driver).hidden, driver.app.sessions.scroll.cursor), (1, parent));
    // Going to it unfolds it.
    driver.go_to("2b7f0f3ad914");
    assert_eq!((row(&driver).depth, driver.app.sessions.folded.len()), (1, 0));
    driver.press("h");
    assert_eq!(driver.app.sessions.scroll.cursor, parent);
}

#[test]
fn moving_over_the_sessions_opens_each() {
    let mut driver = Driver::demo(130, 36);
    let shown = |driver: &Driver| driver.app.displayed_session().map(|session| session.item.key.clone());
    driver.press("1 G");
    let last = shown(&driver).expect("a session");
    driver.press("k");
    assert_ne!(shown(&driver).expect("a session"), last);
}

#[test]
fn a_session_without_a_transcript_yet_shows_a_message() {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("telegram:direct:9020");
    assert!(driver.app.transcript.is_none());
    let (_, error) = driver.app.opening.error.as_ref().expect("a reason");
    assert!(error.contains("does not exist yet"), "{error}");
}

#[test]
fn overflowed_sessions_are_marked() {
    let driver = Driver::demo(130, 36);
    driver.app.displayed_session().expect("a session");
    let mut driver = driver;
    driver.go_to("telegram:direct:8812");
    let item = &driver.app.displayed_session().expect("a session").item;
    assert!(item.has(Mark::Overflow), "{:?}", item.marks);
}

#[test]
fn q_quits_and_esc_at_the_top_does_not() {
    let mut driver = Driver::demo(80, 24);
    driver.press("esc esc esc esc");
    assert!(!driver.quit);
    driver.press("q");
    assert!(driver.quit);
}

#[test]
fn no_sequence_of_keys_panics_at_any_size() {
    let keys = "j k l h enter d r w T esc 1 j / a esc esc 4 j j l L h H 0 c e esc y 3 j G g d space esc 2 space - + f ctrl-n ctrl-n } { ] [ J K n N ! j esc ? j esc : esc p i m B j G + - h l space g enter B y esc F F R z tab tab tab";
    for (width, height) in [(1, 1), (10, 3), (60, 20), (80, 24), (130, 36), (300, 100)] {
        let mut driver = Driver::demo(width, height);
        driver.press(keys);
    }
}
