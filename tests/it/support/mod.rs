//! Shared fixtures, drivers and judges. Examples, benches and unit tests include some of these files by path.

pub(crate) mod browser;
pub(crate) mod driver;
pub(crate) mod fixture;
pub(crate) mod gateway;
pub(crate) mod generate;
pub(crate) mod inspected;
pub(crate) mod large;
pub(crate) mod openclaw;
pub(crate) mod oracles;
pub(crate) mod pi;
pub(crate) mod pi_1_5;
pub(crate) mod pi_bundles;
pub(crate) mod process;
pub(crate) mod real_import;
pub(crate) mod real_openclaw;
pub(crate) mod screens;
pub(crate) mod secrets;
pub(crate) mod session;
pub(crate) mod skipped;
pub(crate) mod sorted;
pub(crate) mod store;
pub(crate) mod terminal;
pub(crate) mod writers;
