//! The folder that the programs work in.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// Writes the files that directives name: `small.txt`, `f1.txt` to `f8.txt` of 8,000 chars, `big.txt`, `huge.txt` and a
/// picture.
pub(super) fn write_files(folder: &Path) {
    fs::create_dir_all(folder).expect("a folder");
    let write = |name: &str, bytes: &[u8]| super::write_file(&folder.join(name), bytes);
    write("small.txt", text(800, "s").as_bytes());
    for number in 1..=8 {
        write(&format!("f{number}.txt"), text(8_000, &format!("f{number}")).as_bytes());
    }
    write("big.txt", text(48_000, "b").as_bytes());
    write("huge.txt", text(400_000, "h").as_bytes());
    write("dot.png", &picture());
}

/// Numbered lines of some length, in all `chars`.
fn text(chars: usize, name: &str) -> String {
    const WORDS: &str = "the quick brown fox jumps over the lazy dog ";
    let (mut text, mut line) = (String::new(), 0);
    while text.len() < chars {
        let words = WORDS[..20 + line * 7 % 24].trim();
        _ = writeln!(text, "{name}:{line:05} {words}");
        line += 1;
    }
    text.truncate(chars);
    text
}

fn picture() -> Vec<u8> {
    const SIDE: u32 = 8;
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, SIDE, SIDE);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header().expect("a header");
    writer.write_image_data(&[127; (SIDE * SIDE) as usize]).expect("an image");
    writer.finish().expect("written");
    bytes
}
