//! No two files import each other, directly or by way of others, so that every file can be read after the files it uses.
//!
//! A name counts as an import of the file that defines it, whichever `pub use` it came through. `mod` lines and `pub use`
//! lines are not imports: a parent may list its children. Unit tests may use any module.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, ItemUse, UseTree, Visibility};

type Module = Vec<String>;

/// The imports of one file.
#[derive(Default)]
struct File {
    /// The module of the file; inline modules below it count as the file.
    module: Module,
    /// Paths it uses, as written.
    used: Vec<Module>,
    /// Names that it re-exports, with the path of each.
    exported: BTreeMap<String, Module>,
    /// Paths of which it re-exports every name.
    globs: Vec<Module>,
    /// Names it defines.
    defined: BTreeSet<String>,
}

fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|one| {
        one.path().is_ident("test")
            || one.path().is_ident("cfg") && one.parse_args::<syn::Ident>().is_ok_and(|name| name == "test")
    })
}

/// The leaves of a `use` tree, with the name that each gets.
fn leaves(tree: &UseTree, prefix: &[String], found: &mut Vec<(Module, String)>) {
    let with = |name: &syn::Ident| [prefix, &[name.to_string()]].concat();
    match tree {
        UseTree::Path(path) => leaves(&path.tree, &with(&path.ident), found),
        UseTree::Name(name) if name.ident == "self" => {
            found.push((prefix.to_vec(), prefix.last().cloned().unwrap_or_default()));
        }
        UseTree::Name(name) => found.push((with(&name.ident), name.ident.to_string())),
        UseTree::Rename(name) => found.push((with(&name.ident), name.rename.to_string())),
        UseTree::Glob(_) => found.push((prefix.to_vec(), "*".to_owned())),
        UseTree::Group(group) => group.items.iter().for_each(|tree| leaves(tree, prefix, found)),
    }
}

impl<'ast> Visit<'ast> for File {
    fn visit_item(&mut self, item: &'ast Item) {
        let (name, attributes) = match item {
            Item::Const(item) => (Some(&item.ident), &item.attrs),
            Item::Enum(item) => (Some(&item.ident), &item.attrs),
            Item::Fn(item) => (Some(&item.sig.ident), &item.attrs),
            Item::Static(item) => (Some(&item.ident), &item.attrs),
            Item::Struct(item) => (Some(&item.ident), &item.attrs),
            Item::Trait(item) => (Some(&item.ident), &item.attrs),
            Item::Type(item) => (Some(&item.ident), &item.attrs),
            Item::Impl(item) => (None, &item.attrs),
            Item::Use(item) => (None, &item.attrs),
            Item::Mod(item) => (None, &item.attrs),
            _ => return visit::visit_item(self, item),
        };
        self.defined.extend(name.map(ToString::to_string));
        if !is_test(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if item.content.is_some() {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let mut found = Vec::new();
        leaves(&item.tree, &[], &mut found);
        let is_private = matches!(item.vis, Visibility::Inherited);
        for (path, name) in found {
            match name.as_str() {
                _ if is_private => self.used.push(path),
                "*" => self.globs.push(path),
                _ => _ = self.exported.insert(name, path),
            }
        }
    }

    // A visibility is not an import.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let words: Module = path.segments.iter().map(|part| part.ident.to_string()).collect();
        if words.len() > 1 {
            self.used.push(words);
        }
        visit::visit_path(self, path);
    }
}

/// Every file of the crate by its module.
struct Crate(BTreeMap<Module, File>);

impl Crate {
    fn read(src: &Path) -> Self {
        let mut files = BTreeMap::new();
        for path in sources(src) {
            let below = path.strip_prefix(src).unwrap().with_extension("");
            let mut module: Module = below.iter().map(|part| part.to_string_lossy().into_owned()).collect();
            if module.iter().any(|part| part.ends_with("tests") || part.ends_with("testing")) {
                continue;
            }
            if matches!(module.last().map(String::as_str), Some("mod" | "lib")) {
                module.pop();
            }
            let mut file = File { module: module.clone(), ..File::default() };
            file.visit_file(&syn::parse_file(&fs::read_to_string(&path).unwrap()).unwrap());
            files.insert(module, file);
        }
        Self(files)
    }

    /// A path from the root of the crate; `None` for paths of other crates and of local names.
    fn absolute(&self, file: &File, path: &[String]) -> Option<Module> {
        let up = path.iter().take_while(|part| *part == "super").count();
        match path.first()?.as_str() {
            "crate" => Some(path[1..].to_vec()),
            "self" => Some([&file.module, &path[1..]].concat()),
            "super" => {
                let kept = file.module.len().checked_sub(up)?;
                Some([&file.module[..kept], &path[up..]].concat())
            }
            first => {
                let child = [&file.module[..], &[first.to_owned()]].concat();
                self.0.contains_key(&child).then(|| [&file.module, path].concat())
            }
        }
    }

    /// The file that defines the name at the end of a path.
    fn defining(&self, path: &[String], depth: usize) -> Option<&File> {
        let at = (0..=path.len()).rev().find(|at| self.0.contains_key(&path[..*at]))?;
        let file = &self.0[&path[..at]];
        let Some(name) = path.get(at).filter(|name| depth < 12 && !file.defined.contains(*name)) else {
            return Some(file);
        };
        let rest = &path[at + 1..];
        let follow = |target: &[String]| {
            let target = self.absolute(file, target)?;
            self.defining(&[&target, rest].concat(), depth + 1)
        };
        if let Some(target) = file.exported.get(name) {
            return follow(target).or(Some(file));
        }
        let globs = file.globs.iter().filter_map(|glob| self.0.get(&self.absolute(file, glob)?));
        Some(globs.into_iter().find(|glob| glob.defined.contains(name)).unwrap_or(file))
    }

    /// The files that each file imports from.
    fn imports(&self) -> BTreeMap<&Module, BTreeSet<&Module>> {
        let of = |file: &'_ File| {
            let paths = file.used.iter().filter_map(|path| self.absolute(file, path));
            let found = paths.filter_map(|path| self.defining(&path, 0)).map(|found| found.module.clone());
            found.filter(|found| *found != file.module && !found.is_empty()).collect::<BTreeSet<_>>()
        };
        let key = |module: &Module| self.0.get_key_value(module).unwrap().0;
        self.0.iter().map(|(module, file)| (module, of(file).iter().map(key).collect())).collect()
    }
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let items = fs::read_dir(folder).unwrap().map(|item| item.unwrap().path());
    let of = |path: PathBuf| if path.is_dir() { sources(&path) } else { vec![path] };
    items.flat_map(of).filter(|path| path.extension().is_some_and(|end| end == "rs")).collect()
}

/// Returns every file that a file needs, directly or through others.
fn needed<'a>(
    imports: &BTreeMap<&'a Module, BTreeSet<&'a Module>>,
    from: &'a Module,
) -> BTreeSet<&'a Module> {
    let (mut found, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(module) = next.pop() {
        next.extend(imports[module].iter().filter(|used| found.insert(**used)));
    }
    found
}

/// Returns the imports that close a circle, as `file imports files`.
fn circles(imports: &BTreeMap<&Module, BTreeSet<&Module>>) -> Vec<String> {
    let all: BTreeMap<&Module, BTreeSet<&Module>> =
        imports.keys().map(|module| (*module, needed(imports, module))).collect();
    let words = |(module, used): (&&Module, &BTreeSet<&Module>)| {
        let back = used.iter().filter(|used| all[*used].contains(module)).map(|used| used.join("/"));
        let back = back.collect::<Vec<_>>();
        (!back.is_empty()).then(|| format!("{} imports {}", module.join("/"), back.join(", ")))
    };
    imports.iter().filter_map(words).collect()
}

#[test]
fn no_files_import_each_other() {
    let all = Crate::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    let imports = all.imports();
    let edges: usize = imports.values().map(BTreeSet::len).sum();
    assert!(edges > 4000, "only {edges} imports were found");
    let circles = circles(&imports);
    assert!(circles.is_empty(), "\n{}", circles.join("\n"));
}

#[test]
fn a_circle_of_three_files_is_found_through_a_re_export() {
    let file = |module: &str, text: &str| {
        let module: Module = module.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect();
        let mut file = File { module: module.clone(), ..File::default() };
        file.visit_file(&syn::parse_str(text).unwrap());
        (module, file)
    };
    let all = Crate(BTreeMap::from([
        file("a", "mod one; mod two; pub use two::Two;"),
        file("a/one", "use crate::a::Two; pub struct One; pub(in crate::b) fn free() {}"),
        file("a/two", "pub struct Two(crate::b::Three);"),
        file("b", "use super::a::one::One; pub struct Three; #[cfg(test)] mod tests { use crate::c; }"),
        file("c", "use crate::a::Two;"),
    ]));
    let found = circles(&all.imports());
    assert_eq!(found, ["a/one imports a/two", "a/two imports b", "b imports a/one"]);
}
