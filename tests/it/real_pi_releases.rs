//! The transcripts of the golden cases, read by releases of the real pi: every file has the context, the weights and
//! the text for the summariser as in the release. Says `skipped: …` where a release is not here.

use std::fs;
use std::path::{Path, PathBuf};

use clawscope::context::bodies;
use clawscope::context::tokens::estimate_message;
use clawscope::gateway::registry::Provenance;
use clawscope::gateway::ruleset::RulesetChoice;
use clawscope::js;
use clawscope::policy::compact::conversation_text_for;
use clawscope::session::LoadedSession;
use clawscope::store::index::OpenStatus;

use crate::support::inspected::inspected_under;
use crate::support::pi_bundles::{Bundle, Read};
use crate::support::sorted::sorted;
use clawscope::units::Tokens;

/// One published release of each ruleset that has a separate bundle.
const RELEASES: [&str; 8] = ["0.85.1", "0.86.1", "0.87.1", "0.99.1", "1.3.0", "1.4.0", "1.5.0", "1.5.2"];

fn transcripts() -> Vec<PathBuf> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let listed = |set: &str| fs::read_dir(tests.join(set).join("transcripts")).unwrap();
    let mut paths: Vec<PathBuf> =
        ["golden", "golden-pi-1.5"].into_iter().flat_map(listed).map(|item| item.unwrap().path()).collect();
    paths.sort();
    paths
}

/// Whether the runtime opens a session and builds its context.
fn is_read(session: &LoadedSession) -> bool {
    session.index.open_status == OpenStatus::Opens && !session.context_throws
}

fn same(release: &str, path: &Path, session: &LoadedSession, theirs: &Read) {
    let name = format!("pi {release}: {}", path.display());
    let messages = bodies::read_messages(&session.source, &session.index, &session.context).expect("bodies");
    let own: Vec<String> = messages.iter().map(sorted).collect();
    let context: Vec<String> = theirs.context.iter().map(|json| sorted(&js::parse(json).unwrap())).collect();
    assert_eq!(own, context, "{name}");
    let sizes = session.context.messages.iter().map(|message| estimate_message(&message.size).ok());
    let tokens: Vec<Option<f64>> =
        sizes.map(|tokens| tokens.map(Tokens::get).filter(|tokens| tokens.is_finite())).collect();
    // A content that is neither text nor list throws since 0.76; here it counts 0.
    let weighed = tokens.iter().zip(&theirs.tokens).filter(|(_, theirs)| theirs.is_some());
    assert!(weighed.into_iter().all(|(own, theirs)| own == theirs), "{name}: {tokens:?} {:?}", theirs.tokens);
    let text = conversation_text_for(session.index.pi_release, &messages).ok();
    assert_eq!(text, theirs.text, "{name}: text");
}

#[test]
fn every_pi_release_reads_a_file_as_clawscope_under_its_rules() {
    let paths = transcripts();
    for release in RELEASES {
        let Some(bundle) = Bundle::find(release) else { continue };
        let requested = RulesetChoice::from_version(&format!("pi-{release}"), Provenance::Flag).unwrap();
        let mut read = 0;
        for (path, theirs) in paths.iter().zip(bundle.read(&paths)) {
            let session = inspected_under(path, Some(&requested));
            let Some(theirs) = theirs else {
                assert!(!is_read(&session), "pi {release} does not read {}", path.display());
                continue;
            };
            same(release, path, &session, &theirs);
            read += 1;
        }
        assert!(read > 60, "pi {release} read {read} of {} files", paths.len());
    }
}
