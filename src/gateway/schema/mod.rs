//! The schemas by which releases of the gateway validate `openclaw.json`, exported from their own packages
//! (`scripts/upstream/config_schema.mjs`), and the validator that applies them (releases R77).

mod check;
mod json;
mod node;
mod rules;
mod words;

pub(super) use check::{old_keys, validate};
pub(super) use node::{Refused, ReleaseSchema, Variables, tables};
pub(super) use words::Issue;
