//! Unpacks a tar stream from another machine into a folder. Only regular files below the folder are written, within the
//! limits of the copy; links, devices and names that lead elsewhere are refused.

use std::fs::{self, OpenOptions};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime};

use tar::{Archive, Entry, EntryType, PaxExtensions};

use super::meter::Meter;
use crate::units::Bytes;

/// Bytes of the header of a long name.
const MAX_NAME_BYTES: u64 = 1 << 16;

/// The content of an archive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::remote) struct ArchiveTotals {
    pub(in crate::remote) files: u64,
    pub(in crate::remote) bytes: Bytes,
}

/// Unpacks an archive; leaves the reader after its end.
///
/// # Errors
/// The system's, a limit of the meter, or [`io::ErrorKind::InvalidData`] for an archive that clawscope did not request.
pub(super) fn unpack(from: &mut dyn Read, folder: &Path, meter: &Meter<'_>) -> io::Result<ArchiveTotals> {
    let mut archive = Archive::new(from);
    let (mut unpacked, mut long_name) = (ArchiveTotals::default(), None);
    // The raw entries: the crate would read a long name of any length into memory.
    for entry in archive.entries()?.raw(true) {
        let mut entry = entry?;
        match entry.header().entry_type() {
            EntryType::GNULongName => long_name = Some(gnu_name(&read_name(&mut entry)?)),
            EntryType::XHeader => long_name = pax_name(&read_name(&mut entry)?)?.or(long_name),
            EntryType::XGlobalHeader | EntryType::Directory => long_name = None,
            EntryType::Regular | EntryType::Continuous => {
                let name = match long_name.take() {
                    Some(name) => name,
                    None => entry.path_bytes().into_owned(),
                };
                meter.count_file(entry.header().entry_size()?)?;
                unpacked.files += 1;
                unpacked.bytes += Bytes(write_file(&mut entry, folder, &safe_path(&name)?, meter)?);
            }
            kind => return Err(invalid(&format!("an entry of kind {kind:?}"))),
        }
    }
    Ok(unpacked)
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the copy contains {what}"))
}

fn read_name<R: Read>(entry: &mut Entry<'_, R>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    entry.take(MAX_NAME_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_NAME_BYTES {
        return Err(invalid("a name that is too long"));
    }
    Ok(bytes)
}

fn gnu_name(bytes: &[u8]) -> Vec<u8> {
    bytes.split(|byte| *byte == 0).next().unwrap_or_default().to_vec()
}

fn pax_name(bytes: &[u8]) -> io::Result<Option<Vec<u8>>> {
    let mut name = None;
    for extension in PaxExtensions::new(bytes) {
        let extension = extension?;
        match extension.key_bytes() {
            b"path" => name = Some(extension.value_bytes().to_vec()),
            // The size in the header would be another one.
            b"size" => return Err(invalid("a file of more than 8 GB")),
            _ => {}
        }
    }
    Ok(name)
}

/// Returns a path that stays below the folder.
fn safe_path(name: &[u8]) -> io::Result<PathBuf> {
    let text = std::str::from_utf8(name).map_err(|_| invalid("a name that is not UTF-8"))?;
    let mut path = PathBuf::new();
    for part in Path::new(text).components() {
        match part {
            Component::CurDir => {}
            Component::Normal(part) if !text.contains(['\0', '\\']) => path.push(part),
            _ => return Err(invalid("a name that leads out of its folder")),
        }
    }
    if path.as_os_str().is_empty() { Err(invalid("an empty name")) } else { Ok(path) }
}

/// Creates the folders on the way to a file.
fn create_folders(folder: &Path, file: &Path, meter: &Meter<'_>) -> io::Result<()> {
    let Some(way) = file.parent().filter(|way| !folder.join(way).is_dir()) else { return Ok(()) };
    let mut path = folder.to_path_buf();
    for part in way {
        path.push(part);
        if !path.is_dir() {
            meter.count_folder()?;
            fs::create_dir(&path)?;
        }
    }
    Ok(())
}

/// Writes a file that does not exist yet, with its time of change: the screen sorts by it.
fn write_file<R: Read>(
    entry: &mut Entry<'_, R>,
    folder: &Path,
    name: &Path,
    meter: &Meter<'_>,
) -> io::Result<u64> {
    create_folders(folder, name, meter)?;
    let size = entry.header().entry_size()?;
    let changed = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(entry.header().mtime()?));
    let mut file = OpenOptions::new().write(true).create_new(true).open(folder.join(name))?;
    let written = io::copy(entry, &mut file)?;
    if written != size {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the copy ended early"));
    }
    if let Some(changed) = changed {
        file.set_modified(changed)?;
    }
    Ok(written)
}

#[cfg(test)]
mod tests {
    use tar::{Builder, Header};

    use super::super::limits::{CopyLimits, Limit};
    use super::super::meter::Early;
    use super::*;
    use crate::remote::transport::StopRequest;

    fn header(kind: EntryType, size: u64) -> Header {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(size);
        header.set_mtime(1_772_452_800);
        header
    }

    fn unpacked(build: impl FnOnce(&mut Builder<Vec<u8>>)) -> (tempfile::TempDir, io::Result<ArchiveTotals>) {
        let (folder, result, _) = unpacked_within("", build);
        (folder, result)
    }

    fn unpacked_within(
        limits: &str,
        build: impl FnOnce(&mut Builder<Vec<u8>>),
    ) -> (tempfile::TempDir, io::Result<ArchiveTotals>, Option<Early>) {
        let mut builder = Builder::new(Vec::new());
        build(&mut builder);
        let folder = tempfile::tempdir().unwrap();
        let going = StopRequest::default();
        let meter = Meter::new(CopyLimits::parse(limits).unwrap(), "gw".into(), &going);
        let result = unpack(&mut &builder.into_inner().unwrap()[..], folder.path(), &meter);
        (folder, result, meter.early())
    }

    fn raw_name(builder: &mut Builder<Vec<u8>>, name: &str, kind: EntryType) {
        let mut header = header(kind, 1);
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_cksum();
        builder.append(&header, &b"x"[..]).unwrap();
    }

    #[test]
    fn files_arrive_with_long_names_and_their_times() {
        let long = format!("./agents/{}/s.jsonl", "n".repeat(150));
        let (folder, result) = unpacked(|builder| {
            builder.append_data(&mut header(EntryType::Regular, 3), "a/b.json", &b"{}\n"[..]).unwrap();
            builder.append_data(&mut header(EntryType::Regular, 1), &long, &b"x"[..]).unwrap();
        });
        assert_eq!(result.unwrap(), ArchiveTotals { files: 2, bytes: Bytes(4) });
        assert_eq!(fs::read(folder.path().join(&long)).unwrap(), b"x");
        let changed = fs::metadata(folder.path().join("a/b.json")).unwrap().modified().unwrap();
        assert_eq!(changed.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs(), 1_772_452_800);
    }

    #[test]
    fn extraction_writes_only_inside_the_folder_and_makes_no_link() {
        for name in ["../x", "/etc/x", "a/../../x", "..", "a\\..\\x", "."] {
            let (folder, result) = unpacked(|builder| raw_name(builder, name, EntryType::Regular));
            assert!(result.is_err(), "{name}");
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{name}");
        }
        for kind in [
            EntryType::Symlink,
            EntryType::Link,
            EntryType::Fifo,
            EntryType::Char,
            EntryType::Block,
            EntryType::GNUSparse,
        ] {
            assert!(unpacked(|builder| raw_name(builder, "x", kind)).1.is_err(), "{kind:?}");
        }
    }

    #[test]
    fn a_file_is_never_replaced_and_an_archive_that_was_cut_off_is_an_error() {
        let (_, result) = unpacked(|builder| {
            raw_name(builder, "x", EntryType::Regular);
            raw_name(builder, "./x", EntryType::Regular);
        });
        assert!(result.is_err());
        let mut builder = Builder::new(Vec::new());
        builder.append_data(&mut header(EntryType::Regular, 2000), "x", &[b'x'; 2000][..]).unwrap();
        let bytes = builder.into_inner().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let going = StopRequest::default();
        let meter = Meter::new(CopyLimits::default(), "gw".into(), &going);
        assert!(unpack(&mut &bytes[..1500], folder.path(), &meter).is_err());
    }

    #[test]
    fn files_folders_and_claimed_sizes_have_a_limit() {
        let many = |builder: &mut Builder<Vec<u8>>, name: &dyn Fn(usize) -> String| {
            for at in 0..30 {
                raw_name(builder, &name(at), EntryType::Regular);
            }
        };
        let (_, result, early) = unpacked_within("files=20", |builder| many(builder, &|at| at.to_string()));
        assert!(result.is_err());
        assert_eq!(early, Some(Early::Reached(Limit::Files)));
        let (folder, _, early) =
            unpacked_within("folders=20", |builder| many(builder, &|at| format!("{at}/x")));
        assert_eq!(early, Some(Early::Reached(Limit::Folders)));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 20);
        let deep = format!("{}x", "a/".repeat(40));
        let (_, _, early) =
            unpacked_within("folders=20", |builder| raw_name(builder, &deep, EntryType::Regular));
        assert_eq!(early, Some(Early::Reached(Limit::Folders)));
        // Folders that are used again count once.
        let (_, result, _) = unpacked_within("folders=1", |builder| many(builder, &|at| format!("a/{at}")));
        assert_eq!(result.unwrap().files, 30);
        let (folder, _, early) = unpacked_within("size=1MB", |builder| {
            let mut header = header(EntryType::Regular, 8 << 30);
            header.set_path("x").unwrap();
            header.set_cksum();
            builder.append(&header, io::empty()).unwrap();
        });
        assert_eq!(early, Some(Early::Reached(Limit::Size)));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_name_without_an_end_does_not_fill_the_memory() {
        let (_, result) = unpacked(|builder| {
            let mut header = header(EntryType::GNULongName, 10 << 20);
            header.set_cksum();
            builder.append(&header, io::repeat(b'n').take(10 << 20)).unwrap();
        });
        assert!(result.unwrap_err().to_string().contains("too long"));
    }
}
