//! Brings a picture down to 256 colours without moving a surface: the flat colours of the SVG keep their
//! places, only the blended edges of letters share the rest.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use color_quant::NeuQuant;

/// Red, green and blue, 0 to 255 each.
pub(crate) type Colour = [u8; 3];

/// The size of a PNG palette.
const MOST: usize = 256;
/// The quantizer needs at least 64 colours.
const MOST_FLAT: usize = MOST - 64;

/// A picture as indices into a palette.
#[derive(Debug)]
pub(crate) struct Reduced {
    pub(crate) colours: Vec<Colour>,
    pub(crate) indices: Vec<u8>,
}

/// Every `#rrggbb` of an SVG.
pub(crate) fn colours_in(svg: &str) -> BTreeSet<Colour> {
    svg.split('#').skip(1).filter_map(|rest| colour(rest.get(..6)?)).collect()
}

fn colour(hex: &str) -> Option<Colour> {
    let number = u32::from_str_radix(hex, 16).ok()?;
    let [_, rest @ ..] = number.to_be_bytes();
    Some(rest)
}

/// Chooses a palette and maps each pixel to its nearest entry. No dithering: letters would get freckles.
pub(crate) fn reduce(pixels: &[Colour], flat: &BTreeSet<Colour>) -> Reduced {
    let mut counts: BTreeMap<Colour, usize> = BTreeMap::new();
    for pixel in pixels {
        *counts.entry(*pixel).or_default() += 1;
    }
    let colours =
        if counts.len() <= MOST { counts.keys().copied().collect() } else { choose(pixels, flat, &counts) };
    let places: HashMap<Colour, u8> =
        counts.keys().map(|pixel| (*pixel, nearest(&colours, *pixel))).collect();
    let indices = pixels.iter().map(|pixel| places[pixel]).collect();
    Reduced { colours, indices }
}

/// The flat colours that the picture shows, the commonest first, then the quantizer's choice for the rest.
fn choose(pixels: &[Colour], flat: &BTreeSet<Colour>, counts: &BTreeMap<Colour, usize>) -> Vec<Colour> {
    let mut colours: Vec<Colour> =
        flat.iter().copied().filter(|colour| counts.contains_key(colour)).collect();
    colours.sort_by_key(|colour| std::cmp::Reverse(counts[colour]));
    colours.truncate(MOST_FLAT);
    let seeds: BTreeSet<Colour> = colours.iter().copied().collect();
    let blended: Vec<u8> = pixels
        .iter()
        .filter(|pixel| !seeds.contains(*pixel))
        .flat_map(|[red, green, blue]| [*red, *green, *blue, 255])
        .collect();
    let quantizer = NeuQuant::new(1, MOST - colours.len(), &blended);
    colours.extend(quantizer.color_map_rgb().chunks_exact(3).map(|rgb| [rgb[0], rgb[1], rgb[2]]));
    colours
}

fn nearest(colours: &[Colour], pixel: Colour) -> u8 {
    let distance = |colour: &Colour| -> u32 {
        colour.iter().zip(pixel).map(|(a, b)| u32::from(a.abs_diff(b)).pow(2)).sum()
    };
    (0..=u8::MAX).zip(colours).min_by_key(|(_, colour)| distance(colour)).map_or(0, |(index, _)| index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flat_colours_of_an_svg_are_read_from_its_text() {
        let svg =
            "<rect fill=\"#13161b\"/><path stroke=\"#ffFF00\"/><text fill=\"#13161b\">#1 #zz</text>&#39;";
        assert_eq!(colours_in(svg), BTreeSet::from([[0x13, 0x16, 0x1b], [0xff, 0xff, 0]]));
    }

    #[test]
    fn few_colours_are_kept_exactly() {
        let pixels = [[1, 2, 3], [9, 9, 9], [1, 2, 3]];
        let reduced = reduce(&pixels, &BTreeSet::new());
        let back: Vec<Colour> = reduced.indices.iter().map(|i| reduced.colours[usize::from(*i)]).collect();
        assert_eq!(back, pixels);
    }

    #[test]
    fn reducing_many_colours_keeps_the_flat_ones_and_changes_the_rest_slightly() {
        let surface = [20, 24, 30];
        let mut pixels = vec![surface; 5000];
        for step in 0..2000_u32 {
            pixels.push([(step / 8) as u8, (step % 251) as u8, 90]);
        }
        let reduced = reduce(&pixels, &BTreeSet::from([surface, [1, 1, 1]]));
        assert_eq!(reduced.colours.len(), MOST);
        assert_eq!(reduced.colours[0], surface);
        assert!(!reduced.colours[1..].contains(&[1, 1, 1]), "an unseen colour takes no place");
        let error = |(pixel, index): (&Colour, &u8)| {
            let shown = reduced.colours[usize::from(*index)];
            pixel.iter().zip(shown).map(|(a, b)| u32::from(a.abs_diff(b))).sum::<u32>()
        };
        let total: u32 = pixels.iter().zip(&reduced.indices).map(error).sum();
        assert!(total < 2000 * 24, "{total}");
    }
}
