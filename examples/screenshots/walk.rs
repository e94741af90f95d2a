//! The walk of the README: from an overflow to the settings that prevent it, key by key, as an animated picture.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};

use crate::Screen;
use crate::screens::{screen, start};

/// File of the walk, in the folder of the pictures.
pub(crate) const FILE: &str = "walk.svg";

/// The keys, the purpose of each, and how many milliseconds the screen stays after it.
const STEPS: &[(&str, &str, u32)] = &[
    ("", "A session whose last call was refused: the context overflowed", 2_500),
    ("e", "e   why did it overflow, and what would have fixed it?", 5_500),
    ("j", "j   the next change that every call fits with", 1_500),
    ("k", "k   back to the best one", 1_000),
    ("y", "y   copy the change for openclaw.json", 3_000),
    ("enter", "enter   the refused call under that setting", 5_500),
];

/// Pixels of a row of cells in a picture.
const ROW_HEIGHT: u16 = 21;

pub(crate) fn walk() -> String {
    let mut driver = start(130, 36);
    let screens: Vec<Screen> = STEPS
        .iter()
        .map(|(keys, caption, _)| {
            driver.press(keys);
            captioned(screen("walk", "dark", &driver), caption)
        })
        .collect();
    animated(&screens)
}

/// Draws the screens as one picture. Most rows stay as they are, so each different row is drawn once, with the screens in
/// which it is visible. A viewer that does not animate shows the first screen.
fn animated(screens: &[Screen]) -> String {
    let (mut style, mut content) = (String::new(), String::new());
    let mut classes: BTreeMap<Vec<bool>, usize> = BTreeMap::new();
    for y in 0..screens[0].buffer.area.height {
        let mut rows: BTreeMap<String, Vec<bool>> = BTreeMap::new();
        for (at, screen) in screens.iter().enumerate() {
            rows.entry(row(screen, y)).or_insert_with(|| vec![false; screens.len()])[at] = true;
        }
        for (row, visible) in rows {
            let next = classes.len();
            let class = *classes.entry(visible.clone()).or_insert_with(|| {
                style.push_str(&rule(next, &visible));
                next
            });
            let top = y * ROW_HEIGHT;
            let _ = writeln!(content, "<g class=\"f{class}\" transform=\"translate(0 {top})\">\n{row}</g>");
        }
    }
    let first = screens[0].svg();
    let (head, _) = split(&first);
    format!("{}/>\n{content}</svg>\n", head.replace("</style>", &format!("{style}</style>")))
}

/// Splits a picture at the end of its background.
fn split(picture: &str) -> (&str, &str) {
    picture.split_once("/>\n").unwrap_or((picture, ""))
}

/// Draws one row of a screen as the elements of its picture, without their document.
fn row(screen: &Screen, y: u16) -> String {
    let area = Rect { y: 0, height: 1, ..screen.buffer.area };
    let mut buffer = Buffer::empty(area);
    (0..area.width).for_each(|x| buffer[(x, 0)] = screen.buffer[(x, y)].clone());
    let picture = Screen { name: String::new(), buffer, ..*screen }.svg();
    let (_, content) = split(&picture);
    content.trim_end_matches("</svg>\n").to_owned()
}

/// Returns the rule of a class: visible in some screens of the loop, hidden in the others.
fn rule(class: usize, visible: &[bool]) -> String {
    let word = |is_visible| if is_visible { "visible" } else { "hidden" };
    let total: u32 = STEPS.iter().map(|(.., duration_ms)| duration_ms).sum();
    let mut rule = format!(
        ".f{class}{{visibility:{};animation:k{class} {total}ms step-end infinite}}\n@keyframes k{class}{{",
        word(visible[0])
    );
    let mut start = 0;
    for (at, (.., duration_ms)) in STEPS.iter().enumerate() {
        if at == 0 || visible[at] != visible[at - 1] {
            let _ = write!(
                rule,
                "{:.3}%{{visibility:{}}}",
                f64::from(start) / f64::from(total) * 100.0,
                word(visible[at])
            );
        }
        start += duration_ms;
    }
    rule + "}\n"
}

/// Adds a row with the key that was pressed below a screen.
fn captioned(mut screen: Screen, caption: &str) -> Screen {
    let Rect { width, height, .. } = screen.buffer.area;
    let mut buffer = Buffer::empty(Rect { x: 0, y: 0, width, height: height + 2 });
    for y in 0..height {
        for x in 0..width {
            buffer[(x, y)] = screen.buffer[(x, y)].clone();
        }
    }
    buffer.set_string(2, height + 1, caption, Style::new().fg(Color::Rgb(242, 201, 76)).bold());
    screen.buffer = buffer;
    screen
}
