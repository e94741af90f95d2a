//! clawscope's own settings: any file is read, or refused with its name.

use std::fs::{self, File};
use std::io::Write as _;

use clawscope::app::keymap::Keymap;
use clawscope::config::{self, presets};
use clawscope::gateway::env::Environment;

pub fn keymap_is_read_or_refused(bytes: &[u8]) {
    if let Err(error) = Keymap::with_overrides(&String::from_utf8_lossy(bytes)) {
        assert!(!error.to_string().is_empty());
    }
}

/// Reads the bytes as a `config.toml`, a form feed, and a preset.
pub fn config_is_read_or_refused(bytes: &[u8]) {
    thread_local! {
        static HOME: tempfile::TempDir = tempfile::tempdir().unwrap();
    }
    HOME.with(|home| {
        let folder = home.path().join("clawscope");
        fs::create_dir_all(folder.join("presets")).unwrap();
        let mut env = Environment::default();
        env.set("XDG_CONFIG_HOME", home.path().to_str().unwrap());
        let mut texts = super::parts(bytes);
        for name in ["config.toml", "presets/mine.toml"] {
            let text = texts.next().unwrap_or_default();
            File::create(folder.join(name)).unwrap().write_all(text.as_bytes()).unwrap();
        }
        if let Err(error) = config::load(&env) {
            assert!(error.to_string().contains("config.toml"), "{error}");
        }
        for preset in presets::list_presets(&env) {
            if let Err(error) = preset.values {
                assert!(error.contains("mine.toml"), "{error}");
            }
        }
    });
}
