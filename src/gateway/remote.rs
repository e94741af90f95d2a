//! The configuration of a client: the gateway, its sessions and its settings are on another host.

use std::path::PathBuf;

use crate::diagnostic::{Diagnostic, Severity};
use crate::js::{JsString, Value};

/// Warns about a configuration in mode `remote`; `None` for any other.
pub(super) fn remote_diagnostic(config: &Value, place: (PathBuf, Option<u32>)) -> Option<Diagnostic> {
    let gateway = config.get("gateway")?;
    if !gateway.get("mode")?.str_is("remote") {
        return None;
    }
    let remote = gateway.get("remote");
    let text = |key: &str| {
        remote.and_then(|remote| remote.get(key)).and_then(Value::as_str).map(JsString::to_string_lossy)
    };
    let ssh = text("sshTarget").filter(|target| is_shell_safe(target));
    let host = ssh.clone().or_else(|| text("url").as_deref().and_then(host_of).map(str::to_owned));
    let (path, line) = place;
    let mut what =
        "gateway.mode is \"remote\": the active sessions and settings are on the gateway's host".to_owned();
    if let Some(host) = &host {
        what = format!("{what}, {host}");
    }
    let run =
        host.map_or_else(|| "the gateway's host".to_owned(), |host| format!("it: ssh -t {host} clawscope"));
    let next = format!(
        "run clawscope on {run}, or copy its state dir here and pass the copy. clawscope shows only the files \
         of this machine"
    );
    Some(Diagnostic {
        path,
        line: line.map(u64::from),
        subject: None,
        severity: Severity::Warning,
        message: what,
        advice: next,
    })
}

/// The host of an address, without user and port.
fn host_of(url: &str) -> Option<&str> {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    let host =
        if host.starts_with('[') { host.split_inclusive(']').next()? } else { host.split(':').next()? };
    Some(host).filter(|host| is_shell_safe(host))
}

/// Whether a name needs no quotes in a command line.
fn is_shell_safe(name: &str) -> bool {
    let plain = |char: char| char.is_ascii_alphanumeric() || ".-_@[]:".contains(char);
    !name.is_empty() && !name.starts_with('-') && name.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::js::parse;

    fn said(config: &str) -> Option<String> {
        remote_diagnostic(&parse(config).unwrap(), (PathBuf::from("/c.json"), Some(3)))
            .map(|finding| finding.to_string())
    }

    #[test]
    fn the_gateway_host_is_named_without_credentials() {
        let words = said(
            r#"{"gateway":{"mode":"remote","remote":{"url":"wss://me:secret@gw.example:18789/ws?token=t","token":"t"}}}"#,
        );
        let words = words.unwrap();
        assert!(words.contains("ssh -t gw.example clawscope") && !words.contains("secret"), "{words}");
        let ssh =
            said(r#"{"gateway":{"mode":"remote","remote":{"url":"ws://[::1]:1","sshTarget":"mei@pi"}}}"#)
                .unwrap();
        assert!(ssh.contains("ssh -t mei@pi clawscope"), "{ssh}");
        let none =
            said(r#"{"gateway":{"mode":"remote","remote":{"sshTarget":"-oProxyCommand=x"}}}"#).unwrap();
        assert!(none.contains("Run clawscope on the gateway's host"), "{none}");
    }

    #[test]
    fn a_gateway_of_this_host_needs_no_word() {
        for config in ["{}", r#"{"gateway":{"mode":"local"}}"#, r#"{"gateway":{"remote":{"url":"ws://x"}}}"#]
        {
            assert_eq!(said(config), None);
        }
    }
}
