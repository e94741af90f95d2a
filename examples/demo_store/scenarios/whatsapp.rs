//! A family group: many short messages, hardly any tools, so nothing to prune.
use super::super::content::chinese;
use super::super::model::HAIKU;
use super::super::prompt::FULL;
use super::super::session::{DemoSession, shared_chat_fields, shared_chat_message};
use super::super::transcript_writer::TranscriptWriter;
use super::{DAY, at};

const TITLE: &str = "家里人";
const ID: &str = "120363041188";

const TALK: [(&str, &str, &str); 9] = [
    (
        "妈妈",
        "这周末谁回家吃饭?我买鱼",
        "已记下:周六中午在家吃饭。目前确定的有爸爸、妈妈和小雨,哥哥还没有回复。",
    ),
    ("哥哥", "我周六要加班,周日可以", "那改成周日中午,所有人都有空。需要我提前一天提醒大家吗?"),
    (
        "小雨",
        "提醒一下,顺便查一下周日的天气",
        "周日多云,最高十四度,没有雨,适合出门散步。周六晚上八点我会提醒大家。",
    ),
    (
        "爸爸",
        "上次那个体检报告帮我解释一下,尿酸那一项",
        "尿酸比参考值高一点。平时少吃海鲜和动物内脏,多喝水,一个月后复查。具体用药要听医生的。",
    ),
    (
        "妈妈",
        "清蒸鱼的时间总掌握不好",
        "一斤半的鱼,水开以后上锅,大火八分钟,关火焖两分钟。出锅倒掉盘里的水,再淋热油和蒸鱼豉油。",
    ),
    (
        "小雨",
        "帮我想一个给奶奶的生日祝福,不要太俗",
        "愿您每天醒来都有好天气,傍晚有人陪您说话,一年四季都吃得香、睡得稳。",
    ),
    (
        "哥哥",
        "车险下个月到期,哪家便宜",
        "去年是人保,三千二百。可以等四月初再比价,那时候常有折扣。到期前十天我再提醒。",
    ),
    ("爸爸", "小区停水通知说的是哪一天", "通知里写的是三月六日上午九点到下午四点,记得提前接几桶水。"),
    ("妈妈", "谢谢小助手", "不客气,祝大家周末愉快。"),
];

pub(in super::super) fn sessions() -> Vec<DemoSession> {
    let mut s = TranscriptWriter::begin("whatsapp family", &HAIKU, &FULL, at(7, 9) - 10 * DAY);
    for day in (0..=10).rev() {
        s.now_ms = at(7, 10) - day * DAY;
        for (who, text, answer) in TALK {
            let extra = chinese::remark(&mut s.rng);
            let requested = shared_chat_message(&mut s, TITLE, who, &format!("{text}。{extra}"));
            s.user(&requested);
            s.answer(answer);
            s.wait_s(1_900);
        }
    }
    let chat = shared_chat_fields("whatsapp", "group", ID, TITLE);
    vec![DemoSession::new("main", &format!("agent:main:whatsapp:group:{ID}"), &s, &chat)]
}
