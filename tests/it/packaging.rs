//! The names in packaging, the release workflow and Cargo.toml agree, so that every installer finds the files of a release.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn manifest() -> toml::Table {
    read("Cargo.toml").parse().expect("TOML")
}

/// The crates that the program is built from on any system: those of `Cargo.lock` that not only tests need.
fn shipped_crates() -> BTreeSet<String> {
    let lock: toml::Table = read("Cargo.lock").parse().expect("TOML");
    let packages = lock["package"].as_array().expect("packages");
    let mut wanted: Vec<String> =
        manifest()["dependencies"].as_table().expect("crates").keys().cloned().collect();
    let mut found = BTreeSet::new();
    while let Some(name) = wanted.pop() {
        let own = packages.iter().filter(|package| package["name"].as_str() == Some(&name));
        let needed = own.filter_map(|package| package.get("dependencies")?.as_array()).flatten();
        let names: Vec<String> =
            needed.filter_map(|line| Some(line.as_str()?.split(' ').next()?.to_owned())).collect();
        if found.insert(name) {
            wanted.extend(names);
        }
    }
    found
}

/// The rows of the table of targets: target, npm's system and processor, Debian's architecture.
fn targets() -> Vec<[String; 4]> {
    let text = read("packaging/targets.tsv");
    let rows = text.lines().filter(|line| !line.starts_with('#'));
    rows.map(|row| row.split('\t').map(str::to_owned).collect::<Vec<_>>().try_into().expect("4 columns"))
        .collect()
}

/// Runs a line of bash after `packaging/lib.sh`; returns its output.
fn shell(line: &str) -> String {
    let script = format!("source packaging/lib.sh; {line}");
    let ran = Command::new("bash").args(["-c", &script]).current_dir(root()).output().expect("bash");
    assert!(ran.status.success(), "{line}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).expect("UTF-8").trim().to_owned()
}

/// Fills in a template of binstall.
fn filled(template: &str, target: &str, repo: &str) -> String {
    let values = [
        ("{ repo }", repo),
        ("{ version }", env!("CARGO_PKG_VERSION")),
        ("{ name }", "clawscope"),
        ("{ target }", target),
        ("{ bin }", "clawscope"),
        ("{ binary-ext }", ""),
        ("{ archive-suffix }", ".tar.gz"),
    ];
    let text = values.iter().fold(template.to_owned(), |text, (name, value)| text.replace(name, value));
    assert!(!text.contains('{'), "{text}");
    text
}

#[test]
fn binstall_urls_match_the_release_archives() {
    let manifest = manifest();
    let package = manifest["package"].as_table().expect("a package");
    let repo = package["repository"].as_str().expect("an address");
    let binstall = &package["metadata"]["binstall"];
    let overrides = binstall["overrides"].as_table().expect("overrides");
    let mut asked: Vec<(String, &toml::Value, String)> =
        targets().into_iter().map(|[target, ..]| (target.clone(), binstall, target)).collect();
    for (target, own) in overrides {
        asked.push((target.clone(), own, target.replace("-gnu", "-musl")));
    }
    assert_eq!(asked.len(), 6);
    for (target, templates, built) in asked {
        let archive = shell(&format!("archive_name {built}"));
        let template = |key: &str| templates[key].as_str().expect("a template");
        let version = env!("CARGO_PKG_VERSION");
        assert_eq!(
            filled(template("pkg-url"), &target, repo),
            format!("{repo}/releases/download/v{version}/{archive}.tar.gz")
        );
        assert_eq!(filled(template("bin-dir"), &target, repo), format!("{archive}/clawscope"));
    }
}

/// `ruzstd` reads stores, and Parquet files are packed with gzip.
#[test]
fn the_program_is_built_with_one_zstd() {
    let crates = shipped_crates();
    let found: Vec<&String> = crates.iter().filter(|name| name.contains("zstd")).collect();
    assert_eq!(found, ["ruzstd"]);
}

#[test]
fn the_program_is_built_without_crates_for_the_network() {
    let crates = shipped_crates();
    assert!(crates.contains("linux-raw-sys"), "indirect crates are found");
    let network = [
        "rustls",
        "native-tls",
        "openssl",
        "ring",
        "webpki",
        "http",
        "hyper",
        "h2",
        "ureq",
        "reqwest",
        "curl",
        "socket2",
        "tungstenite",
        "hickory",
        "trust-dns",
    ];
    let found: Vec<&String> =
        crates.iter().filter(|name| network.iter().any(|start| name.starts_with(start))).collect();
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn the_workflow_builds_every_target_and_counts_every_file() {
    let workflow = read(".github/workflows/release.yml");
    let built: BTreeSet<&str> = workflow
        .lines()
        .filter_map(|line| Some(line.split_once("- { target: ")?.1.split_once(',')?.0))
        .collect();
    let targets = targets();
    assert_eq!(built, targets.iter().map(|row| row[0].as_str()).collect());
    let debian = targets.iter().filter(|row| row[3] != "-").count();
    // An archive and an npm package per target; npm's main package, SBOM, formula and sums.
    let files = 2 * targets.len() + debian + 4;
    assert!(workflow.contains(&format!("= {files}\n")), "{files} files");
}

#[test]
fn the_host_is_a_known_target_or_unknown_to_the_script() {
    let known: Vec<String> = targets().into_iter().map(|[target, ..]| target).collect();
    let host = shell("host_target || true");
    assert!(host.is_empty() || known.contains(&host), "{host}");
    assert_eq!(shell("echo $version"), env!("CARGO_PKG_VERSION"));
    assert_eq!(shell("echo $repository"), env!("CARGO_PKG_REPOSITORY"));
    assert_eq!(shell("all_targets").lines().collect::<Vec<_>>(), known);
}

#[test]
fn the_program_names_the_target_that_it_was_built_for() {
    let ran = crate::support::store::program(&["doctor", "--self", "--json"]).output().expect("it runs");
    let report: Value = serde_json::from_slice(&ran.stdout).expect("JSON");
    let rustc = Command::new("rustc").arg("-vV").output().expect("rustc");
    let rustc = String::from_utf8(rustc.stdout).expect("UTF-8");
    let host = rustc.lines().find_map(|line| line.strip_prefix("host: ")).expect("a host");
    assert_eq!(report["target"], host);
}

#[test]
fn every_file_that_the_debian_package_takes_from_the_repository_exists() {
    let manifest = manifest();
    let debian = &manifest["package"]["metadata"]["deb"];
    for asset in debian["assets"].as_array().expect("assets") {
        let from = asset[0].as_str().expect("a path");
        assert!(from.starts_with("target/release/") || root().join(from).is_file(), "{from}");
    }
}
