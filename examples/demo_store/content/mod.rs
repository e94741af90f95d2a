//! Output of tools and web pages: all invented, generated from templates.
pub(super) mod build;
pub(super) mod chinese;
pub(super) mod infra;
pub(super) mod shell;
pub(super) mod source;
pub(super) mod thought;
pub(super) mod web;
