//! The messages between two steps: where each comes from, what was done to it, and the sizes that leaves.

use std::borrow::Cow;
use std::sync::Arc;

use crate::context::{Columns, Context};
use crate::js::{JsString, Value};
use crate::policy::edit::{Edit, apply_all, one_text};
use crate::policy::edit_cache::EditCache;
use crate::policy::repair::MissingResult;
use crate::policy::texture::Texture;
use crate::store::entry::MessageSize;
use crate::store::intern::Words;
use crate::store::scan::size_message;

/// Where a message of a list comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum From {
    /// The message of the context at this position.
    Context(u32),
    /// The summary that a planned compaction puts first.
    Summary,
    /// Prompt and tools in force, which a planned compaction carries before its summary (store-pi-1.5 I4).
    Checkpoint,
    /// A result that was missing (compaction 6.3).
    Missing(Arc<MissingResult>),
}

/// What was done to a message.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// A tool result became one text: its sizes tell themselves, and a preview makes hundreds of these.
    OneText {
        /// Its chars.
        chars: f64,
        /// How it is made: one of the edits that messages share.
        edit: SharedIx,
    },
    /// Anything else.
    Whole(Arc<Whole>),
}

/// An edit that messages of a list share ([`List::share`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SharedIx(u32);

/// A change told whole.
#[derive(Debug, Clone, PartialEq)]
pub struct Whole {
    /// Its sizes now.
    pub size: MessageSize,
    /// How its text is made, from the one it comes from.
    pub edits: Vec<Edit>,
    /// Its texture now, where textures are known.
    pub texture: Option<Texture>,
}

impl Change {
    /// Of a message that stands in no file: nothing is done to it, it is like this.
    pub fn made(size: MessageSize, texture: Texture) -> Self {
        Self::whole(size, Vec::new(), Some(texture))
    }

    /// Told whole.
    pub fn whole(size: MessageSize, edits: Vec<Edit>, texture: Option<Texture>) -> Self {
        Self::Whole(Arc::new(Whole { size, edits, texture }))
    }

    /// Its sizes now, from those before any change; of one that stands in no file they are its own.
    #[inline]
    pub fn size(&self, before: &MessageSize) -> MessageSize {
        match self {
            Self::OneText { chars, .. } => one_text(before, *chars),
            Self::Whole(whole) => whole.size,
        }
    }

    /// How its text is made, from the one it comes from; `shared` are the edits that messages of its list share.
    pub fn edits<'a>(&'a self, shared: &'a [Edit]) -> &'a [Edit] {
        match self {
            Self::OneText { edit, .. } => std::slice::from_ref(&shared[edit.0 as usize]),
            Self::Whole(whole) => &whole.edits,
        }
    }

    /// How many edits make its text.
    pub fn edit_count(&self) -> usize {
        match self {
            Self::OneText { .. } => 1,
            Self::Whole(whole) => whole.edits.len(),
        }
    }

    /// Its texture now, where it is known.
    pub fn texture(&self) -> Option<&Texture> {
        match self {
            Self::OneText { .. } => None,
            Self::Whole(whole) => whole.texture.as_ref(),
        }
    }
}

/// One message of a list. Small: most messages are never touched, and lists are copied for every call of a replay.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// Where it comes from.
    pub from: From,
    /// What was done to it; none when nothing was. A message that stands in no file has one always.
    pub change: Option<Change>,
}

impl Item {
    /// How its text is made; `shared` are the edits that messages of its list share.
    pub fn edits<'a>(&'a self, shared: &'a [Edit]) -> &'a [Edit] {
        self.change.as_ref().map_or(&[], |change| change.edits(shared))
    }

    /// How many edits make its text.
    pub fn edit_count(&self) -> usize {
        self.change.as_ref().map_or(0, Change::edit_count)
    }

    /// Its position in the context, where it stands there.
    pub fn position(&self) -> Option<usize> {
        match self.from {
            From::Context(at) => Some(at as usize),
            _ => None,
        }
    }
}

/// A result that was missing, at its place. When it is invented changes neither its sizes nor its texture.
impl core::convert::From<MissingResult> for Item {
    fn from(missing: MissingResult) -> Self {
        let message = missing.message(0.0);
        let size = size_message(&message).size;
        let change = Change::made(size, Texture::of(&message));
        Self { from: From::Missing(Arc::new(missing)), change: Some(change) }
    }
}

/// The textures of a context.
#[derive(Debug, Clone, Copy)]
pub enum Textures<'a> {
    /// One for each message, in order.
    All(&'a [Texture]),
    /// Whoever knows them.
    Of(&'a dyn TextureAt),
}

/// Something that knows textures of messages.
pub trait TextureAt: std::fmt::Debug + Sync {
    /// That of the message at a position of the context.
    fn texture_at(&self, at: usize) -> Option<&Texture>;

    /// Where changes of these messages are kept from list to list; `None` if they are not.
    fn edit_cache(&self) -> Option<&EditCache> {
        None
    }
}

impl<'a> Textures<'a> {
    fn get(self, at: usize) -> Option<&'a Texture> {
        match self {
            Self::All(textures) => textures.get(at),
            Self::Of(textures) => textures.texture_at(at),
        }
    }

    fn edit_cache(self) -> Option<&'a EditCache> {
        match self {
            Self::All(_) => None,
            Self::Of(textures) => textures.edit_cache(),
        }
    }
}

/// The messages between two steps.
#[derive(Debug, Clone)]
pub struct List<'a> {
    /// The context they come from.
    pub context: &'a Context,
    /// Those of the messages of the context, where they were read.
    pub textures: Option<Textures<'a>>,
    /// The messages, in order.
    items: Vec<Item>,
    /// Edits that many messages share.
    shared: Vec<Edit>,
    /// A message may stand elsewhere than in the context, or in no file.
    moved: bool,
    /// Something may have been done to a message, or to the list.
    edited: bool,
}

impl<'a> List<'a> {
    /// The messages of a context, nothing done yet.
    pub fn of(context: &'a Context, textures: Option<&'a [Texture]>) -> Self {
        let items =
            (0..context.messages.len()).map(|at| Item { from: From::Context(at as u32), change: None });
        let textures = textures.map(Textures::All);
        Self { moved: false, edited: false, ..Self::with(context, textures, items.collect()) }
    }

    /// These messages of a context, whatever was done to each of them by itself: none has an edit that it shares.
    pub fn with(context: &'a Context, textures: Option<Textures<'a>>, items: Vec<Item>) -> Self {
        Self { context, textures, items, shared: Vec::new(), moved: true, edited: true }
    }

    /// The messages, in order.
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// The messages, to take some away, add some, or put them in another order.
    pub fn items_mut(&mut self) -> &mut Vec<Item> {
        (self.moved, self.edited) = (true, true);
        &mut self.items
    }

    /// The messages, and the edits that some of them share.
    pub fn into_parts(self) -> (Vec<Item>, Vec<Edit>) {
        (self.items, self.shared)
    }

    /// How the text of a message is made.
    pub fn edits(&self, at: usize) -> &[Edit] {
        self.items[at].edits(&self.shared)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The sizes of a message as it is now.
    #[inline]
    pub fn size(&self, at: usize) -> MessageSize {
        let Item { from, change } = &self.items[at];
        let before = match from {
            From::Context(position) => &self.context.messages[*position as usize].size,
            From::Summary | From::Checkpoint | From::Missing(_) => &MessageSize::NOTHING,
        };
        change.as_ref().map_or(*before, |change| change.size(before))
    }

    /// The texture of a message as it is now; none where textures were not read.
    pub fn texture(&self, at: usize) -> Option<&Texture> {
        let item = &self.items[at];
        match (item.change.as_ref().and_then(Change::texture), &item.from) {
            (Some(texture), _) => Some(texture),
            (None, From::Context(position)) => self.textures?.get(*position as usize),
            (None, _) => None,
        }
    }

    /// The sizes of every message.
    pub fn sizes(&self) -> impl DoubleEndedIterator<Item = MessageSize> + ExactSizeIterator {
        (0..self.items.len()).map(|at| self.size(at))
    }

    /// What pruning asks of the messages as they are now.
    pub fn columns(&self) -> Cow<'_, Columns> {
        if self.edited {
            Cow::Owned(Columns::of(self.sizes()))
        } else {
            Cow::Borrowed(self.context.messages.columns())
        }
    }

    /// The body of a message whose sizes do not tell what trimming makes of it, as it is now.
    pub fn odd(&self, at: usize) -> Option<Arc<Value>> {
        let item = &self.items[at];
        let body = self.context.odd.get(&item.position()?)?;
        let edits = self.edits(at);
        Some(if edits.is_empty() { Arc::clone(body) } else { Arc::new(apply_all(edits, body)) })
    }

    /// Adds an edit to a message; `texture` is what it leaves, where that is known.
    pub fn edit(&mut self, at: usize, edit: Edit, size: MessageSize, texture: Option<Texture>) {
        self.edited = true;
        let change = &mut self.items[at].change;
        let mut edits = match change.take() {
            Some(Change::Whole(whole)) => Arc::unwrap_or_clone(whole).edits,
            other => other.map_or(Vec::new(), |change| change.edits(&self.shared).to_vec()),
        };
        edits.push(edit);
        *change = Some(Change::whole(size, edits, texture));
    }

    /// Keeps an edit for [`edit_to_text`](Self::edit_to_text): it is told once, however many messages it makes.
    pub fn share(&mut self, edit: Edit) -> SharedIx {
        self.shared.push(edit);
        SharedIx(self.shared.len() as u32 - 1)
    }

    /// Makes a tool result one text of so many chars. Where more is known of it, or was done to it, all of that is told.
    pub fn edit_to_text(&mut self, at: usize, chars: f64, edit: SharedIx) {
        if self.textures.is_none() && self.items[at].change.is_none() {
            self.edited = true;
            self.items[at].change = Some(Change::OneText { chars, edit });
            return;
        }
        let edit = self.shared[edit.0 as usize].clone();
        let size = one_text(&self.size(at), chars);
        match self.texture(at) {
            Some(_) => {
                self.change(at, edit, |edit, before, texture| (size, edit.foretell(before, texture).1))
            }
            None => self.edit(at, edit, size, None),
        }
    }

    /// Makes an edit, its sizes and its texture told from those it has now. Without a texture nothing is told.
    pub fn make(&mut self, at: usize, edit: Edit) {
        self.change(at, edit, Edit::foretell);
    }

    /// Adds an edit to a message that has a texture; `foretell` says what it leaves, unless that is still known.
    fn change(
        &mut self,
        at: usize,
        edit: Edit,
        foretell: impl FnOnce(&Edit, &MessageSize, &Texture) -> (MessageSize, Texture),
    ) {
        let Some(texture) = self.texture(at) else { return };
        let before = self.edits(at);
        let make = || {
            let (size, texture) = foretell(&edit, &self.size(at), texture);
            let edits = before.iter().chain([&edit]).cloned().collect();
            Whole { size, edits, texture: Some(texture) }
        };
        let cache = self.textures.and_then(Textures::edit_cache);
        let change = match (cache, self.items[at].position()) {
            (Some(cache), Some(position)) => cache.change(position, before, &edit, make),
            _ => Arc::new(make()),
        };
        self.edited = true;
        self.items[at].change = Some(Change::Whole(change));
    }

    /// The name of a result's tool as it is now: any JSON value, or absent.
    pub fn tool<'w>(&self, at: usize, words: &'w Words) -> Option<Cow<'w, Value>> {
        let named = |name: &JsString| Some(Cow::Owned(Value::String(name.clone())));
        let item = &self.items[at];
        let renamed = self.edits(at).iter().rev().find_map(|edit| match edit {
            Edit::ToolName(name) => named(name),
            _ => None,
        });
        renamed.or_else(|| match &item.from {
            From::Missing(missing) => named(&missing.name),
            _ => words.value(self.size(at).tool).map(Cow::Borrowed),
        })
    }

    /// Keeps the messages from a position on.
    pub fn keep_from(&mut self, first: usize) {
        self.items_mut().drain(..first);
    }

    /// Whether it still holds every message of the context at its own position.
    pub fn is_whole(&self) -> bool {
        !self.moved
            || self.items.len() == self.context.messages.len()
                && self.items.iter().enumerate().all(|(at, item)| item.position() == Some(at))
    }
}
