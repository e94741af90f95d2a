//! The fonts of the pictures: files found in the usual folders, and which of them has a character.
//!
//! Files are named one by one, so that a picture does not depend on other fonts of the machine.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use resvg::usvg::fontdb::{Database, ID};
use skrifa::{FontRef, MetadataProvider as _};

/// Each file and the Debian package that has it.
const FILES: [(&str, &str); 9] = [
    ("JetBrainsMono-Regular.ttf", "fonts-jetbrains-mono"),
    ("JetBrainsMono-Bold.ttf", "fonts-jetbrains-mono"),
    ("JetBrainsMono-Italic.ttf", "fonts-jetbrains-mono"),
    ("JetBrainsMono-BoldItalic.ttf", "fonts-jetbrains-mono"),
    ("DejaVuSansMono.ttf", "fonts-dejavu-core"),
    ("DejaVuSansMono-Bold.ttf", "fonts-dejavu-core"),
    ("DejaVuSans.ttf", "fonts-dejavu-core"),
    ("NotoSansCJK-Regular.ttc", "fonts-noto-cjk"),
    ("NotoSansCJK-Bold.ttc", "fonts-noto-cjk"),
];

/// Families in the order in which they are tried for a character. The last one has letters of many widths: it supplies
/// only signs that no other has, and each is centred in its cell anyway.
const FAMILIES: [&str; 4] = ["JetBrains Mono", "DejaVu Sans Mono", "Noto Sans CJK SC", "DejaVu Sans"];

/// The deepest level of a font below a font folder.
const DEPTH: usize = 4;

/// The fonts of all pictures.
#[derive(Debug)]
pub(crate) struct Fonts {
    database: Arc<Database>,
}

impl Fonts {
    /// Reads the fonts; the error names the packages that are missing.
    pub(crate) fn load() -> Result<Self> {
        Self::from_folders(&folders())
    }

    fn from_folders(folders: &[PathBuf]) -> Result<Self> {
        let mut database = Database::new();
        let mut missing = BTreeSet::new();
        for (file, package) in FILES {
            match folders.iter().find_map(|folder| find(folder, file, DEPTH)) {
                Some(path) => {
                    let data = std::fs::read(&path)
                        .with_context(|| format!("cannot read the font {}", path.display()))?;
                    database.load_font_data(data);
                }
                None => {
                    missing.insert(package);
                }
            }
        }
        if !missing.is_empty() {
            let packages = missing.into_iter().collect::<Vec<_>>().join(" ");
            bail!("the pictures need fonts that are not installed: apt-get install {packages}");
        }
        Ok(Self { database: Arc::new(database) })
    }

    pub(crate) fn database(&self) -> Arc<Database> {
        Arc::clone(&self.database)
    }
}

/// The face that has `c`, from the first family that has it, as bold and as slanted as `like` if possible.
pub(crate) fn face_with(database: &Database, c: char, like: Option<ID>) -> Option<ID> {
    let wanted = like.and_then(|id| database.face(id)).map(|face| (face.weight, face.style));
    FAMILIES.iter().find_map(|family| {
        let of_family = |id: &ID| {
            database.face(*id).is_some_and(|face| face.families.iter().any(|(name, _)| name == family))
        };
        let faces = database.faces().map(|face| face.id).filter(of_family);
        let covering = faces.filter(|id| has(database, *id, c));
        covering.min_by_key(|id| {
            let face = database.face(*id);
            let (weight, style) = wanted.unwrap_or_default();
            face.map(|face| (face.weight.0.abs_diff(weight.0), face.style != style))
        })
    })
}

fn has(database: &Database, id: ID, c: char) -> bool {
    let glyph = database.with_face_data(id, |data, index| {
        FontRef::from_index(data, index).ok().and_then(|font| font.charmap().map(c))
    });
    glyph.flatten().is_some()
}

/// Returns the font folders of the system, the user's own first.
fn folders() -> Vec<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let own = [".local/share/fonts", ".fonts", "Library/Fonts"];
    let shared =
        ["/usr/local/share/fonts", "/usr/share/fonts", "/Library/Fonts", "/opt/homebrew/share/fonts"];
    let own = home.into_iter().flat_map(|home| own.map(|folder| home.join(folder)));
    own.chain(shared.map(PathBuf::from)).collect()
}

/// The file of that name in `folder` or up to `depth` folders below.
fn find(folder: &Path, file: &str, depth: usize) -> Option<PathBuf> {
    let here = folder.join(file);
    if here.is_file() {
        return Some(here);
    }
    let deeper = depth.checked_sub(1)?;
    let mut below: Vec<PathBuf> = std::fs::read_dir(folder)
        .ok()?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect();
    below.sort();
    below.iter().find_map(|folder| find(folder, file, deeper))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The signs of the screens that are drawn with a font.
    const SIGNS: &str = "●○⚠?▸▾→⋯·◆~✂⇥Σ✗−…↔✓◉↑↓←\u{fffd}";

    #[test]
    fn missing_fonts_are_named_by_their_packages() {
        let empty = tempfile::tempdir().unwrap();
        let error = Fonts::from_folders(&[empty.path().into()]).unwrap_err().to_string();
        assert!(
            error.ends_with("apt-get install fonts-dejavu-core fonts-jetbrains-mono fonts-noto-cjk"),
            "{error}"
        );
    }

    #[test]
    fn a_font_is_found_below_a_folder_but_not_too_deep() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("a/b");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::File::create(folder.join("x.ttf")).unwrap();
        assert_eq!(find(root.path(), "x.ttf", 2), Some(folder.join("x.ttf")));
        assert_eq!(find(root.path(), "x.ttf", 1), None);
        assert_eq!(find(root.path(), "y.ttf", 9), None);
    }

    #[test]
    fn the_fonts_have_every_sign_and_both_weights() {
        let fonts = match Fonts::load() {
            Ok(fonts) => fonts,
            Err(missing) => {
                println!("skipped: {missing}");
                return;
            }
        };
        let database = fonts.database();
        let family = |c, like| {
            let face = database.face(face_with(&database, c, like)?)?;
            Some((face.families[0].0.clone(), face.weight.0))
        };
        for c in SIGNS.chars() {
            assert!(family(c, None).is_some(), "no font has {c}");
        }
        let bold = database.faces().find(|face| face.weight.0 == 700).map(|face| face.id);
        assert_eq!(family('a', bold), Some(("JetBrains Mono".into(), 700)));
        assert_eq!(family('✂', bold), Some(("DejaVu Sans Mono".into(), 700)));
        assert_eq!(family('树', bold), Some(("Noto Sans CJK SC".into(), 700)));
        assert_eq!(family('树', None), Some(("Noto Sans CJK SC".into(), 400)));
        assert_eq!(family('\u{10fffd}', None), None);
    }
}
