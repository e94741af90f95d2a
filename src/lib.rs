//! A terminal session inspector: why did this LLM session overflow its context window, and which
//! settings would have prevented it?
pub mod app;
pub mod context;
pub mod error;
pub mod export;
pub mod gateway;
pub mod ids;
pub mod inspect;
pub mod js;
pub mod plan;
pub mod policy;
pub mod store;
pub mod text;
pub mod transcript;
pub mod ui;
