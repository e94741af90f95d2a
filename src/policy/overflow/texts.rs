//! The texts with which providers refuse a prompt larger than the context (overflow-texts 4), as data.
//!
//! The patterns expect [`NormalizedText`](super::normalized::NormalizedText): lower case, no quotation marks (`models`
//! is "model's"), single spaces. `{r}` is the number of tokens requested, `{l}` the limit, `{a}` the input part and
//! `{b}` the output part.

pub(super) struct OverflowText {
    /// Rule of overflow-texts section 4.
    pub(super) rule: &'static str,
    /// Lookalikes overrule the text.
    pub(super) is_weak: bool,
    pub(super) pattern: &'static str,
}

const fn strong(rule: &'static str, pattern: &'static str) -> OverflowText {
    OverflowText { rule, is_weak: false, pattern }
}

const fn weak(rule: &'static str, pattern: &'static str) -> OverflowText {
    OverflowText { rule, is_weak: true, pattern }
}

/// All texts in matching order, weak ones last.
pub(super) const TEXTS: &[OverflowText] = &[
    strong("T01", r"prompt is too long:? \(?{r}(?: tokens)?\)? ?(?:>=?|exceeds) ?{l}"),
    strong("T02", r"input length and max_tokens exceed (?:the )?context limit: {a} ?\+ ?{b} ?> ?{l}"),
    strong("T03", r"prompt is too long: {r},? (?:the )?model maximum context length: {l}"),
    strong(
        "T04",
        r"max_(?:completion_|new_|output_)?tokens is too large: {b}.*?context length is {l} tokens,? and your request has {a}",
    ),
    strong(
        "T05",
        r"context length is (?:only )?{l} tokens.*?requested {b} output tokens and your prompt contains (?:at least )?{a}.*?for a total of (?:at least )?{r}",
    ),
    strong("T05", r"context length is (?:only )?{l} tokens.*?for a total of (?:at least )?{r}"),
    strong(
        "T05",
        r"you passed {a} input tokens and requested {b} output tokens.*?context length is (?:only )?{l}",
    ),
    strong(
        "T06",
        r"maximum context length is {l}\b.*?requested (?:about |approximately |a total of |at least )?{r}(?: tokens| ?\()",
    ),
    strong(
        "T06",
        r"maximum context length is {l}\b.*?(?:messages|prompt|input|request|conversation)(?: \w+){0,3} (?:resulted in|contains?|has|have|is|used?) (?:about |approximately |at least )?{r}(?: input| prompt)? tokens",
    ),
    strong(
        "T07",
        r"exceeds? (?:the |this )?(?:models )?maximum context length of {l}(?: tokens)?(?:.*?requested (?:a total of |about )?{r} tokens)?",
    ),
    strong(
        "T08",
        r"\({r}(?: tokens)?\) exceeds? (?:the )?(?:models )?maximum (?:allowed )?(?:context |input )?length:? (?:of )?\(?{l}",
    ),
    strong("T09", r"exceeds? (?:the )?(?:models )?maximum context length:? \({l}"),
    strong(
        "T10",
        r"input length:? \(?{r}(?: tokens)?\)? exceeds? (?:the )?(?:max(?:imum)? (?:allowed )?(?:input |context )?length|model(?:s)? limit)(?:(?: of|:| is)? \(?{l})?",
    ),
    strong(
        "T11",
        r"input token count(?:(?: of| is|:)? ?\(?{r}\)?)? exceeds? the max(?:imum)?(?: number of (?:input )?tokens(?: allowed)?(?:(?: of| is|:)? ?\(?{l})?)?",
    ),
    strong("T12", r"input token count is {r},? but (?:the )?model (?:only )?supports up to {l}"),
    strong("T13", r"maximum prompt length is {l}(?: tokens)?,? but (?:the|your) request contains {r}"),
    strong("T13", r"maximum prompt length is {l}"),
    strong(
        "T14",
        r"prompt token count(?: of| is|:)? ?\(?{r}\)? exceeds the (?:limit|maximum)(?: of|:| is)? ?\(?{l}",
    ),
    strong(
        "T15",
        r"(?:request|prompt)(?: \({r} tokens\))? exceeds (?:the )?available context size(?: \({l} tokens\))?",
    ),
    strong("T16", r"keep the first {r} tokens when.*?context length of (?:only )?{l}"),
    strong("T17", r"greater than the context length(?:.{0,40}?n_keep: ?{r}.{0,8}?n_ctx: ?{l})?"),
    strong("T17", r"n_keep ?[:=]? ?\(?{r}\)?[ ,;)]*>=? ?n_ctx ?[:=]? ?\(?{l}"),
    strong("T17", r"reached context length of {l}"),
    strong("T17", r"context size has been exceeded"),
    strong("T18", r"exceeded (?:the )?model token limit(?: ?: ?{l})?(?: ?\(requested: ?{r}\))?"),
    strong("T19", r"prompt contains {r} tokens.*?too large for model with {l} maximum context length"),
    strong("T19", r"too large for model with {l} maximum context length"),
    strong("T20", r"prompt has {r} tokens,? but (?:the )?configured context size is {l}"),
    strong("T21", r"prompt (?:is )?too long[;:,.]? exceeded (?:the )?(?:max(?:imum)? )?context length"),
    strong("T22", r"range of input length should be \[ ?[0-9]+ ?, ?{l} ?\]"),
    strong(
        "T23",
        r"total number of tokens.{0,40}? cannot exceed {l}(?: tokens)?(?: ?[-–—,;] ?received {r})?",
    ),
    strong("T24", r"inputs must have less than {l} tokens(?:\.? given: ?{r})?"),
    strong(
        "T25",
        r"inputs tokens \+ max_new_tokens must be <= ?{l}\.? given: {a} inputs tokens and {b} max_new_tokens",
    ),
    strong("T26", r"prompt \(length {r}\) is longer than the maximum model length of {l}"),
    strong(
        "T26",
        r"\((?:total )?(?:prompt )?length:? {r}(?: tokens)?\) is (?:longer|larger|greater) than (?:the )?(?:models? )?max(?:imum)? (?:model |context |sequence )?length(?: of| is|:)? ?\(?{l}",
    ),
    strong(
        "T26",
        r"\((?:total )?length:? {r}(?: tokens)?\) is too (?:long|large) to fit (?:into|in) (?:the )?model \((?:context |maximum )?length:? {l}",
    ),
    strong("T26", r"input prompt \({r} tokens\) is too long and exceeds (?:the )?limit of {l}"),
    strong("T27", r"input \({r} tokens\) is longer than the models? context length \({l}"),
    strong("T28", r"max input tokens: {l},? request input token count: {r}"),
    strong("T29", r"input is too long for (?:the )?(?:requested|this) model"),
    strong(
        "T29",
        r"number of (?:input|prompt) tokens(?: \(?{r}\)?)? exceeds?(?: the (?:limit|maximum)(?: of|:)? \(?{l})?",
    ),
    strong("T30", r"input tokens exceed the configured limit of {l}(?: tokens)?(?:.*?resulted in {r})?"),
    strong("T31", r"current length is {r},? while (?:the )?limit is {l}"),
    strong("T32", r"body too large for .{1,80}? model\.? max size: {l} tokens"),
    strong("T33", r"total tokens of image and text exceed max message tokens"),
    strong("T36", r"ran out of (?:room|space) in .{0,60}?context (?:window|length)"),
    strong(
        "T39",
        r"(?:total|input|prompt|number of) tokens(?: (?:of |is |are )?\(?{r}\)?)?.{0,80}? exceeds? (?:the |this )?models? (?:max(?:imum)?|limit)(?:(?: of| is|:)? ?\(?{l}\b)?",
    ),
    strong("T39", r"invalid_argument.*?maximum number of tokens|maximum number of tokens.*?invalid_argument"),
    strong("T42", r"size limit exceeded by [0-9][0-9,_]* tokens"),
    weak(
        "T34",
        r"prompt (?:length )?exceeds? (?:the )?max(?:imum)? (?:prompt )?length|(?:prompt|input|conversation)(?: tokens)? (?:is |are )?too long",
    ),
    weak(
        "T35",
        r"exceed(?:s|ed|ing)? (?:the |this |its |your )?(?:models? |configured )?(?:max(?:imum)? |available |allowed |total )?(?:model )?context (?:window|length|size|limit)",
    ),
    weak(
        "T35",
        r"context (?:window|length|size|limit)(?: \(?[0-9][0-9,]*(?: tokens)?\)?)?(?: is| was| has been| have been)? exceed(?:s|ed)\b",
    ),
    weak("T35", r"\bcontext overflow\b"),
    weak(
        "T37",
        r"input length exceeds the context length|exceeds? the models maximum context|maximum context length",
    ),
    weak("T38", r"reduce the length of (?:the |your )?(?:input )?(?:messages|prompt|input)"),
    weak(
        "T40",
        r"model token limit|token limit (?:is |was |has been )?exceeded|exceed(?:s|ed) (?:the )?(?:model )?token limit",
    ),
    weak(
        "T40",
        r"(?:input|prompt|request|messages) \({r} tokens\) exceeds? (?:the )?(?:models? )?(?:token |context )?(?:limit|maximum|max)(?:(?: of|:| is)? ?\(?{l})?",
    ),
    weak(
        "T40",
        r"(?:input|prompt) tokens \(?{r}\)? exceeds? (?:the )?(?:models? )?(?:token |context )?(?:limit|maximum|max)(?:(?: of|:| is)? ?\(?{l})?",
    ),
    weak(
        "T40",
        r"(?:prompt|input|request|messages|conversation) exceeds? (?:the )?(?:models )?{l}[ -]tokens? (?:limit|maximum|context)(?: \({r} tokens\))?",
    ),
    weak(
        "T40",
        r"exceed(?:s|ed|ing)? (?:the |this |its )?(?:models? )?max(?:imum)? (?:allowed )?(?:input|prompt) tokens?(?: limit| length| count)?(?:(?: of| is|:)? ?\(?{l}\b)?",
    ),
    weak(
        "T40",
        r"\b(?:tokens?|context|prompt|length|sequence)\b[^.]{0,60}? exceed(?:s|ed|ing)? (?:the |this )?models? (?:max(?:imum)?|limit|capacity)(?: of| is|:) ?\(?{l}(?: tokens)?\b",
    ),
    weak("T40", r"too many (?:input |prompt )?tokens"),
    weak("T41", r"上下文(?:长度|窗口|内容)?(?:过长|超出|超限|超过|超长)|请压缩上下文|prompt ?(?:过长|超长)"),
    weak(
        "T41",
        r"超(?:出|过)(?:了)?(?:该|此|当前)?(?:模型)?(?:的)?最大(?:上下文|.{0,12}?长度)|(?:输入|提示词)(?:内容|长度)?(?:过长|超长|超限)",
    ),
];

/// Patterns for numbers of weak texts and of overflows decided by a code.
pub(super) const NUMBERS: &[&str] = &[
    r"n_prompt_tokens: ?{r}\b",
    r"\bn_ctx: ?{l}\b",
    r"\b{r}(?: tokens?)? ?(?:>=?|exceeds) ?{l}\b",
    r"\b{r}(?: tokens?)?\)? exceeds? (?:the |this )?(?:models )?(?:maximum )?context (?:window|length|size|limit)(?: of| is|:)? ?\(?{l}\b",
    r"maximum (?:context|prompt|input) length(?: is| of|:)? ?\(?{l}\b",
    r"context (?:window|length|size|limit)(?: is| of|:) (?:only |about )?{l}\b",
    r"context (?:window|length|size|limit)(?: of)? ?\(?{l} tokens",
    r"token limit(?: is| of|:) ?{l}\b",
    r"\blimit (?:for|of) (?:this|the) model(?: is|:)? ?{l}\b",
    r"\b(?:limit|maximum|max)(?: size| is| of|:)? ?{l} tokens",
    r"(?:prompt|inputs?|messages|request|conversation)(?: has| have| is| contains?| of| uses?| used| resulted in|:)? ?\(?(?:about |at least )?{r} (?:input |prompt )?tokens",
    r"(?:requested|received|given):? (?:about )?{r}(?: tokens|\))",
    r"requested tokens \({r}\)",
    r"token count(?: is| of|:)? ?\(?{r}\b",
    r"(?:最大|上限|限制)(?:长度)?(?:为|是|：|:)? ?{l}",
    r"(?:输入|当前|请求|实际)(?:长度)?(?:为|是|：|:)? ?{r}",
];

/// The tokens that are too many, where a text states them instead of the request or the limit.
pub(super) const EXCESS: &str = r"\b(?:exceed(?:s|ed|ing)?|over|above|too (?:long|large|big))\b[^.]{0,80}? by (?:about |approximately |at least |more than )?[~≈]?{r}(?: input| prompt| context)? ?tokens?\b";

/// Patterns for the numbers of errors that are no overflow: the reply's reservation, a plan's allowance, a file's size.
pub(super) const ERROR_NUMBERS: &[&str] = &[
    r"max_?(?:completion_?|new_?|output_?)?tokens:? ?{b} ?> ?{l}\b",
    r"max_?(?:completion_?|new_?|output_?)?tokens is too (?:large|high|big): ?{b}\b.*?(?:at most|up to|maximum(?: of| is)?) {l}\b",
    r"max_?(?:completion_?|new_?|output_?)?tokens\b.*?(?:less than or equal to|<=|at most|up to|cannot exceed|maximum(?: of| is|:)?|\[ ?[0-9]+ ?,) ?{l}\b",
    r"(?:at most|maximum of|up to) {l} (?:completion|output) tokens",
    r"\blimit:? ?{l}\b.{0,80}?requested:? ?{r}\b",
    r"\b{r} bytes ?> ?{l} bytes",
];
