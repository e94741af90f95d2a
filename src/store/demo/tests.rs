//! Checks that the archive unpacks. `examples/demo_store` checks its content.
use super::*;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use std::path::Component;

#[test]
fn the_archive_unpacks_to_files_below_the_state_dir() {
    let files = unpack(ARCHIVE).unwrap();
    assert_eq!(files.len(), 16);
    for (path, bytes) in files {
        assert!(!bytes.is_empty(), "{}", path.display());
        assert!(path.components().all(|part| matches!(part, Component::Normal(_))), "{}", path.display());
    }
}

#[test]
fn the_demo_on_disk_equals_its_file_list() {
    let folder = tempfile::tempdir().unwrap();
    write_to(folder.path()).unwrap();
    for (path, bytes) in files() {
        assert_eq!(std::fs::read(folder.path().join(&path)).unwrap(), bytes, "{}", path.display());
    }
}

#[test]
fn a_damaged_archive_is_an_error() {
    let packed = |text: &str| compress_to_vec(text.as_bytes(), CompressionLevel::Fastest);
    let whole = unpack(&packed("2 a/b\nhi1 c\n!")).unwrap();
    assert_eq!(whole, [("a/b".into(), b"hi".to_vec()), ("c".into(), b"!".to_vec())]);
    for damaged in ["3 a\nhi", "2 a", "two a\nhi", "2\nhi"] {
        assert!(unpack(&packed(damaged)).is_err(), "{damaged}");
    }
    assert!(unpack(&ARCHIVE[..ARCHIVE.len() / 2]).is_err());
    assert!(unpack(b"no frame").is_err());
}
