//! What all lanes of a session have in common: the messages of the path as they stand in the transcript, where the replies,
//! results and words of people are among them, and what the first run that loads a result makes of it. Made once.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use crate::context::tokens::chars4::estimate_or_zero;
use crate::context::{Context, ContextMessage};
use crate::policy::edit::Edit;
use crate::policy::list::{From, Item, List, Textures};
use crate::policy::repair::{pair_list, repair_list};
use crate::policy::texture::Texture;
use crate::replay::Session;
use crate::replay::exact::exact;
use crate::store::entry::Role;

/// The messages of the path.
#[derive(Debug, Default)]
pub(super) struct Ground {
    /// Sizes, as a list of messages asks for them.
    pub(super) context: Context,
    /// Where on the path the entry of each stands.
    places: Vec<usize>,
    /// Tokens of each by factors of this session, where there are any.
    pub(super) weights: Option<Vec<f64>>,
    /// Tokens of each by chars.
    pub(super) estimates: Vec<u64>,
    /// Which of them people said.
    pub(super) users: Vec<usize>,
    /// Which of them the model said.
    pub(super) replies: Vec<usize>,
    /// Which of them tools returned, or the guard takes for such.
    pub(super) results: Vec<usize>,
    /// The texture of each result without its details, told when a lane first asks for it.
    stripped: Vec<OnceLock<Box<Texture>>>,
    is_paired: OnceLock<bool>,
}

impl Ground {
    /// Of a session.
    pub(super) fn new(session: &Session<'_>) -> Self {
        let mut ground = Self { weights: session.calibrated.map(|_| Vec::new()), ..Self::default() };
        let mut odd = HashMap::new();
        for (place, ix) in session.path.iter().enumerate() {
            let entry = session.index.entry(*ix);
            let Some(size) = entry.message.filter(|_| entry.makes_message()) else { continue };
            let at = ground.places.len();
            if let Some(body) = session.index.odd.get(ix).filter(|_| size.odd) {
                odd.insert(at, Arc::clone(body));
            }
            if let (Some(own), Some(fit)) = (&mut ground.weights, session.calibrated) {
                own.push(exact(fit.weights[place]));
            }
            let texture = session.textures.and_then(|textures| textures[place].as_ref());
            if size.role == Role::ToolResult || texture.is_some_and(|texture| texture.guard.is_result) {
                ground.results.push(at);
            }
            match size.role {
                Role::User => ground.users.push(at),
                Role::Assistant => ground.replies.push(at),
                _ => {}
            }
            ground.places.push(place);
            ground.estimates.push(estimate_or_zero(&size));
            ground.stripped.push(OnceLock::new());
            ground.context.messages.push(ContextMessage { entry: *ix, size });
        }
        ground.context.odd = odd;
        ground
    }

    /// Messages of the path.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// The texture of a message as it stands in the transcript.
    pub(super) fn texture<'a>(&self, session: &Session<'a>, at: usize) -> Option<&'a Texture> {
        session.textures?[self.places[at]].as_ref()
    }

    /// The texture of a message of which the details are gone.
    pub(super) fn stripped<'a>(&'a self, session: &Session<'a>, at: usize) -> Option<&'a Texture> {
        let texture = self.texture(session, at)?;
        let size = &self.context.messages[at].size;
        if !has_details(size.role, texture) {
            return Some(texture);
        }
        Some(self.stripped[at].get_or_init(|| Box::new(Edit::StripDetails.foretell(size, texture).1)))
    }

    /// Whether a repair of the whole path would change nothing that is sent.
    pub(super) fn is_paired(&self, session: &Session<'_>) -> bool {
        *self.is_paired.get_or_init(|| {
            let items = (0..self.len()).map(|at| Item { from: From::Context(at as u32), change: None });
            let written = Written { ground: self, session };
            let textures = session.textures.map(|_| Textures::Of(&written));
            let mut list = List { context: &self.context, textures, items: items.collect() };
            let is_odd =
                |at: &usize| self.texture(session, *at).is_some_and(|texture| texture.body.is_some());
            let odd_calls = self.replies.iter().any(is_odd);
            !if odd_calls { repair_list(&mut list).changed } else { pair_list(&mut list).changed }
        })
    }
}

/// Whether the runs that load a message take its details away.
pub(super) fn has_details(role: Role, texture: &Texture) -> bool {
    role == Role::ToolResult && texture.details_chars.is_some()
}

/// The textures of the transcript.
#[derive(Debug)]
struct Written<'a> {
    ground: &'a Ground,
    session: &'a Session<'a>,
}

impl crate::policy::list::TextureAt for Written<'_> {
    fn texture_at(&self, at: usize) -> Option<&Texture> {
        self.ground.texture(self.session, at)
    }
}
