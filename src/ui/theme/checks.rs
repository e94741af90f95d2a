//! Checks of the built-in themes: readable text, distinguishable fates (also with colour blindness), and distinct
//! neighbours in the budget bar.

use super::colour::{READABLE, Rgb, distance, lab};
use super::file::{ThemeFile, built_in};
use super::{ColourDepth, HEAT_LEVELS, Theme, heats, parts};

/// The missing cone type of a colour-blind eye.
#[derive(Debug, Clone, Copy)]
enum Cone {
    Red,
    Green,
}

impl Rgb {
    /// Returns the perceived difference (CIEDE2000); 1 is just noticeable.
    fn distance(self, other: Self) -> f64 {
        distance(lab(self.linear()), lab(other.linear()))
    }

    /// Simulates colour blindness (Machado 2009).
    fn seen_without(self, cone: Cone) -> Self {
        let matrix = match cone {
            Cone::Red => [
                [0.152_286, 1.052_583, -0.204_868],
                [0.114_503, 0.786_281, 0.099_216],
                [-0.003_882, -0.048_116, 1.051_998],
            ],
            Cone::Green => [
                [0.367_322, 0.860_646, -0.227_968],
                [0.280_085, 0.672_501, 0.047_413],
                [-0.011_820, 0.042_940, 0.968_881],
            ],
        };
        let linear = self.linear();
        let [red, green, blue] = matrix.map(|row: [f64; 3]| {
            let light: f64 = row.iter().zip(linear).map(|(share, light)| share * light).sum();
            let light = light.clamp(0.0, 1.0);
            let gamma =
                if light <= 0.003_130_8 { 12.92 * light } else { 1.055 * light.powf(1.0 / 2.4) - 0.055 };
            (gamma * 255.0).round() as u8
        });
        Self(red, green, blue)
    }
}

const COLOURED: [&str; 2] = ["dark", "light"];

fn file(name: &str) -> ThemeFile {
    built_in(name).expect("a built-in theme")
}

/// Returns the roles that colour words, by name.
fn words(file: &ThemeFile) -> Vec<(&'static str, Rgb)> {
    let role = &file.role;
    let fates = fates(file);
    [
        ("text", role.text),
        ("bright", role.bright),
        ("muted", role.muted),
        ("focus", role.focus),
        ("plan", role.plan),
        ("warn", role.warn),
        ("danger", role.danger),
        ("tool", role.tool),
        ("you", role.you),
        ("assistant", role.assistant),
        ("string", role.string),
        ("number", role.number),
        ("keyword", role.keyword),
    ]
    .into_iter()
    .map(|(name, paint)| (name, paint.rgb))
    .chain(fates)
    .collect()
}

fn fates(file: &ThemeFile) -> [(&'static str, Rgb); 7] {
    let fate = &file.fate;
    [
        ("kept", fate.kept.rgb),
        ("protected", fate.protected.rgb),
        ("soft-trimmed", fate.soft_trimmed.rgb),
        ("cleared", fate.cleared.rgb),
        ("truncated", fate.truncated.rgb),
        ("summarised", fate.summarised.rgb),
        ("dropped", fate.dropped.rgb),
    ]
}

#[test]
fn words_can_be_read_on_page_surface_and_selection() {
    for name in COLOURED {
        let file = file(name);
        let backgrounds = [
            file.background.page,
            file.background.surface,
            file.background.selected,
            file.background.unfocused,
        ];
        for (role, ink) in words(&file) {
            for background in backgrounds.map(|paint| paint.rgb) {
                let contrast = ink.contrast(background);
                assert!(contrast >= READABLE, "{name}: {role} on {background:?} has {contrast:.2}");
            }
            let hot = ink.contrast(file.background.hot.rgb);
            assert!(hot >= 3.85, "{name}: {role} just changed has {hot:.2}");
        }
        let numbers = file.role.ghost.rgb.contrast(file.background.page.rgb);
        assert!(numbers >= 3.2, "{name}: line numbers have {numbers:.2}");
    }
}

#[test]
fn fates_can_be_distinguished_with_every_colour_vision() {
    for (name, least) in [("dark", 8.0), ("light", 6.5)] {
        let fates = fates(&file(name));
        for (at, (one, first)) in fates.iter().enumerate() {
            for (two, second) in &fates[at + 1..] {
                for cone in [Cone::Red, Cone::Green] {
                    let apart = first.seen_without(cone).distance(second.seen_without(cone));
                    assert!(apart >= least, "{name}: {one} and {two} are {apart:.1} apart without {cone:?}");
                }
            }
        }
    }
}

#[test]
fn neighbours_in_the_budget_bar_are_distinguishable() {
    for name in COLOURED {
        let file = file(name);
        for (share, least) in [(0.0, 10.0), (super::MIXED_SHARE, 5.0)] {
            let fills = parts(&file).map(|fill| fill.rgb.mix(file.background.page.rgb, share));
            for pair in fills.windows(2) {
                let apart = pair[0].distance(pair[1]);
                assert!(apart >= least, "{name}: {pair:?} are {apart:.1} apart");
            }
        }
    }
}

#[test]
fn labels_in_fills_can_be_read() {
    for name in COLOURED {
        let file = file(name);
        for share in [0.0, super::MIXED_SHARE] {
            for fill in parts(&file).map(|fill| fill.rgb.mix(file.background.page.rgb, share)) {
                let contrast = file.ink.dark.contrast(fill).max(file.ink.light.contrast(fill));
                assert!(contrast >= READABLE, "{name}: ink on {fill:?} has {contrast:.2}");
            }
        }
    }
}

#[test]
fn levels_of_a_map_rise_and_their_numbers_can_be_read() {
    for name in COLOURED {
        let file = file(name);
        let fills = heats(&file).map(|fill| fill.rgb);
        for fill in fills {
            let contrast = file.ink.dark.contrast(fill).max(file.ink.light.contrast(fill));
            assert!(contrast >= READABLE, "{name}: ink on {fill:?} has {contrast:.2}");
        }
        // Each level contrasts more with the page than the one before.
        let page = file.background.page.rgb;
        let apart: Vec<f64> = fills[..HEAT_LEVELS].iter().map(|fill| fill.contrast(page)).collect();
        assert!(apart.is_sorted(), "{name}: {apart:?}");
    }
}

#[test]
fn words_can_still_be_read_with_256_colours() {
    for name in COLOURED {
        let file = file(name);
        let page = file.background.page.rgb;
        for (role, ink) in words(&file) {
            let contrast = Rgb::from_index(ink.nearest_readable_index(page))
                .contrast(Rgb::from_index(page.nearest_index()));
            assert!(contrast >= READABLE, "{name}: {role} has {contrast:.2} with 256 colours");
        }
    }
}

#[test]
fn every_theme_loads_at_every_depth() {
    for name in ["dark", "light", "mono"] {
        for depth in [ColourDepth::None, ColourDepth::Sixteen, ColourDepth::TwoFiftySix, ColourDepth::True] {
            assert_eq!(Theme::load(name, depth).expect("loads").name(), name);
        }
    }
    assert!(Theme::load("mono", ColourDepth::True).expect("loads").uses_letters());
}

#[test]
fn a_custom_theme_changes_single_roles_and_names_its_mistakes() {
    let text = "like = \"dark\"\n[role]\nplan = { rgb = \"ff00ff\" }\n";
    let theme = Theme::parse("mine", text, ColourDepth::True).expect("loads");
    assert_eq!(theme.style(super::Role::Plan).fg, Some(ratatui::style::Color::Rgb(255, 0, 255)));
    let wrong =
        Theme::parse("mine", "like = \"dark\"\n[role]\nplan = { rgb = \"pink\" }\n", ColourDepth::True);
    assert!(wrong.expect_err("no colour").to_string().contains("pink"));
    let unknown = Theme::load("solar", ColourDepth::True).expect_err("no such theme");
    assert!(unknown.to_string().contains("mono"), "{unknown}");
}
