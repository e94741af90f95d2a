//! Our side of `benches/side_by_side/run`: files for the comparison, and parts of the program timed separately. Answers
//! are one JSON object each.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a measurement that cannot be made stops there"
)]

#[path = "../../tests/it/support/generate.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod generate;
#[path = "../../tests/it/support/large.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod large;
#[path = "../../benches/steps/opened.rs"]
mod opened;
mod parts;

use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use large::Recipe;

const USAGE: &str = "side_by_side transcript|linear|paired BYTES SEED FILE | store SESSIONS SEED FOLDER
    | preview FILE MESSAGES WINDOW MESSAGES.json | replay FILE | bodies FILE | frames FILE";

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let answer = match arguments[..] {
        [kind @ ("transcript" | "linear" | "paired"), bytes, seed, file] => {
            let usual = Recipe::of(number(bytes)?, number(seed)?);
            let recipe = match kind {
                "linear" => Recipe { compact_every: 0, ..usual },
                "paired" => Recipe { halves: false, ..usual },
                _ => usual,
            };
            format!("{{\"bytes\":{}}}", large::file(recipe, Path::new(file))?)
        }
        ["store", sessions, seed, folder] => {
            let bytes = large::store(Path::new(folder), number(sessions)? as usize, number(seed)?)?;
            format!("{{\"bytes\":{bytes}}}")
        }
        ["preview", file, messages, window, out] => parts::preview(
            Path::new(file),
            number(messages)? as usize,
            number(window)? as f64,
            Path::new(out),
        )?,
        ["replay", file] => parts::replay(Path::new(file))?,
        ["bodies", file] => parts::bodies(Path::new(file)),
        ["frames", file] => parts::frames(Path::new(file)),
        _ => bail!("{USAGE}"),
    };
    Ok(writeln!(std::io::stdout(), "{answer}")?)
}

fn number(text: &str) -> Result<u64> {
    text.parse().with_context(|| format!("`{text}` is no whole number"))
}
