//! The session store: bytes → entries. The only reader of session files.

pub mod agents;
pub mod archive;
pub mod body;
pub mod demo;
mod distinct;
pub mod entry;
mod era;
pub mod find;
pub mod header;
pub mod index;
pub mod intern;
pub mod key;
mod listing;
pub mod load;
pub mod locate;
pub mod measure;
pub mod model;
pub mod pi;
pub mod prompt_report;
pub mod rows;
pub mod scan;
pub mod session;
mod sessions;
pub mod shape;
pub mod silent;
pub mod source;
pub mod survey;
