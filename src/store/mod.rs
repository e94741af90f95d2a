//! The session store: bytes → entries. The only reader of session files.

pub mod archive;
pub mod body;
pub mod entry;
pub mod header;
pub mod index;
pub mod intern;
pub mod key;
pub mod load;
pub mod locate;
pub mod measure;
pub mod prompt_report;
pub mod rows;
pub mod scan;
pub mod source;
