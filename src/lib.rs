//! A terminal session inspector: why did this LLM session overflow its context window, and which
//! settings would have prevented it?
//!
//! The map. A module uses only what stands above it; a test holds it to that.
//!
//! ```text
//! bytes ─ store ─▶ transcript ─▶ context ─▶ policy ─▶ plan ─▶ inspect ─▶ explain, sweep ─▶ app ─▶ ui
//!                                                      ├────▶ replay ─▶ inspect
//!                                                      └────▶ commit ─▶ bytes (append only)
//! ```
//!
//! * **Vocabulary**: [`ids`]; [`diagnostic`] (what is wrong with a file); [`js`], the JavaScript semantics that the gateway's rules are
//!   written in; [`text`], the only road of text to the screen; [`redact`], which masks secrets in documents and lists.
//! * **Rules in words**: [`rulebook`], what gateways and pi do, as `assets/rules/` says it; comments and screens cite it.
//! * **Settings**: [`gateway`], what `openclaw.json` and the defaults say, each value with where it comes from, and
//!   [`gateway::ruleset`], by which version's rules;
//!   [`config`], clawscope's own settings.
//! * **Store**: [`store`], bytes to entries. The only reader of session files and databases: discovery, rows, the
//!   size-first index, growth, bodies on demand, and the embedded demo store; [`store::migration`] compares files with their
//!   import in a database.
//! * **Transcript**: [`transcript`], entries to tree and branches; [`context`], a branch to what the model is
//!   sent, its sizes, estimates and the rows a person sees of it.
//! * **Rules**: [`policy`], sizes to fates; [`plan`], fates to one change that is shown, applied and committed;
//!   [`replay`], every call of a session again under other settings.
//! * **Questions**: [`inspect::overflow`], which calls did not fit: the one list that every screen and command shows;
//!   [`explain`], what made a call too large, why nothing prevented it and what would have; [`sweep`], a grid of settings, its
//!   best trade-offs and the smallest change after which every call fits; [`summarize`], who writes a compaction's summary: clawscope out of the conversation's own words, a
//!   program, or a model where the person names one; [`commit`], the only writer of session files; [`inspect`], one session with everything that is
//!   asked of it, for commands and screens alike; [`export`], sessions and screens as documents without their secrets.
//! * **The machine**: [`app`], events in, effects out, no IO; [`ui`], state to cells; [`runtime`], the only
//!   terminal and the only tokio; [`cli`] and [`command`], arguments to library calls to text.
//!
//! Two decisions carry the rest. *Sizes first*: indexing reads each line once and keeps a small record per entry;
//! policies decide from sizes alone, and texts are read back only when someone looks. *Files are live*: they are
//! read at positions, never mapped and never rewritten; growth is indexed from the old end, and a result computed
//! under an older [`ids::Epoch`] is dropped.
pub mod app;
pub mod cli;
pub mod command;
pub mod commit;
pub mod config;
pub mod context;
pub mod diagnostic;
pub mod explain;
pub mod export;
pub mod gateway;
pub mod ids;
pub mod inspect;
pub mod js;
pub mod plan;
pub mod policy;
pub mod redact;
pub mod replay;
pub mod rulebook;
pub mod runtime;
pub mod store;
pub mod summarize;
pub mod sweep;
pub mod text;
pub mod transcript;
pub mod ui;
