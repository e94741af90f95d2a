//! What tools print and pages say: all of it invented, drawn from templates.
pub(super) mod build;
pub(super) mod chinese;
pub(super) mod infra;
pub(super) mod shell;
pub(super) mod source;
pub(super) mod thought;
pub(super) mod web;
