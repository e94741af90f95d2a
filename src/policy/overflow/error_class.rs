//! Names the kind of an error that is no overflow, because each kind has another way out (overflow-texts 5).
//!
//! The patterns expect [`NormalizedText`](super::normalized::NormalizedText). The first class of the table that matches
//! wins: particular errors first, words that any error may contain last.

use std::sync::LazyLock;

use ErrorClass::{
    Auth, Billing, Compaction, Content, Field, Gateway, Lock, Media, MessageForm, Model, Other, Provider,
    Quota, RateLimit, ReplyReserve, RequestCeiling, Thinking, ToolPairing,
};
use regex::{RegexSet, RegexSetBuilder};

/// The kind of an error that is no overflow; its name is stable for scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorClass {
    /// Another process holds the session's lock, or left it behind.
    Lock,
    /// A tool call has no result, a result has no call, or an id is empty or twice there.
    ToolPairing,
    /// A thinking block has no valid signature, or is missing.
    Thinking,
    /// A message of the history has a form that the provider rejects.
    MessageForm,
    /// An image or a file is too large, or there are too many.
    Media,
    /// The reply's reservation is larger than the model allows, or fills the window.
    ReplyReserve,
    /// One request needs more than the plan allows in a minute.
    RequestCeiling,
    /// No credit is left.
    Billing,
    /// A quota of hours, days or months is used up.
    Quota,
    /// Too many requests in a short time.
    RateLimit,
    /// The provider rejects key, login or permission.
    Auth,
    /// The provider does not serve the model.
    Model,
    /// A filter rejected the content.
    Content,
    /// A call for a compaction's summary failed.
    Compaction,
    /// The gateway stopped the run itself.
    Gateway,
    /// A field other than the messages is too long or too complex.
    Field,
    /// The provider did not answer: overloaded, down, or the connection broke.
    Provider,
    /// Any other error.
    Other,
}

impl ErrorClass {
    /// The name in JSON and on screen.
    pub fn as_str(self) -> &'static str {
        match self {
            Lock => "lock",
            ToolPairing => "tool-pairing",
            Thinking => "thinking",
            MessageForm => "message-form",
            Media => "media",
            ReplyReserve => "reply-reserve",
            RequestCeiling => "request-ceiling",
            Billing => "billing",
            Quota => "quota",
            RateLimit => "rate-limit",
            Auth => "auth",
            Model => "model",
            Content => "content",
            Compaction => "compaction",
            Gateway => "gateway",
            Field => "field",
            Provider => "provider",
            Other => "other",
        }
    }

    /// Whether the same call may be answered later without any change.
    pub fn waiting_helps(self) -> bool {
        matches!(self, RateLimit | Quota | Provider)
    }

    /// Whether the error passes by itself within minutes.
    pub fn is_transient(self) -> bool {
        matches!(self, RateLimit | Provider)
    }
}

/// Texts that name their class, whatever else they contain.
const PARTICULAR: &[(ErrorClass, &str)] = &[
    (
        Lock,
        r"session (?:file |write |store |transcript )?(?:is )?lock|sessionwritelock|\block (?:file|timeout|held)\b",
    ),
    (
        Lock,
        r"(?:acquire|obtain|get|waiting for)[^.]{0,40}\block\b|database is locked|sqlite_busy|held by (?:another )?(?:process|pid)",
    ),
    (ToolPairing, r"tool_result|tool_use[_. ]ids?\b|toolresult blocks?|tooluse blocks?|tool_use\.id"),
    (
        ToolPairing,
        r"tool[ _]?calls?\b[^.]{0,60}(?:must be followed|without (?:a )?(?:matching |corresponding )?(?:result|response|output)|did not have response|does not follow)",
    ),
    (
        ToolPairing,
        r"(?:tool_call_ids?|tool call ids?|call_ids?|tool id)\b[^.]{0,80}(?:not found|empty|invalid|required|missing|duplicate|unique|not? match|did not have|but must be|no (?:matching|corresponding))",
    ),
    (
        ToolPairing,
        r"(?:invalid|missing|empty|duplicate)[^.]{0,60}(?:tool_call_ids?|tool_calls|call_ids?\b|tool call ids?|\btool_use\b)|empty string[^.]{0,40}\bid\b|\bid\b[^.]{0,20}: empty string",
    ),
    (
        ToolPairing,
        r"no tool (?:call|output) found for|messages? with role:? tool\b|role tool (?:must|has|without)|unexpected role tool|tool (?:call )?results?\b[^.]{0,60}(?:not found|does not follow|without|no (?:matching|corresponding)|preceding)",
    ),
    (
        ToolPairing,
        r"function (?:call|response)(?: turn| parts?|s)?\b[^.]{0,80}(?:function (?:call|response)|immediately after|user turn)|same number of function calls",
    ),
    (
        Thinking,
        r"(?:invalid|missing|bad)[^.]{0,20}signature|signature[^.]{0,60}(?:thinking|reasoning|invalid)|thinking[^.]{0,60}(?:signature|cannot be modified|must (?:start|be passed|remain)|expected)",
    ),
    (
        Thinking,
        r"expected thinking or|redacted_thinking|thought_?signature|thought signature|encrypted[ _](?:reasoning[ _])?content|required (?:reasoning|following) item|without its required|reasoning_content\b[^.]{0,60}(?:pass|missing|required|must)|reasoning item",
    ),
    (
        MessageForm,
        r"roles? must alternate|alternate between user and|(?:content|text)(?: blocks?| field)? (?:must be|must not be|cannot be|is) (?:non-?)?empty|must have non-?empty content|(?:assistant )?message prefill|conversation must end with|first message must|at least one (?:user )?message|unexpected role",
    ),
    // A field of a message is too long, not one of the tools.
    (MessageForm, r"\b(?:messages|input|contents)[\[.][0-9]+\]?\.(?:content|parts)\b[^.]{0,20}too long"),
    (Compaction, r"(?:compaction|summari[sz]ation) failed"),
    // Whatever the status: providers refuse an unpaid account with 400, 401, 403 and 429.
    (
        Billing,
        r"(?:\bno|\bany|enough|insufficient|more|out of|prepaid|prepayment|remaining)[ _-](?:account )?(?:credits?|balance|funds)\b|credits? (?:balance )?(?:(?:are|is|have been|has been|was|were) )?(?:depleted|exhausted|used up|insufficient|too low)|balance (?:is |was )?(?:insufficient|too low|not enough|exhausted|negative)|credit balance|arrear|overdue|good standing|payment[ _](?:required|instrument|method)|extra usage is required|余额不足|欠费|账户余额",
    ),
    // A model without eyes refuses the image as well as one that finds it too large.
    (
        Media,
        r"(?:not|cannot|nt|n't) (?:support|accept|handle|process|take)[^.]{0,30}(?:image|vision|multimodal)|images? (?:inputs? )?(?:is|are) not (?:supported|allowed|accepted)|image_url[^.]{0,60}expected|without vision",
    ),
    (
        Gateway,
        r"guard_blocked|blocked by (?:the )?(?:gateway|guard|hook|plugin)|tool[ -]loop (?:detected|guard)|loop detect|failed before reply|no api provider registered|unknown provider\b|hook [^.]{0,40}(?:failed|rejected|blocked)|run (?:was )?(?:blocked|rejected) by",
    ),
];

/// Texts of money, quotas and rates, for an error that is about one of them.
const ALLOWANCES: &[(ErrorClass, &str)] = &[
    (RateLimit, r"quota\b.*?per_?minute"),
    (Quota, r"quota exceeded for metric|free_tier"),
    (
        Billing,
        r"insufficient[ _-](?:account )?(?:balance|funds|credits?)|credit balance|more credits|out of credits?|no credits?\b|payment required|recharge|top up|in arrears|overdue|spending limit|spend limit|budget[^.]{0,30}exceeded|exceeded[^.]{0,20}budget|余额不足|欠费|账户余额|充值",
    ),
    (
        Billing,
        r"billing[ _](?:hard[ _]limit|not|account|issue|error|details)|check your plan and billing|insufficient_quota",
    ),
    (
        Quota,
        r"(?:per|a|/) ?(?:day|week|month)\b|\b[tr]pd\b|daily|weekly|monthly|usage[ _]limit|5-hour|[0-9]-?h(?:our)? limit|quota|配额|额度",
    ),
    (RateLimit, r"."),
];

/// Other texts, in the order of how particular they are.
const GENERAL: &[(ErrorClass, &str)] = &[
    (
        Auth,
        r"unauthori[sz]ed|\bforbidden\b|api[ _-]?key|authenticate|authenticating|authentication|authoriz|\boauth\b|permission[_ ]denied|access denied|invalid_grant|credentials?\b|not logged in|log ?in again|token (?:has |is )?(?:expired|invalid|revoked)|\b40[13] \w*|\b40[13]$|没有权限|鉴权|无效的令牌",
    ),
    (Model, r"out of memory|more system memory|failed to load model"),
    (
        Model,
        r"model\b[^.]{0,80}(?:not found|not exist|not supported|does not support|decommission|deprecated|no longer|retired|not available|unavailable for|unknown)|(?:unknown|unsupported|invalid|no such) model|no endpoints found|model_not_found|模型不存在",
    ),
    (
        Content,
        r"content[ _]?(?:filter|policy|management)|safety (?:system|reason|filter|setting)|\bflagged\b|prohibited|responsible ai|violat(?:e|es|ed|ing|ion)\b[^.]{0,80}polic|内容安全|敏感",
    ),
    (
        Media,
        r"could not process (?:the )?image|(?:invalid|unsupported|corrupt)[^.]{0,30}(?:image|media|pdf|file type)|image[^.]{0,60}(?:too large|exceed|not (?:a )?valid|unsupported)|media[_ ]type|图片",
    ),
    (
        Provider,
        r"overload|timed? ?-?out|terminated|connection|econn|enotfound|eai_again|epipe|socket|fetch failed|network|internal (?:server |stream )?error|server[ _]error|bad gateway|service unavailable|unavailable|upstream|stream (?:ended|closed|error|read)|premature|unterminated string|unexpected end|<html|<!doctype|try again|temporary|temporarily|at capacity|high demand|繁忙|稍后",
    ),
    (
        Provider,
        r"^(?:error:? |http |status |\w+error:? )*(?:408|409|425|5[0-9][0-9])\b|\b(?:status|code|http)(?: code)?[:= ]+(?:408|5[0-9][0-9])\b",
    ),
    (Provider, r"cuda|model (?:is )?loading|no models? loaded"),
];

/// A table compiled to one set; a pattern that does not compile matches nothing.
struct ClassTable {
    classes: &'static [(ErrorClass, &'static str)],
    set: RegexSet,
}

impl ClassTable {
    fn new(classes: &'static [(ErrorClass, &'static str)]) -> Self {
        let patterns = classes.iter().map(|(_, pattern)| pattern.replace(r"\b", r"(?-u:\b)"));
        let set = RegexSetBuilder::new(patterns).size_limit(1 << 26).build();
        Self { classes, set: set.unwrap_or_else(|_| RegexSet::empty()) }
    }

    fn first(&self, plain: &str) -> Option<ErrorClass> {
        let at = self.set.matches(plain).iter().next()?;
        self.classes.get(at).map(|(class, _)| *class)
    }
}

static PARTICULAR_TABLE: LazyLock<ClassTable> = LazyLock::new(|| ClassTable::new(PARTICULAR));
static ALLOWANCE_TABLE: LazyLock<ClassTable> = LazyLock::new(|| ClassTable::new(ALLOWANCES));
static GENERAL_TABLE: LazyLock<ClassTable> = LazyLock::new(|| ClassTable::new(GENERAL));

/// Returns the class of an error that is no overflow. `rule` is the look-alike that ruled the overflow out.
pub(super) fn class_of(plain: &str, rule: &str, numbers: RefusalNumbers) -> ErrorClass {
    if let Some(class) = PARTICULAR_TABLE.first(plain) {
        return class;
    }
    match rule {
        "L1" => allowance(plain, numbers),
        "L2" => ReplyReserve,
        "L3" => Media,
        "L4" => Field,
        _ if is_allowance(plain) => allowance(plain, numbers),
        _ => GENERAL_TABLE.first(plain).unwrap_or(Other),
    }
}

/// Whether a status says what the words do not: 402 is money, 429 a rate.
fn is_allowance(plain: &str) -> bool {
    let status = plain.trim_start_matches("error:").trim_start().trim_start_matches("http ");
    status.starts_with("402") || status.starts_with("429")
}

/// Parts money from quotas and rates. A request above the whole allowance is refused however long one waits.
fn allowance(plain: &str, numbers: RefusalNumbers) -> ErrorClass {
    if matches!((numbers.requested, numbers.limit), (Some(requested), Some(limit)) if requested > limit) {
        return RequestCeiling;
    }
    let status = plain.trim_start_matches("error:").trim_start();
    if status.starts_with("402") {
        return Billing;
    }
    ALLOWANCE_TABLE.first(plain).unwrap_or(RateLimit)
}

/// The numbers of a refusal, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RefusalNumbers {
    /// The prompt, plus the requested reply if the provider adds it.
    pub requested: Option<u64>,
    pub limit: Option<u64>,
    /// The prompt's part of a sum that the text splits.
    pub input: Option<u64>,
    /// The reply's part of that sum: the tokens reserved for the answer.
    pub output: Option<u64>,
}

#[cfg(test)]
#[path = "error_class_tests.rs"]
mod tests;
