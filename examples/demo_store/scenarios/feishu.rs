//! A weekly-report assistant: almost all Chinese, so chars / 4 is a third of the provider's count.
use super::super::content::chinese;
use super::super::model::OPUS;
use super::super::prompt::FULL;
use super::super::session::{DemoSession, direct_chat_fields};
use super::super::tool::{exec, read, write};
use super::super::transcript_writer::TranscriptWriter;
use super::{DAY, at};

const DOCS: &str = "/home/mei/docs/weekly";

const ASKS: [&str; 8] = [
    "把这周各组的纪要整理成一份周报,重点写风险",
    "数据部分太长了,压缩一半,保留同比",
    "李明哲说固件升级那条不准确,按他的纪要改一下",
    "写一版给老板看的,三百字以内",
    "下周计划按优先级排序,每条写上负责人",
    "和上周的对比一下,哪些事情连续两周没有进展",
    "把风险单独列一个表,写清影响和应对",
    "再检查一遍错别字,然后存成文件",
];

pub(in super::super) fn sessions() -> Vec<DemoSession> {
    let mut s = TranscriptWriter::begin("feishu weekly", &OPUS, &FULL, at(9, 1) - 14 * DAY);
    for week in 7..10 {
        s.now_ms = at(9, 2) - (9 - week as i64) * 7 * DAY;
        a_week(&mut s, week);
    }
    s.name("周报助手");
    let mut chat = direct_chat_fields("feishu", "ou_3f7c21ab", "陈思雨");
    chat["displayName"] = "飞书 周报助手".into();
    vec![DemoSession::new("main", "agent:main:feishu:direct:ou_3f7c21ab", &s, &chat)]
}

fn a_week(s: &mut TranscriptWriter, week: u64) {
    for (round, ask) in ASKS.iter().enumerate() {
        let remark = chinese::remark(&mut s.rng);
        s.user(&format!("{ask}。{remark}"));
        match round {
            0 => collect(s, week),
            2 | 5 => {
                let notes = chinese::notes(&mut s.rng, 2_900);
                s.tool_step("先看原始纪要。", vec![read(&format!("{DOCS}/w{week}-raw-{round}.md"), &notes)]);
            }
            7 => save(s, week),
            _ => {}
        }
        let length = s.rng.range(2_700, 4_700) as usize;
        let answer = chinese::report(&mut s.rng, week, length);
        s.answer(&answer);
        s.wait_s(260);
    }
}

fn collect(s: &mut TranscriptWriter, week: u64) {
    let listing = (1..12)
        .map(|day| {
            format!(
                "-rw-r--r-- 1 mei mei {} Feb {day:>2} 18:0{} {DOCS}/w{week}-{day:02}.md",
                3_000 + day * 211,
                day % 10
            )
        })
        .collect::<Vec<_>>()
        .join("\n");
    let export = chinese::notes(&mut s.rng, 3_100);
    let uses = vec![
        exec(&format!("ls -la {DOCS}"), DOCS, &listing, 0, 30),
        read(&format!("{DOCS}/w{week}-raw.md"), &export),
    ];
    s.tool_step("我先把各组的纪要收齐。", uses);
}

fn save(s: &mut TranscriptWriter, week: u64) {
    let report = chinese::report(&mut s.rng, week, 1_200);
    s.tool_step("没有发现错别字,现在保存。", vec![write(&format!("{DOCS}/w{week}.md"), &report)]);
}
