//! The screens to draw: the program on its demo store, steered key by key.

use clawscope::ui::theme::{ColourDepth, Theme};
use clawscope::ui::{highlight, render};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::Screen;
use crate::driver::Driver;

/// The session of the pictures, and the keys that lead to its prune preview with a threshold moved.
const SESSION: &str = "telegram:direct:8812";
const TUNED: &str = "plan 4 j j j H H H tab tab";
/// The timeline under a ttl of minutes and lower ratios, at the call before its compaction.
const TIMELINE: &str = "t 5 0 - 3 - j j 2 0 - j 3 0 - H H h h h h h";

/// Two settings side by side, whose values were typed.
const COMPARED: &str = "w v a ctrl-u text:contextPruning.ttl=15m,30m,1h,2h space \
                        text:historyLimit=3,5,8,12,16,20 enter k h h";

/// Every picture of the README and of the screenshots folder.
pub(crate) fn screens() -> Vec<Screen> {
    let wide = (130, 36);
    vec![
        shot("rest-dark", "dark", wide, ""),
        shot("prune-dark", "dark", wide, TUNED),
        shot("prune-light", "light", wide, TUNED),
        shot("prune-mono", "mono", wide, TUNED),
        shot("diff-dark", "dark", wide, &format!("{TUNED} {{ d")),
        shot("commit-dark", "dark", wide, &format!("{TUNED} c")),
        shot("breakdown-dark", "dark", wide, "v w j j l j"),
        shot("compaction-dark", "dark", wide, "plan 4 . . . x"),
        shot("steps-dark", "dark", wide, "plan 4 . . . x v s"),
        shot("explain-dark", "dark", wide, "e"),
        shot("failed-dark", "dark", wide, "a a"),
        shot("compare-dark", "dark", (110, 30), COMPARED),
        shot("compare-light", "light", (110, 30), COMPARED),
        shot("compare-80x24-dark", "dark", (80, 24), COMPARED),
        shot("timeline-dark", "dark", wide, TIMELINE),
        shot("estimators-dark", "dark", wide, "e G enter"),
        shot("recovery-dark", "dark", wide, "e G k enter j j"),
        shot("help-dark", "dark", wide, "?"),
        shot("prune-80x24-dark", "dark", (80, 24), TUNED),
        shot("prune-60x20-dark", "dark", (60, 20), TUNED),
    ]
}

fn shot(name: &str, theme: &str, (width, height): (u16, u16), keys: &str) -> Screen {
    let mut driver = start(width, height);
    driver.press(keys);
    screen(name, theme, &driver)
}

/// The program with the session of the pictures, its cursor in the transcript.
pub(crate) fn start(width: u16, height: u16) -> Driver {
    let mut driver = Driver::embedded(width, height);
    driver.go_to(SESSION);
    driver.press("2");
    driver
}

#[expect(clippy::expect_used, reason = "the themes are part of the program")]
pub(crate) fn screen(name: &str, theme: &str, driver: &Driver) -> Screen {
    let depth = if theme == "mono" { ColourDepth::None } else { ColourDepth::True };
    let theme = Theme::load(theme, depth).expect("a theme of the program");
    let (width, height) = driver.app.size;
    let mut buffer = Buffer::empty(Rect { x: 0, y: 0, width, height });
    highlight::load();
    render(&driver.app, &theme, &mut buffer);
    let (background, foreground) = theme.page_colours();
    Screen { name: name.to_owned(), buffer, background, foreground }
}
