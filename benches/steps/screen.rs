//! Measures a key until its cells: drawing depends on the visible rows, not on the length of the transcript.

use clawscope::session::message;
use clawscope::ui::highlight;
use crossterm::event::KeyCode;
use divan::Bencher;

use crate::opened::{self, Screen};
use crate::{SIZES, transcript};

#[divan::bench(args = SIZES)]
fn a_frame_at_mb(bencher: Bencher<'_, '_>, megabytes: u64) {
    let mut screen = Screen::of(&transcript(megabytes));
    bencher.bench_local(|| screen.draw());
}

#[divan::bench(args = SIZES)]
fn a_key_and_its_frame_at_mb(bencher: Bencher<'_, '_>, megabytes: u64) {
    let mut screen = Screen::of(&transcript(megabytes));
    let mut up = false;
    bencher.bench_local(|| {
        up = !up;
        screen.press(KeyCode::Char(if up { 'k' } else { 'j' }));
        screen.draw();
    });
}

/// A message read back from the file and taken apart, one after another.
#[divan::bench]
fn a_body_read_back(bencher: Bencher<'_, '_>) {
    let session = opened::opened(&transcript(SIZES[1]));
    let mut entries = session.context.messages.iter().rev().map(|message| message.entry).cycle();
    bencher.bench_local(|| message::read_message(&session, entries.next().unwrap(), None).unwrap());
}

/// The same on screen, its code coloured.
#[divan::bench]
fn a_body_on_screen(bencher: Bencher<'_, '_>) {
    highlight::load();
    let mut screen = Screen::of(&transcript(SIZES[1]));
    bencher.bench_local(|| {
        screen.press(KeyCode::Enter);
        screen.draw();
        screen.press(KeyCode::Esc);
        screen.press(KeyCode::Char('k'));
    });
}
