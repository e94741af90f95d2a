//! The sessions of the demo store, one file per story.
pub(super) mod crawl;
pub(super) mod cron;
pub(super) mod discord;
pub(super) mod feishu;
pub(super) mod leftovers;
pub(super) mod llvm;
pub(super) mod research;
pub(super) mod slack;
pub(super) mod telegram;
pub(super) mod whatsapp;

/// 2026-03-05T00:00:00Z, the day of the stories, in ms since the epoch.
pub(super) const TODAY: i64 = 1_772_668_800_000;
pub(super) const DAY: i64 = 86_400_000;

/// Returns `hour:minute` of that day, in ms since the epoch.
pub(super) const fn at(hour: i64, minute: i64) -> i64 {
    TODAY + (hour * 60 + minute) * 60_000
}
