//! Detects network file systems: a local watcher does not see writes of other machines.

use std::path::Path;

/// Returns the kind of a network file system, or `None` for a local folder.
#[cfg(target_os = "linux")]
pub(super) fn remote_kind(folder: &Path) -> Option<&'static str> {
    let stat = rustix::fs::statfs(folder).ok()?;
    // Where the type is signed some values are negative; the lower half is the magic number.
    kind_from_magic(stat.f_type as u64 & 0xFFFF_FFFF)
}

/// Maps `f_type` to a name. sshfs and virtiofs are FUSE.
#[cfg(target_os = "linux")]
fn kind_from_magic(number: u64) -> Option<&'static str> {
    Some(match number {
        0x6969 => "nfs",
        0x517B => "smb",
        0xFF53_4D42 => "cifs",
        0xFE53_4D42 => "smb2",
        0x0102_1997 => "9p",
        0x5346_414F => "afs",
        0x00C3_6400 => "ceph",
        0x6573_5546 => "fuse",
        _ => return None,
    })
}

/// Detection needs `statfs` magic numbers, which only Linux has.
#[cfg(not(target_os = "linux"))]
pub(super) fn remote_kind(_folder: &Path) -> Option<&'static str> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn local_folders_are_not_remote_and_network_file_systems_are_named() {
        assert_eq!(remote_kind(Path::new("/proc")), None);
        assert_eq!(
            [0x6969, 0x6573_5546, 0xFF53_4D42].map(kind_from_magic),
            [Some("nfs"), Some("fuse"), Some("cifs")]
        );
    }
}
