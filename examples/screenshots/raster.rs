//! Paints an SVG: letters from the fonts given, and an error for a character that none of them has.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result, bail};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{FontResolver, Options, Tree};

use crate::fonts::{Fonts, face_with};
use crate::palette;

/// The picture as a PNG with at most 256 colours.
pub(crate) fn png(svg: &str, fonts: &Fonts) -> Result<Vec<u8>> {
    let pixmap = paint(svg, fonts)?;
    let pixels: Vec<[u8; 3]> = pixmap
        .pixels()
        .iter()
        .map(|pixel| {
            let colour = pixel.demultiply();
            [colour.red(), colour.green(), colour.blue()]
        })
        .collect();
    let reduced = palette::reduce(&pixels, &palette::colours_in(svg));
    encode(pixmap.width(), pixmap.height(), &reduced)
}

fn paint(svg: &str, fonts: &Fonts) -> Result<Pixmap> {
    let missing = Mutex::new(BTreeSet::new());
    let tree = Tree::from_str(svg, &options(fonts, &missing)).context("the SVG cannot be read")?;
    let missing = missing.into_inner().unwrap_or_else(PoisonError::into_inner);
    if !missing.is_empty() {
        let list: Vec<String> = missing.iter().map(|c| format!("{c} (U+{:04X})", *c as u32)).collect();
        bail!("no font has {}: add one to the list in examples/screenshots/fonts.rs", list.join(", "));
    }
    let size = tree.size().to_int_size();
    let mut pixmap = Pixmap::new(size.width(), size.height()).context("the picture is too large")?;
    resvg::render(&tree, Transform::default(), &mut pixmap.as_mut());
    Ok(pixmap)
}

/// Options whose fallback tries our families in order. A character that none has would become an empty box silently, so
/// it is recorded.
fn options<'a>(fonts: &Fonts, missing: &'a Mutex<BTreeSet<char>>) -> Options<'a> {
    let font_resolver = FontResolver {
        select_font: FontResolver::default_font_selector(),
        select_fallback: Box::new(move |c, used, database| {
            let face = face_with(Arc::as_ref(database), c, used.first().copied());
            if face.is_none() {
                missing.lock().unwrap_or_else(PoisonError::into_inner).insert(c);
            }
            face.filter(|id| !used.contains(id))
        }),
    };
    Options { font_resolver, fontdb: fonts.database(), ..Options::default() }
}

fn encode(width: u32, height: u32, reduced: &palette::Reduced) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, width, height);
    encoder.set_color(png::ColorType::Indexed);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_palette(reduced.colours.concat());
    encoder.set_compression(png::Compression::High);
    // Indices are names, not amounts: differences between them would only make noise.
    encoder.set_filter(png::Filter::NoFilter);
    encoder.write_header()?.write_image_data(&reduced.indices)?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fonts() -> Option<Fonts> {
        Fonts::load().inspect_err(|missing| println!("skipped: {missing}")).ok()
    }

    fn one_letter(letter: &str) -> String {
        format!(
            "<svg xmlns='http://www.w3.org/2000/svg' width='26' height='37'>\
             <rect width='26' height='37' fill='#13161b'/>\
             <text x='13' y='24' font-family='JetBrains Mono' font-size='16.667' text-anchor='middle' \
             fill='#c3cad5'>{letter}</text></svg>"
        )
    }

    #[test]
    fn letters_sit_on_the_baseline_inside_their_cell() {
        let Some(fonts) = fonts() else { return };
        let pixmap = paint(&one_letter("H"), &fonts).unwrap();
        let lit = |x: u32, y: u32| pixmap.pixel(x, y).is_some_and(|pixel| pixel.red() > 0x60);
        let rows: Vec<u32> = (0..37).filter(|y| (0..26).any(|x| lit(x, *y))).collect();
        let columns: Vec<u32> = (0..26).filter(|x| (0..37).any(|y| lit(*x, y))).collect();
        assert_eq!(rows.last(), Some(&23));
        assert!(columns[0] >= 8 && columns[columns.len() - 1] < 18, "{columns:?}");
    }

    #[test]
    fn a_character_without_a_font_is_an_error_not_a_box() {
        let Some(fonts) = fonts() else { return };
        let error = paint(&one_letter("\u{10fffd}"), &fonts).unwrap_err().to_string();
        assert!(error.contains("U+10FFFD"), "{error}");
    }

    #[test]
    fn flat_colours_survive_the_palette() {
        let Some(fonts) = fonts() else { return };
        let png = png(&one_letter("H"), &fonts).unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(png)).read_info().unwrap();
        let palette = reader.info().palette.clone().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut pixels).unwrap();
        let corner = usize::from(pixels[0]) * 3;
        assert_eq!(palette[corner..corner + 3], [0x13, 0x16, 0x1b]);
    }
}
