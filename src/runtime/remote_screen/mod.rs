//! A screen whose program runs on another machine. The program sends the cells that changed, and the viewer sends keys
//! back, so that neither an index nor a transcript crosses the link, and secrets are masked before anything leaves the
//! machine of the store.

mod backend;
mod message;
mod pieces;
mod port;
mod serve;
mod view;

pub(super) use backend::RemoteBackend;
pub use message::{PersonMessage, ScreenMessage};
pub use port::RemotePort;
pub use serve::{ServedScreen, serve_screen};
/// The channels between a link and its screen; only the runtime knows the executor.
pub use tokio::sync::mpsc::{Sender, UnboundedSender, channel, unbounded_channel};
pub use view::{ScreenLink, ViewEnd, ViewOptions, prepare_view};
