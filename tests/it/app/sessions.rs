//! The list of sessions, its filter, and quitting.

use clawscope::app::event::Event;
use clawscope::app::layout::Pane;
use clawscope::app::sessions::SessionRow;
use clawscope::app::state::ToastKind;
use clawscope::replay::Cost;
use clawscope::session::order::SortColumn;
use clawscope::session::{CountSource, ItemUsage, Mark, SessionItem, TokenCount};
use clawscope::units::Moment;

use crate::frames::{dark, drawn, text_of};
use crate::support::driver::Driver;
use crate::support::fixture::put;

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
        toast.kind == ToastKind::Alert
            && toast.text.contains("openclaw.json:2:13: session.scope: Invalid input"),
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
fn esc_leaves_the_filter_and_the_next_key_is_a_key() {
    let mut driver = Driver::demo(130, 36);
    let all = driver.app.sessions.session_count();
    driver.press("1 / text:zzzzqq");
    assert_eq!(driver.app.sessions.session_count(), 0);
    driver.press("esc o");
    assert_eq!((driver.app.sessions.session_count(), driver.app.input.is_some()), (all, false));
    assert_eq!(driver.app.sessions.order.column, SortColumn::Fullness);
}

#[test]
fn an_active_filter_is_visible_with_the_key_that_clears_it() {
    let line =
        |driver: &Driver| screen(driver).lines().find(|line| line.starts_with(" /")).map(str::to_owned);
    let mut driver = Driver::demo(130, 36);
    driver.press("1 / text:slack enter");
    assert!(line(&driver).expect("a filter").starts_with(" /slack      1 esc clears"), "{}", screen(&driver));
    driver.press("1");
    assert!(line(&driver).expect("a filter").starts_with(" /slack        esc clears"), "{}", screen(&driver));
    driver.press("esc");
    assert!(line(&driver).expect("a filter").starts_with(" / filter           age ↓"), "{}", screen(&driver));
}

/// Tabs hide the list: its tab shows that a filter is active.
#[test]
fn a_filter_of_a_hidden_list_is_visible_in_its_tab() {
    let mut driver = Driver::demo(60, 20);
    driver.press("1 / text:slack enter");
    assert!(screen(&driver).contains("1 Sessions /"), "{}", screen(&driver));
}

fn screen(driver: &Driver) -> String {
    text_of(&drawn(&driver.app, &dark()))
}

#[test]
fn a_row_shows_its_age_and_the_middle_of_a_long_name_is_cut() {
    let mut driver = Driver::demo(130, 36);
    driver.press("1");
    let text = screen(&driver);
    assert!(text.contains("telegram 8812   4m 102%"), "{text}");
    assert!(text.contains("whatsa…家里人"), "{text}");
}

#[test]
fn another_order_keeps_the_cursor_on_its_session() {
    let mut driver = Driver::demo(130, 36);
    driver.press("1 j j j");
    let chosen = selected(&driver);
    for _ in SortColumn::ALL {
        for key in ["O", "o"] {
            driver.press(key);
            assert_eq!(selected(&driver), chosen, "{:?}", driver.app.sessions.order);
        }
    }
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
    driver.press("ctrl-u text:tlgrm");
    assert_eq!(visible_keys(&driver), keys, "letters that are missing change nothing");
    driver.press("ctrl-u text:zqx");
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
    driver.press("esc");
    assert_eq!(selected(&driver), open);
}

#[test]
fn conditions_and_words_combine_and_a_mistake_is_reported() {
    let mut driver = Driver::demo(130, 36);
    let mut keys = |filter: &str| {
        driver.press(&format!("1 / ctrl-u text:{filter}"));
        let keys = visible_keys(&driver);
        let problem = driver.app.input.as_ref().and_then(|input| input.error.clone());
        driver.press("esc");
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

/// A store with five runs of a cron job under its base key, and four heartbeats that no record names.
fn store_of_runs() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a folder");
    let folder = dir.path().join("agents/main/sessions");
    let run = |id: &str, day: u32, words: &str, tokens: u32| {
        let time = format!("2026-03-0{day}T04:00:00.000Z");
        let lines = [
            format!(r#"{{"type":"session","version":3,"id":"{id}","timestamp":"{time}","cwd":"/"}}"#),
            format!(
                r#"{{"type":"message","id":"u","parentId":null,"timestamp":"{time}","message":{{"role":"user","content":"{words}"}}}}"#
            ),
            format!(
                r#"{{"type":"message","id":"a","parentId":"u","timestamp":"{time}","message":{{"role":"assistant","provider":"anthropic","model":"claude-opus-4-6","stopReason":"stop","content":[{{"type":"text","text":"done"}}],"usage":{{"input":{tokens},"output":1,"cacheRead":0,"cacheWrite":0,"totalTokens":{tokens},"cost":{{"total":0.002}}}}}}}}"#
            ),
        ];
        put(&folder.join(format!("{id}.jsonl")), lines.join("\n") + "\n");
    };
    let mut records = Vec::new();
    for day in 1..=5 {
        let id = format!("c000000{day}-0000-4000-8000-000000000000");
        run(&id, day, "[cron:7 nightly] Sum up the day.", 1_000 * day);
        let updated = 1_772_337_600_000_u64 + u64::from(day - 1) * 86_400_000;
        let record = format!(r#"{{"sessionId":"{id}","updatedAt":{updated},"label":"nightly"}}"#);
        records.push(format!(r#""agent:main:cron:7:run:{id}":{record}"#));
        if day == 5 {
            records.push(format!(r#""agent:main:cron:7":{record}"#));
        }
        let beat = format!("b000000{day}-0000-4000-8000-000000000000");
        if day < 5 {
            run(&beat, day, "Read HEARTBEAT.md if it exists (workspace context). Follow it strictly.", 700);
        }
    }
    put(&folder.join("sessions.json"), format!("{{{}}}", records.join(",")));
    dir
}

/// Fills in what the program counts in the background.
fn counted(item: &SessionItem) -> SessionItem {
    let day = item.id[7..8].parse::<u64>().expect("a day");
    let tokens = Some(TokenCount { tokens: 1_000 * day, source: CountSource::Measured });
    let cost = Cost { recorded: Some(0.002), ..Cost::default() };
    let usage = Some(ItemUsage { calls: 1, tokens: 1, cost });
    let title = if item.id.starts_with('b') { "⟨heartbeat⟩".to_owned() } else { item.title.clone() };
    let updated_ms = Some(Moment(1_772_337_600_000.0 + day as f64 * 86_400_000.0));
    SessionItem { tokens, usage, title, updated_ms, ..item.clone() }
}

#[test]
fn runs_of_a_job_are_one_row_with_count_growth_and_cost() {
    let mut driver = Driver::on(store_of_runs(), 130, 36);
    driver.press("1");
    driver.event(Event::ItemsCounted(driver.app.sessions.items.iter().map(counted).collect()));
    assert_eq!(visible_keys(&driver).len(), 2, "{}", screen(&driver));
    assert!(screen(&driver).contains("×5 +4k"), "{}", screen(&driver));
    assert!(screen(&driver).contains("×4 +3k"), "{}", screen(&driver));
    driver.press("z");
    assert!(screen(&driver).contains("5 runs  +4k  $0.01 in all"), "{}", screen(&driver));
    driver.press("g space");
    assert_eq!(visible_keys(&driver).len(), 2 + 4, "the older runs below the newest: {}", screen(&driver));
    driver.press("space");
    assert_eq!(visible_keys(&driver).len(), 2);
    // Going to a run shows it.
    driver.go_to("c0000002-0000-4000-8000-000000000000");
    assert!(selected(&driver).contains(":run:c0000002"));
}
