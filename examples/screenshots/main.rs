//! Draws the program's screens as PNG files: `cargo run --example screenshots -- DIR`.
//!
//! A screen is a buffer of cells, drawn by the program itself. The library makes it an SVG; the modules
//! here find the fonts, paint the SVG and write it with a palette of 256 colours.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clawscope::export::{Rgb, ScreenImage, svg};
use ratatui::buffer::Buffer;

#[path = "../../tests/it/support/driver.rs"]
#[allow(dead_code, clippy::expect_used, reason = "the tests' driver does more than pictures need")]
mod driver;
mod fonts;
mod palette;
mod raster;
mod screens;
mod walk;

use fonts::Fonts;
use sha2::{Digest as _, Sha256};

/// One picture to take.
struct Screen {
    /// File name without its ending.
    name: String,
    buffer: Buffer,
    /// The theme's colours for cells that name none.
    background: Rgb,
    foreground: Rgb,
}

fn main() -> Result<()> {
    let folder = folder(std::env::args_os().skip(1))?;
    let fonts = Fonts::load()?;
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let screens = screens::screens();
    for screen in &screens {
        let path = folder.join(format!("{}.png", screen.name));
        let png = raster::png(&screen.svg(), &fonts).with_context(|| format!("screen {}", screen.name))?;
        write(&path, &png)?;
        writeln!(std::io::stdout(), "{} {} bytes", path.display(), png.len())?;
    }
    write(&folder.join(walk::FILE), walk::walk().as_bytes())?;
    write(&folder.join(DIGESTS), digests(&screens).as_bytes())
}

impl Screen {
    fn svg(&self) -> String {
        svg(&ScreenImage { buffer: &self.buffer, background: self.background, foreground: self.foreground })
    }
}

/// The file that lets a test decide whether the pictures are current: pixels differ with the fonts.
const DIGESTS: &str = "screens.sha256";

/// Returns a line for each screen: the digest of its SVG, and its name.
fn digests(screens: &[Screen]) -> String {
    let line = |screen: &Screen| {
        let digest = Sha256::digest(screen.svg());
        let digest = digest.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
        format!("{digest}  {}\n", screen.name)
    };
    screens.iter().map(line).collect()
}

/// The one argument.
fn folder(mut arguments: impl Iterator<Item = OsString>) -> Result<PathBuf> {
    match (arguments.next(), arguments.next()) {
        (Some(folder), None) if !folder.as_encoded_bytes().starts_with(b"-") => Ok(folder.into()),
        _ => bail!(
            "one argument is needed, the folder for the pictures: cargo run --example screenshots -- DIR"
        ),
    }
}

#[expect(clippy::disallowed_methods, reason = "a picture is no session file")]
fn write(path: &Path, png: &[u8]) -> Result<()> {
    std::fs::write(path, png).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_folder_is_needed() {
        let folder = |list: &[&str]| folder(list.iter().map(OsString::from));
        assert_eq!(folder(&["out"]).unwrap(), PathBuf::from("out"));
        for wrong in [&[][..], &["a", "b"], &["--help"]] {
            assert!(folder(wrong).unwrap_err().to_string().contains("-- DIR"));
        }
    }

    /// Every screen, drawn once.
    fn drawn() -> &'static [Screen] {
        static SCREENS: std::sync::OnceLock<Vec<Screen>> = std::sync::OnceLock::new();
        SCREENS.get_or_init(screens::screens)
    }

    #[test]
    fn no_two_screens_share_a_file() {
        let mut names: Vec<&str> = drawn().iter().map(|screen| screen.name.as_str()).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn the_pictures_are_current() {
        let stored = |name: &str| {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("screenshots").join(name);
            std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        };
        let draw_again = "draw them again: cargo run --example screenshots -- screenshots";
        assert_eq!(digests(drawn()), stored(DIGESTS), "{draw_again}");
        assert!(walk::walk() == stored(walk::FILE), "{} is old; {draw_again}", walk::FILE);
    }

    #[test]
    fn every_screen_is_covered_by_the_fonts_and_one_is_drawn_the_same_twice() {
        let fonts = match Fonts::load() {
            Ok(fonts) => fonts,
            Err(missing) => {
                println!("skipped: {missing}");
                return;
            }
        };
        for (at, screen) in drawn().iter().enumerate() {
            let text = screen.svg();
            let png = raster::png(&text, &fonts).unwrap();
            if at == 0 {
                assert_eq!(png, raster::png(&text, &fonts).unwrap(), "{}", screen.name);
            }
        }
    }
}
