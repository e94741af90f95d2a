//! Walks through every screen, key by key and click by click: the lines of the screen that each step changes, and the
//! program's effects. A screen that changes on purpose changes its walks: look at the difference and accept it with
//! `INSTA_UPDATE=always INSTA_FORCE_PASS=1`, as in `frames.rs`.

use std::fmt::Write as _;

use clawscope::app::event::Event;
use clawscope::units::Millis;
use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};

use crate::frames::{dark, drawn, text_of};
use crate::support::driver::Driver;

/// One step: a key, a typed text, or `click:`, `drag:`, `up:` or `wheel:` at a column and row.
fn step(driver: &mut Driver, word: &str) {
    let mouse = [
        ("click:", MouseEventKind::Down(MouseButton::Left)),
        ("drag:", MouseEventKind::Drag(MouseButton::Left)),
        ("release:", MouseEventKind::Up(MouseButton::Left)),
        ("wheel:", MouseEventKind::ScrollDown),
        ("wheel-up:", MouseEventKind::ScrollUp),
    ];
    if let Some(text) = word.strip_prefix("paste:") {
        return driver.event(Event::Paste(text.to_owned()));
    }
    let Some((place, kind)) = mouse.iter().find_map(|(name, kind)| Some((word.strip_prefix(name)?, *kind)))
    else {
        return driver.press(word);
    };
    let (column, row) = place.split_once(',').expect("a column and a row");
    let (column, row) = (column.parse().expect("a column"), row.parse().expect("a row"));
    driver.event(Event::Mouse(MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE }));
}

/// Limit of recorded lines per step.
const MAX_LINES: usize = 8;

/// A digest of the changed lines (FNV-1a).
fn digest(lines: &[(usize, &str)]) -> u32 {
    let bytes = lines.iter().flat_map(|(row, line)| line.bytes().chain([*row as u8, b'\n']));
    bytes.fold(0x811c_9dc5_u32, |digest, byte| (digest ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// Masks the names of temporary folders.
fn without_folders(text: &str) -> String {
    let mut parts = text.split(".tmp");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |masked, part| {
        let name = part.chars().take(6).take_while(char::is_ascii_alphanumeric).count();
        masked + ".tmp" + &"0".repeat(name) + &part[name..]
    })
}

/// Masks possible ids of entries: eight hexadecimal digits.
fn without_ids(text: &str) -> String {
    let is_digit = |char: char| matches!(char, '0'..='9' | 'a'..='f');
    let mut masked = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(is_digit) {
        let end = rest[start..].find(|char| !is_digit(char)).map_or(rest.len(), |len| start + len);
        masked.push_str(&rest[..start]);
        masked.push_str(if end - start == 8 { "--------" } else { &rest[start..end] });
        rest = &rest[end..];
    }
    masked + rest
}

/// Walks and records the changed lines of each step. The first screen is not recorded.
fn walked(driver: &mut Driver, words: &str, has_new_ids: bool) -> String {
    // New entries have new ids.
    let screen = |driver: &Driver| {
        let text = without_folders(&text_of(&drawn(&driver.app, &dark())));
        if has_new_ids { without_ids(&text) } else { text }
    };
    let mut said = String::new();
    let mut before = screen(driver);
    for word in words.split_whitespace() {
        let (copied, saved) = (driver.copied.len(), driver.saved.len());
        step(driver, word);
        // Each step follows a second after the previous one, so that clicks are single.
        driver.now_ms += Millis(1_000.0);
        let after = screen(driver);
        let _ = writeln!(said, "> {word}");
        let changed: Vec<(usize, &str)> = before
            .lines()
            .zip(after.lines())
            .enumerate()
            .filter(|(_, (old, new))| old != new)
            .map(|(row, (_, line))| (row, line))
            .collect();
        // A whole screen has a separate snapshot in `frames.rs`; here its digest is enough.
        let shown = if changed.len() > MAX_LINES { MAX_LINES / 2 } else { changed.len() };
        for (row, line) in &changed[..shown] {
            let _ = writeln!(said, "{row:>2} {line}");
        }
        if shown < changed.len() {
            let _ = writeln!(said, "   {} lines in all, digest {:08x}", changed.len(), digest(&changed));
        }
        for text in &driver.copied[copied..] {
            let _ = writeln!(said, "copied {text:?}");
        }
        for (name, text) in &driver.saved[saved..] {
            let _ = writeln!(said, "saved {name}: {} bytes", text.len());
        }
        if driver.quit {
            said.push_str("quit\n");
        }
        before = after;
    }
    said
}

/// Walks from the build session that overflowed and compares with the stored walk.
fn walk(name: &str, size: (u16, u16), words: &str) {
    walk_in("telegram:direct:8812", name, size, words);
}

/// Walks from the session whose key ends so.
fn walk_in(key_end: &str, name: &str, size: (u16, u16), words: &str) {
    let mut driver = Driver::demo(size.0, size.1);
    driver.go_to(key_end);
    walk_with(driver, name, words);
}

fn walk_with(mut driver: Driver, name: &str, words: &str) {
    let said = walked(&mut driver, words, name.starts_with("commits"));
    insta::with_settings!({ filters => vec![
        (r"/\S*/\.tmp\w{1,6}", "[store]"),
    ], omit_expression => true }, {
        insta::assert_snapshot!(format!("walk {name}"), said);
    });
}

/// A session of 35 calls that overflowed once.
const INFRA: &str = "slack:channel:c07infra";
const WIDE: (u16, u16) = (130, 36);

#[test]
fn the_list_of_sessions() {
    walk(
        "sessions",
        WIDE,
        "1 j j k pgdn pgup G g ctrl-d ctrl-u o o O O space h l 1 - + / text:build enter n esc v d j esc y f y s 3 j",
    );
}

#[test]
fn the_rows_of_a_transcript() {
    walk(
        "transcript",
        WIDE,
        "2 g j J J K ] ] [ } { space h l - + v f v f :cycle-filter-back v h v h / text:ninja enter n n N esc 5 j 3 K G v t r d y y y i v u v u v p v p",
    );
}

#[test]
fn a_message_and_its_lines() {
    walk(
        "message",
        WIDE,
        "2 g / text:ninja enter 3 j j v l l l h v l G g ctrl-d / text:error enter n N r d d space v t J K z ctrl-left ctrl-right z ctrl-left ctrl-right 4 ctrl-left 1 ctrl-right",
    );
}

#[test]
fn settings_that_are_moved_and_moved_back() {
    walk(
        "tuning",
        WIDE,
        "4 p i j l l h L H enter text:7 enter 0 backspace alt-z alt-z alt-Z . x . . , v s esc y p :all-to-config a a a } { : text:release space text:2026.3.7 enter",
    );
}

#[test]
fn calls_of_the_timeline() {
    walk(
        "timeline",
        WIDE,
        "t l h L H n N z z z pgdn pgup G g v b v b v x v x j k + + - 0 backspace alt-z alt-Z x . , p :copy-patch y z z esc t enter",
    );
}

#[test]
fn cells_of_a_comparison() {
    walk_in(
        INFRA,
        "compare",
        WIDE,
        "w v a ctrl-u text:contextPruning.ttl=30m space text:contextPruning.keepLastAssistants=1 space text:contextPruning.softTrimRatio=0.1 enter l j h k G g o o n ] [ v x + - v h text:5000 enter y :copy-patch :save-plan tab j k tab backspace enter",
    );
}

#[test]
fn an_explanation_and_its_rows() {
    walk("explain", WIDE, "e j j k space h l - + G g y :copy-patch :rule esc pgdn enter < >");
}

#[test]
fn the_screens_of_numbers() {
    walk(
        "numbers",
        WIDE,
        "v w j j space k y enter esc v w - + esc e G enter j j k enter < G k k enter :copy-patch y esc v s . . x , enter esc esc v ! j enter",
    );
}

#[test]
fn help_and_the_palette() {
    walk(
        "help",
        WIDE,
        "? j j k pgdn pgup tab right left / text:fold enter G g esc esc : text:time down up backspace enter esc y c v r j esc v *",
    );
}

#[test]
fn a_search_in_every_session() {
    walk(
        "search",
        WIDE,
        "ctrl-f paste:libatomic enter j j k G g space h l enter < > esc ctrl-f enter esc esc",
    );
}

#[test]
fn clicks_and_drags() {
    walk(
        "mouse",
        WIDE,
        "click:5,12 click:5,14 click:5,11 click:45,12 click:45,9 wheel:45,9 wheel-up:45,9 click:100,6 wheel:100,6 p click:20,29 click:40,29 drag:50,29 release:50,29 click:60,31 click:3,35 click:30,35 click:100,35 esc t click:60,12 click:60,20 esc e click:10,8 click:10,14 esc v w click:10,8 click:10,8",
    );
}

#[test]
fn clicks_in_the_comparison() {
    walk_in(
        INFRA,
        "mouse compare",
        WIDE,
        "w v a ctrl-u text:contextPruning.ttl=30m,2h space text:contextPruning.keepLastAssistants=1 enter click:30,8 click:40,10 click:60,12 click:20,28 click:20,30 wheel:40,10 click:5,35",
    );
}

#[test]
fn one_pane_at_a_time_on_a_small_terminal() {
    walk(
        "small",
        (60, 20),
        "tab tab tab tab backtab 2 j j space enter esc 3 l l v l j z z 4 p j l h t l n esc e j esc w esc click:5,0 click:20,0 click:35,0 click:50,0 ? esc",
    );
}

#[test]
fn two_columns_on_a_terminal_of_eighty() {
    walk(
        "medium",
        (80, 24),
        "2 j J enter esc 3 j z esc 4 p j l L h 1 j ctrl-right ctrl-left e j k esc t l L esc v w j esc v s j",
    );
}

#[test]
fn commits_and_the_branches_that_they_leave() {
    walk_in(
        INFRA,
        "commits",
        WIDE,
        "plan 4 c j k y b j k pgdn enter j j k g G enter esc u y b enter esc esc :repair esc",
    );
}

#[test]
fn rules_that_a_screen_cites() {
    walk_in(
        INFRA,
        "rules",
        WIDE,
        "v s . :rule j pgdn pgup G g esc esc e G k enter j j :rule esc esc e j j j :rule pgdn esc G :rule esc esc :rule esc",
    );
}

#[test]
fn clicks_in_the_lists_of_screens() {
    walk_in(
        INFRA,
        "mouse lists",
        WIDE,
        "v s click:10,9 click:10,9 click:2,11 click:20,14 wheel:20,14 esc v w click:10,9 click:10,9 click:10,10 wheel:10,10 esc e click:10,9 click:10,12 click:10,20 click:80,20 esc v ! click:10,8 esc ? click:10,8 click:80,12 esc ctrl-f paste:infra enter click:10,8 click:10,9 esc : click:60,14 esc b click:10,8 esc t click:60,33 wheel:60,12 click:60,16 esc",
    );
}

#[test]
fn cells_and_trade_offs_that_are_clicked_and_taken() {
    walk_in(
        INFRA,
        "mouse cells",
        WIDE,
        "w v a ctrl-u text:contextPruning.mode=cache-ttl,off space text:compaction.reserveTokens=30000,60000 enter click:12,7 click:90,5 click:90,6 click:90,7 click:90,4 click:90,3 click:12,27 click:90,20 tab j k esc w enter esc w n enter 4",
    );
}

#[test]
fn a_comparison_under_its_map_on_a_small_terminal() {
    walk_in(
        INFRA,
        "compare small",
        (80, 24),
        "w v a ctrl-u text:contextPruning.ttl=30m,2h,5m,10m,15m,20m,25m,45m space text:contextPruning.keepLastAssistants=1 enter j j j j l click:12,6 click:40,17 tab j enter",
    );
}

#[test]
fn a_search_next_to_a_preview() {
    walk_in(INFRA, "search wide", (150, 40), "ctrl-f paste:atomic enter j j enter n N esc");
}

#[test]
fn a_search_without_room_for_a_preview() {
    walk_in(INFRA, "search narrow", (99, 30), "ctrl-f paste:atomic enter j tab j enter esc");
}

#[test]
fn jumps_between_places_of_several_sessions() {
    walk_in(INFRA, "jumps", WIDE, "2 g j j 1 j l 2 g G < < > > t G enter < v w j < > < <");
}

#[test]
fn lines_that_are_typed_and_edited() {
    walk_in(
        INFRA,
        "typing",
        WIDE,
        "4 enter ctrl-u text:12 left left text:3 home delete end backspace ctrl-a ctrl-e enter enter text:x% enter esc 1 / text:slack alt-left alt-right ctrl-left text:x ctrl-right alt-b alt-f ctrl-w ctrl-k esc : text:time ctrl-u text:pol down up enter esc : text:zz esc 3 / text:a.b enter n n esc",
    );
}

#[test]
fn presets_that_are_saved_compared_and_taken() {
    let home = tempfile::tempdir().expect("a folder");
    let mut driver = Driver::demo(WIDE.0, WIDE.1);
    driver.home = Some(home.path().to_path_buf());
    driver.go_to(INFRA);
    walk_with(
        driver,
        "presets",
        "4 : text:preset space text:save space text:none enter l l l : text:preset space text:save space text:mine enter L L : text:preset space text:save space text:wide enter :all-to-config :presets l space h y l enter : text:preset space text:load space text:other enter esc : text:preset space text:delete space text:mine enter :presets l h y enter",
    );
}

#[test]
fn a_changed_message_side_by_side_and_zoomed() {
    walk_in(
        INFRA,
        "diff",
        WIDE,
        "p i 2 g } } 3 d v l l l l h v l esc d z esc d esc esc 3 d esc esc 2 z esc 3 z r esc",
    );
}

#[test]
fn folds_are_restored_with_a_place() {
    walk_in(INFRA, "folds", WIDE, "2 g j - j v w esc + G < - g v w esc < > 2 G v w j enter < k");
}

#[test]
fn a_dragged_slider_is_undone_as_one_step() {
    walk_in(
        INFRA,
        "slider",
        WIDE,
        "p 4 j click:50,29 drag:55,29 drag:70,29 release:70,29 alt-z alt-Z k click:60,28 drag:10,28 drag:129,28 release:129,28 alt-z alt-z alt-Z alt-Z",
    );
}

#[test]
fn settings_opened_from_the_policies_and_other_ways_to_the_tuning_pane() {
    walk_in(
        INFRA,
        "policy settings",
        WIDE,
        "z v s j enter esc z 4 z . . esc esc v s , , , x l i i a a a p p",
    );
}

#[test]
fn a_requested_summary_and_the_pruning_gate() {
    walk_in(INFRA, "compacting", WIDE, "4 , , , , , x 2 } } { { 3 j 4 l L c esc x p i 2 G } { 4 i");
}
