//! The views over the main screen, the newest on top. Opening one covers the others, which keep their state.

#[derive(Debug, Clone)]
pub struct ViewStack<View> {
    /// From the bottom up.
    views: Vec<View>,
}

impl<View> Default for ViewStack<View> {
    fn default() -> Self {
        Self { views: Vec::new() }
    }
}

impl<View> ViewStack<View> {
    pub fn top(&self) -> Option<&View> {
        self.views.last()
    }

    pub fn top_mut(&mut self) -> Option<&mut View> {
        self.views.last_mut()
    }

    /// Every view, from the bottom up.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &View> {
        self.views.iter()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut View> {
        self.views.iter_mut()
    }

    /// Returns the first result of `pick` over the views, from the top down.
    pub fn find<'a, T>(&'a self, pick: impl FnMut(&'a View) -> Option<T>) -> Option<T> {
        self.views.iter().rev().find_map(pick)
    }

    /// Returns the first result of `pick` over the views, from the top down.
    pub fn find_mut<'a, T>(&'a mut self, pick: impl FnMut(&'a mut View) -> Option<T>) -> Option<T> {
        self.views.iter_mut().rev().find_map(pick)
    }

    /// Puts a view on top; one of the same kind below leaves the stack, so that going back and forth between two
    /// screens does not pile them up.
    pub(super) fn push(&mut self, view: View) {
        let kind = std::mem::discriminant(&view);
        self.views.retain(|known| std::mem::discriminant(known) != kind);
        self.views.push(view);
    }

    /// Closes the top view.
    pub(super) fn pop(&mut self) -> Option<View> {
        self.views.pop()
    }

    pub(super) fn retain(&mut self, keep: impl FnMut(&View) -> bool) {
        self.views.retain(keep);
    }

    /// Closes every view.
    pub(super) fn clear(&mut self) {
        self.views.clear();
    }

    /// Returns the topmost view that covers the screen, and the small windows over it from the bottom up.
    pub fn visible(&self, is_dialog: impl Fn(&View) -> bool) -> (Option<&View>, &[View]) {
        let page = self.views.iter().rposition(|view| !is_dialog(view));
        let windows = page.map_or(0, |page| page + 1);
        (page.map(|page| &self.views[page]), &self.views[windows..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone, PartialEq)]
    enum View {
        Page(u8),
        Other,
        Window,
    }

    fn is_dialog(view: &View) -> bool {
        *view == View::Window
    }

    #[test]
    fn a_view_opened_again_leaves_its_old_place() {
        let mut stack = ViewStack::default();
        for view in [View::Page(1), View::Other, View::Page(2)] {
            stack.push(view);
        }
        assert_eq!(stack.iter().cloned().collect::<Vec<_>>(), [View::Other, View::Page(2)]);
        assert_eq!(stack.pop(), Some(View::Page(2)));
        assert_eq!(stack.top(), Some(&View::Other));
    }

    #[test]
    fn windows_leave_the_page_below_them_visible() {
        let mut stack = ViewStack::default();
        assert_eq!(stack.visible(is_dialog), (None, &[][..]));
        stack.push(View::Window);
        assert_eq!(stack.visible(is_dialog), (None, &[View::Window][..]));
        stack.push(View::Other);
        assert_eq!(stack.visible(is_dialog), (Some(&View::Other), &[][..]));
        stack.push(View::Window);
        assert_eq!(stack.visible(is_dialog), (Some(&View::Other), &[View::Window][..]));
    }
}
