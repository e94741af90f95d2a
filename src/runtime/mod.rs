//! The shell around the state machine: the only terminal and the only tokio. Keys, signals, job reports and file
//! changes come in as events; effects come out and are performed here.

mod abilities;
mod background;
mod change_probes;
mod clipboard;
mod crash;
mod custom_command;
pub mod effects;
mod emulators;
mod event_loop;
mod excerpt_queue;
mod exporting;
mod input;
mod interrupt;
mod jobs;
mod lent_terminal;
mod log;
mod paged_output;
pub mod perform;
mod read_only;
pub mod relist_queue;
mod relisting;
pub mod run;
mod run_options;
mod save;
mod session_counts;
mod signals;
mod store_loader;
mod suspend;
mod terminal;
#[cfg(unix)]
mod terminal_modes;
mod terminal_watch;
mod themes;
pub mod watch;
mod watcher_pipe;

pub use abilities::{Ability, Streams, TERMINAL_VARIABLES, is_remote, terminal_abilities, terminal_name};
pub use clipboard::clipboard_programs;
pub use crash::write_report_on_crash;
pub use exporting::{PictureError, session_picture};
pub use interrupt::{interruptible, on_output_end};
pub use lent_terminal::LentTerminal;
pub use paged_output::{PagedOutput, pager_line};
pub use run::run;
pub use run_options::RunOptions;
pub use save::{SaveError, save_as};
pub use suspend::REMOTE_VARIABLE;
pub use terminal_watch::watch_terminal;
