//! Colours as numbers: parsing, mixing, contrast and perceived difference.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _};

/// Contrast of readable text (WCAG 2, level AA).
pub(crate) const READABLE: f64 = 4.5;

/// Red, green, blue.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rgb(pub(crate) u8, pub(crate) u8, pub(crate) u8);

impl fmt::Debug for Rgb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02x}{:02x}{:02x}", self.0, self.1, self.2)
    }
}

impl<'de> Deserialize<'de> for Rgb {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::from_hex(&text)
            .ok_or_else(|| D::Error::custom(format!("{text:?} is not a colour; expected six hex digits")))
    }
}

impl Rgb {
    fn from_hex(text: &str) -> Option<Self> {
        let text = text.strip_prefix('#').unwrap_or(text);
        let whole = u32::from_str_radix(text, 16).ok().filter(|_| text.len() == 6)?;
        let [_, red, green, blue] = whole.to_be_bytes();
        Some(Self(red, green, blue))
    }

    fn channels(self) -> [f64; 3] {
        [self.0, self.1, self.2].map(f64::from)
    }

    /// Mixes in `share` (0 to 1) of another colour.
    pub(crate) fn mix(self, other: Self, share: f64) -> Self {
        let (own, other) = (self.channels(), other.channels());
        let [red, green, blue] =
            [0, 1, 2].map(|at| (own[at] * (1.0 - share) + other[at] * share).round() as u8);
        Self(red, green, blue)
    }

    /// Returns linear light, 0 to 1.
    pub(super) fn linear(self) -> [f64; 3] {
        self.channels().map(|channel| {
            let share = channel / 255.0;
            if share <= 0.04045 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
        })
    }

    fn luminance(self) -> f64 {
        let [red, green, blue] = self.linear();
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }

    /// Returns the contrast with another colour (WCAG 2), 1 to 21.
    pub(crate) fn contrast(self, other: Self) -> f64 {
        let (own, other) = (self.luminance(), other.luminance());
        (own.max(other) + 0.05) / (own.min(other) + 0.05)
    }

    /// Returns the nearest of the 240 colours that all 256-colour terminals share.
    pub(crate) fn nearest_index(self) -> u8 {
        self.nearest(|_| true)
    }

    /// Returns the nearest of these whose contrast with `background` reaches [`READABLE`], or this colour's own contrast if
    /// that is lower.
    pub(crate) fn nearest_readable_index(self, background: Self) -> u8 {
        let least = self.contrast(background).min(READABLE);
        let background = Self::from_index(background.nearest_index());
        self.nearest(|index| Self::from_index(index).contrast(background) >= least)
    }

    fn nearest(self, fits: impl Fn(u8) -> bool) -> u8 {
        let own = lab(self.linear());
        let far = |index: &u8| distance(own, lab(Self::from_index(*index).linear()));
        (16..=255).filter(|index| fits(*index)).min_by(|a, b| far(a).total_cmp(&far(b))).unwrap_or(16)
    }

    /// Returns a colour of the cube or the greys. The terminal defines the first 16, so they count as grey.
    pub(crate) fn from_index(index: u8) -> Self {
        match index {
            0..=15 => Self(0x80, 0x80, 0x80),
            16..=231 => {
                let level = |step: u8| if step == 0 { 0 } else { 55 + 40 * step };
                let at = index - 16;
                Self(level(at / 36), level(at / 6 % 6), level(at % 6))
            }
            232..=255 => {
                let grey = 8 + 10 * (index - 232);
                Self(grey, grey, grey)
            }
        }
    }
}

/// Lightness and the two colour axes (CIE L*a*b*, D65).
pub(super) type Lab = [f64; 3];

pub(super) fn lab([red, green, blue]: [f64; 3]) -> Lab {
    let x = (0.412_456_4 * red + 0.357_576_1 * green + 0.180_437_5 * blue) / 0.950_47;
    let y = 0.212_672_9 * red + 0.715_152_2 * green + 0.072_175 * blue;
    let z = (0.019_333_9 * red + 0.119_192 * green + 0.950_304_1 * blue) / 1.088_83;
    let [x, y, z] =
        [x, y, z].map(|share| if share > 0.008_856 { share.cbrt() } else { 7.787 * share + 16.0 / 116.0 });
    [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
}

/// CIEDE2000, with the names of its definition: `c` chroma, `h` hue in degrees.
pub(super) fn distance([l1, a1, b1]: Lab, [l2, a2, b2]: Lab) -> f64 {
    let weight = |chroma: f64| (chroma.powi(7) / (chroma.powi(7) + 25_f64.powi(7))).sqrt();
    let scale = 1.5 - 0.5 * weight(f64::midpoint(a1.hypot(b1), a2.hypot(b2)));
    let (a1, a2) = (a1 * scale, a2 * scale);
    let (c1, c2) = (a1.hypot(b1), a2.hypot(b2));
    let hue =
        |a: f64, b: f64| if a == 0.0 && b == 0.0 { 0.0 } else { b.atan2(a).to_degrees().rem_euclid(360.0) };
    let (h1, h2) = (hue(a1, b1), hue(a2, b2));
    let grey = c1 * c2 == 0.0;
    let turn = if grey { 0.0 } else { (h2 - h1 + 180.0).rem_euclid(360.0) - 180.0 };
    let (l, c) = (f64::midpoint(l1, l2), f64::midpoint(c1, c2));
    let h = if grey { h1 + h2 } else { (h1 + turn / 2.0).rem_euclid(360.0) };
    let cos = |degrees: f64| degrees.to_radians().cos();
    let t = 1.0 - 0.17 * cos(h - 30.0) + 0.24 * cos(2.0 * h) + 0.32 * cos(3.0 * h + 6.0)
        - 0.2 * cos(4.0 * h - 63.0);
    let off = (l - 50.0).powi(2);
    let dl = (l2 - l1) / (1.0 + 0.015 * off / (20.0 + off).sqrt());
    let dc = (c2 - c1) / (1.0 + 0.045 * c);
    let dh = 2.0 * (c1 * c2).sqrt() * (turn / 2.0).to_radians().sin() / (1.0 + 0.015 * c * t);
    let twist = 60.0 * (-((h - 275.0) / 25.0).powi(2)).exp();
    let rotation = -2.0 * weight(c) * twist.to_radians().sin();
    (dl * dl + dc * dc + dh * dh + rotation * dc * dh).max(0.0).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn apart(one: Lab, two: Lab, expected: f64) {
        let found = distance(one, two);
        assert!((found - expected).abs() < 1e-4, "{found} instead of {expected}");
    }

    #[test]
    fn distances_are_those_of_the_published_pairs() {
        apart([50.0, 2.6772, -79.7751], [50.0, 0.0, -82.7485], 2.0425);
        apart([50.0, 2.5, 0.0], [73.0, 25.0, -18.0], 27.1492);
        apart([50.0, 2.5, 0.0], [50.0, 0.0, -2.5], 4.3065);
        apart([60.2574, -34.0099, 36.2677], [60.4626, -34.1751, 39.4387], 1.2644);
        apart([22.7233, 20.0904, -46.694], [23.0331, 14.973, -42.5619], 2.0373);
    }

    #[test]
    fn black_on_white_has_the_highest_contrast() {
        assert!((Rgb(0, 0, 0).contrast(Rgb(255, 255, 255)) - 21.0).abs() < 1e-9);
    }

    #[test]
    fn the_nearest_colour_of_a_cube_colour_is_itself() {
        for index in [16, 21, 196, 231] {
            assert_eq!(Rgb::from_index(index).nearest_index(), index);
        }
        assert_eq!(Rgb::from_index(244), Rgb(128, 128, 128));
    }
}
