//! The session store: bytes → entries. The only reader of session files.

pub mod body;
pub mod entry;
pub mod index;
pub mod intern;
pub mod load;
pub mod measure;
pub mod scan;
pub mod source;
