//! Alerts of the screen: every listed session is observed when its transcript was counted again.

use std::collections::HashSet;

use crate::app::effect::Effect;
use crate::app::state::App;
use crate::ids::SessionKey;
use crate::session::SessionItem;

impl App {
    /// Drops the notice on the screen, and the alert that waits for its end.
    pub fn forget_notices(&mut self) {
        (self.toast, self.waiting_alert) = (None, None);
    }

    /// Notes which sessions of a listing are new since the last one; `another` is another store.
    pub(super) fn expect_new_sessions(&mut self, items: &[SessionItem], another: bool) {
        if another {
            return self.alerts.reset();
        }
        let known: HashSet<&SessionKey> = self.sessions.items.iter().map(|item| &item.key).collect();
        items
            .iter()
            .filter(|item| !known.contains(&item.key))
            .for_each(|item| self.alerts.expect_new(&item.key));
    }

    /// Observes sessions; shows the last alert and requests the rest of each.
    pub(super) fn observe_fullness(&mut self, items: &[SessionItem]) -> Vec<Effect> {
        let now_ms = self.now_ms;
        let raised: Vec<_> = items.iter().filter_map(|item| self.alerts.observe(item, now_ms)).collect();
        if let Some(alert) = raised.last() {
            self.show_alert(alert.message());
        }
        raised.into_iter().map(Effect::Alert).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::event::{Event, StoreListing};
    use crate::app::state::Options;
    use crate::session::fullness_alert::AlertLevels;
    use crate::session::testing;
    use crate::units::Moment;

    fn item(key: &str, tokens: u64) -> SessionItem {
        let mut item = testing::loaded_session("", 1.0).item;
        (item.key, item.window, item.entries) = (SessionKey(key.to_owned()), 1_000, Some(3));
        item.tokens = Some(crate::session::TokenCount { tokens, ..Default::default() });
        item
    }

    fn alerts(app: &mut App, event: Event) -> Vec<String> {
        let effects = app.update(event, Moment(1.0));
        let alert = |effect| match effect {
            Effect::Alert(alert) => Some(format!("{} {}", alert.key, alert.level)),
            _ => None,
        };
        effects.into_iter().filter_map(alert).collect()
    }

    #[test]
    fn an_alert_waits_for_the_notice_of_what_the_person_did() {
        let mut app = App::new(Options::default(), (80, 24));
        let text = |app: &App| app.toast.as_ref().map(|toast| toast.text.clone());
        app.update(Event::Timer, Moment(1.0));
        app.show_toast("Undone".to_owned(), false);
        app.show_alert("102% full".to_owned());
        assert_eq!(text(&app).as_deref(), Some("Undone"));
        let until_ms = app.toast.as_ref().unwrap().until_ms;
        app.update(Event::Timer, until_ms);
        assert_eq!(text(&app).as_deref(), Some("102% full"));
        let until_ms = app.toast.as_ref().unwrap().until_ms;
        app.update(Event::Timer, until_ms);
        assert_eq!(text(&app), None);
        app.show_alert("95% full".to_owned());
        app.show_note("no marks".to_owned());
        assert_eq!(text(&app).as_deref(), Some("no marks"));
        let until_ms = app.toast.as_ref().unwrap().until_ms;
        app.update(Event::Timer, until_ms);
        assert_eq!(text(&app).as_deref(), Some("95% full"), "an alert that a note covered comes back");
    }

    #[test]
    fn a_listed_session_alerts_when_it_fills_and_not_when_it_was_full() {
        let levels = AlertLevels::new(&[0.8]);
        let mut app = App::new(Options { alerts: levels, ..Options::default() }, (80, 24));
        let listing = |items: &[SessionItem]| {
            let items = items.iter().cloned().map(|item| SessionItem { entries: None, ..item }).collect();
            Event::Listed(Box::new(StoreListing { items, ..StoreListing::default() }))
        };
        let known = [item("quiet", 100), item("full", 900)];
        assert!(alerts(&mut app, listing(&known)).is_empty());
        assert!(alerts(&mut app, Event::ItemsCounted(known.to_vec())).is_empty(), "where they stand");
        assert_eq!(alerts(&mut app, Event::ItemsCounted(vec![item("quiet", 850)])), ["quiet 0.8"]);
        assert!(app.toast.as_ref().unwrap().text.contains("quiet"));
        assert!(alerts(&mut app, Event::ItemsCounted(vec![item("quiet", 870)])).is_empty());
        assert!(alerts(&mut app, Event::ItemsCounted(vec![item("quiet", 300)])).is_empty());
        assert_eq!(alerts(&mut app, Event::ItemsCounted(vec![item("quiet", 850)])), ["quiet 0.8"]);
        alerts(&mut app, listing(&[item("quiet", 850), item("full", 900), item("new", 0)]));
        assert_eq!(alerts(&mut app, Event::ItemsCounted(vec![item("new", 990)])), ["new 0.8"]);
    }
}
