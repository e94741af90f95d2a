//! Searches texts for words: the entries of one session, or every transcript of a store.
//!
//! Both compile the words once ([`query`]), skip lines that cannot hold them without parsing, and match only the text
//! that the message pane shows (`seen_text`).

pub mod hits;
mod in_session;
pub mod query;
pub mod store_search;

pub use hits::{HitText, SearchHit, SessionHits};
pub use in_session::search;
pub use query::SearchQuery;
pub use store_search::{SearchTotals, UnreadTranscript, entry_at, search_store};
