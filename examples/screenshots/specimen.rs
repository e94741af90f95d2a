//! A sheet with one of everything that screens are made of, to judge the drawing itself: lines must join,
//! surfaces show no seams, letters stand on one baseline.

use clawscope::export::Rgb;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};

use crate::Screen;

const WIDTH: u16 = 92;
const HEIGHT: u16 = 25;

/// The colours of one sheet.
struct Paint {
    page: Rgb,
    text: Rgb,
    surface: Color,
    selected: Color,
    track: Color,
    faint: Color,
    muted: Color,
    focus: Color,
    plan: Color,
    warn: Color,
    danger: Color,
    fills: [Color; 6],
}

pub(crate) fn dark() -> Screen {
    sheet(
        "specimen-dark",
        &Paint {
            page: (0x13, 0x16, 0x1b),
            text: (0xc3, 0xca, 0xd5),
            surface: Color::from_u32(0x001b_2028),
            selected: Color::from_u32(0x0025_3041),
            track: Color::from_u32(0x001f_252e),
            faint: Color::from_u32(0x003d_4754),
            muted: Color::from_u32(0x008c_98a9),
            focus: Color::from_u32(0x006f_b3ff),
            plan: Color::from_u32(0x004f_d6b8),
            warn: Color::from_u32(0x00f0_b45a),
            danger: Color::from_u32(0x00ff_6b63),
            fills: [0x005d_6a7d, 0x0043_4e5d, 0x009a_7fd0, 0x005f_a56a, 0x004b_82c8, 0x00cf_8e3e]
                .map(Color::from_u32),
        },
    )
}

pub(crate) fn light() -> Screen {
    sheet(
        "specimen-light",
        &Paint {
            page: (0xfb, 0xfa, 0xf7),
            text: (0x30, 0x35, 0x3c),
            surface: Color::from_u32(0x00f0_eee9),
            selected: Color::from_u32(0x00e1_ebf9),
            track: Color::from_u32(0x00e9_e7e1),
            faint: Color::from_u32(0x00cf_ccc4),
            muted: Color::from_u32(0x0063_676c),
            focus: Color::from_u32(0x000a_5fc2),
            plan: Color::from_u32(0x0000_705a),
            warn: Color::from_u32(0x008f_5a00),
            danger: Color::from_u32(0x00c4_161c),
            fills: [0x008e_99a8, 0x00b7_bec8, 0x00a8_8bdb, 0x0074_b87e, 0x006f_a3e0, 0x00e3_a44f]
                .map(Color::from_u32),
        },
    )
}

fn sheet(name: &str, paint: &Paint) -> Screen {
    let mut buffer = Buffer::empty(Rect::new(0, 0, WIDTH, HEIGHT));
    words(&mut buffer, paint);
    bars(&mut buffer, paint);
    rails(&mut buffer, paint);
    boxes(&mut buffer, paint);
    curves(&mut buffer, paint);
    named_colours(&mut buffer);
    Screen { name: name.into(), buffer, background: paint.page, foreground: paint.text }
}

fn put(buffer: &mut Buffer, x: u16, y: u16, text: &str, style: impl Into<Style>) {
    buffer.set_stringn(x, y, text, usize::from(WIDTH - x), style);
}

fn words(buffer: &mut Buffer, paint: &Paint) {
    buffer.set_style(Rect::new(0, 0, WIDTH, 1), Style::new().bg(paint.surface));
    put(buffer, 1, 0, "specimen", Style::new().bold());
    put(buffer, 13, 0, "-> >= != === www fi 0O 1lI", paint.muted);
    put(buffer, 44, 0, "● live", Style::new().bold());
    put(buffer, 54, 0, "⚠ 2 overflows", paint.danger);
    put(buffer, 70, 0, "<a href=\"&amp;\">", Style::new());
    put(buffer, 1, 1, "bold", Style::new().bold());
    put(buffer, 7, 1, "italic", Style::new().italic());
    put(buffer, 15, 1, "dim", Style::new().dim());
    put(buffer, 20, 1, "underlined gjpqy", Style::new().underlined().underline_color(paint.warn));
    put(buffer, 38, 1, "reversed", Style::new().reversed());
    put(buffer, 48, 1, "crossed out", Style::new().crossed_out());
    put(buffer, 62, 1, "Zażółć gęślą jaźń Ελλάδα Жук", Style::new());
    put(buffer, 1, 2, "树莓派上又编译失败了，能看看吗？ 日本語テキスト 한국어", Style::new());
    put(buffer, 60, 2, "飞书", Style::new().bold());
    put(buffer, 66, 2, "|书|周|报|", paint.muted);
    put(buffer, 1, 3, "· ◆ ~ ✂ ⇥ Σ ✗  ● ○ ◉ ▸ ▾ → ⋯ … − ✓ ? ↔", paint.warn);
    put(buffer, 46, 3, "· ◆ ~ ✂ ⇥ Σ ✗  ● ○ ◉ ▸ ▾ → ⋯ … − ✓ ? ↔", Style::new().fg(paint.plan).bold());
}

fn bars(buffer: &mut Buffer, paint: &Paint) {
    let mut x = 11;
    put(buffer, 1, 5, "now  93%", Style::new());
    put(buffer, 1, 6, "plan 47%", Style::new().fg(paint.plan).bold());
    for (fill, (width, label)) in paint.fills.into_iter().zip([
        (4, "S"),
        (4, "T"),
        (3, "Σ"),
        (3, "U"),
        (16, "asst 29.1k"),
        (22, "results 33.3k"),
    ]) {
        for y in [5, 6] {
            buffer.set_style(Rect::new(x, y, width, 1), Style::new().bg(fill).fg(Color::Rgb(16, 19, 24)));
            put(buffer, x + 1, y, label, Style::new());
        }
        x += width;
    }
    buffer.set_style(Rect::new(x, 5, WIDTH - 1 - x, 2), Style::new().bg(paint.track));
    put(buffer, x, 5, "▋", Style::new().fg(paint.fills[5]));
    put(buffer, x + 4, 6, "╱╱╱╱╱╱ frees 92k ╱╱╱╱╱╱", paint.muted);
    for y in [5, 6] {
        put(buffer, x + 3, y, "│", paint.plan);
    }
    put(buffer, x + 22, 5, "┊", paint.warn);
    put(buffer, 11, 7, "▏▎▍▌▋▊▉█ █▇▆▅▄▃▂▁ ▀▄ ▌▐ ▖▗▘▝▙▛▜▟▚▞ ░▒▓█ ▔▕", paint.focus);
    put(buffer, 56, 7, "░░░░▒▒▒▒▓▓▓▓████", paint.plan);
    buffer.set_style(Rect::new(0, 8, WIDTH, 1), Style::new().bg(paint.selected));
    put(buffer, 0, 8, "▌", paint.focus);
    put(buffer, 1, 8, "hardClearRatio", Style::new().bold());
    put(buffer, 17, 8, "━━━━━━━━━━━━━━━", paint.plan);
    put(buffer, 32, 8, "●", paint.plan);
    put(buffer, 33, 8, "────────────────", paint.faint);
    put(buffer, 39, 8, "○", paint.muted);
    put(buffer, 52, 8, "━━━╸", paint.warn);
    put(buffer, 56, 8, "───", paint.muted);
    put(buffer, 62, 8, "▁▂▂▃▃▄▅▅▆▇▇█", paint.focus);
}

fn rails(buffer: &mut Buffer, paint: &Paint) {
    let rows = [
        "──── Sessions ───────── 14 ─┬─ Transcript ──────",
        "● telegram 8812             │ ● 树莓派",
        "├ read CMakeLists.txt       │ ├╌ ┄┄┄ ┈┈┈",
        "│ ├─ exec ninja             │ ┆ ┇ ┊ ┋ ╎ ╏",
        "│ └┄ ▸ try with clang       │ ╴╵╶╷ ╸╹╺╻ ╼╽╾╿",
        "└ ⚠ prompt is too long      │ ┅┅┅ ┉┉┉ ╍╍╍",
        "────────────────────────────┴───────────────────",
    ];
    for (y, row) in (10..).zip(rows) {
        put(buffer, 1, y, row, paint.muted);
    }
    put(buffer, 1, 17, "━━ Tuning ━━━━━━━━━━━━━", Style::new().fg(paint.focus).bold());
}

fn boxes(buffer: &mut Buffer, paint: &Paint) {
    let rows = [
        "╭──────┬──────╮ ┏━━━┳━━━┓ ╔═══╦═══╗",
        "│ round│      │ ┃   ┃   ┃ ║   ║   ║",
        "├──────┼──────┤ ┣━━━╋━━━┫ ╠═══╬═══╣",
        "│  ╲╱  │  ╳╳  │ ┃   ┃   ┃ ║   ║   ║",
        "╰──────┴──────╯ ┗━━━┻━━━┛ ╚═══╩═══╝",
        "┌┬┐┎┰┒┍┯┑┏┳┓ ┡╇┩┢╈┪ ╓╥╖╒╤╕ ┲┱┺┹",
        "├┼┤┠╂┨┝┿┥┣╋┫ ├┼┤├┼┤ ╟╫╢╞╪╡ ╄╃╆╅",
        "└┴┘┖┸┚┕┷┙┗┻┛ └┴┘└┴┘ ╙╨╜╘╧╛ ╊╉╀╁",
    ];
    for (y, row) in (10..).zip(rows) {
        put(buffer, 54, y, row, paint.focus);
    }
}

fn curves(buffer: &mut Buffer, paint: &Paint) {
    put(buffer, 1, 19, "⣀⣀⣀⣀⠤⠤⠤⠒⠒⠒⠉⠉⠉⠉⠉⠒⠒⠒⠤⠤⠤⣀⣀⣀⣀", paint.muted);
    put(buffer, 1, 20, "⣿⣿⣿⣿⣷⣶⣶⣤⣤⣄⣀⣀⡀⢸⣸⣼⣾⣿⡇⡆⡄⡀", paint.plan);
    put(buffer, 1, 21, "┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄ hard 72k", paint.danger);
    for (place, fill) in (0..).zip(paint.fills) {
        let style = Style::new().bg(fill).fg(Color::Rgb(16, 19, 24));
        for y in 19..22 {
            put(buffer, 40 + 8 * place, y, "       ", style);
        }
        put(buffer, 42 + 8 * place, 20, "94.1", style);
    }
}

/// The sixteen named colours, side by side without gaps.
fn named_colours(buffer: &mut Buffer) {
    for number in 0..16 {
        put(buffer, 1 + u16::from(number) * 4, 23, " Ab ", Style::new().bg(Color::Indexed(number)));
    }
}
