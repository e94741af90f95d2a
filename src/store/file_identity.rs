//! Tells a file from another one that replaces it at its path.

/// Device and inode of an open file; a file that replaces it differs in them (store Q2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FileIdentity {
    pub device: u64,
    pub inode: u64,
}

/// Returns device and inode of a file; zeros on systems without them.
pub fn file_identity(metadata: &std::fs::Metadata) -> FileIdentity {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        FileIdentity { device: metadata.dev(), inode: metadata.ino() }
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        FileIdentity::default()
    }
}
