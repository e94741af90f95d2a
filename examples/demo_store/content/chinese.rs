//! Chinese prose: weekly reports, meeting notes, family chat.
use super::super::rng::Rng;
use super::super::template::{Pools, fill, lines};
use std::fmt::Write as _;

const POOLS: &Pools = &[
    ("人", &["王磊", "陈思雨", "李明哲", "赵一鸣", "孙悦", "周子涵", "吴桐", "林晓"]),
    ("组", &["平台组", "终端组", "数据组", "测试组", "产品组", "运维组"]),
    (
        "事",
        &[
            "网关灰度发布",
            "登录页改版",
            "日志采集链路迁移",
            "离线报表重构",
            "设备固件升级",
            "权限模型梳理",
            "支付回调对账",
            "消息推送限流",
            "搜索索引重建",
            "客服工单归类",
        ],
    ),
    (
        "况",
        &[
            "已经完成联调,等待产品验收",
            "进度正常,预计下周三提测",
            "因为上游接口调整推迟了两天",
            "线上观察三天没有新的报警",
            "压测结果比上个版本提升了百分之{#8-40}",
            "还差最后一批数据没有迁移完",
            "评审时提出了{#2-9}条修改意见,已处理{#1-8}条",
            "发现偶发超时,怀疑和连接池回收有关",
        ],
    ),
    (
        "险",
        &[
            "第三方证书月底到期,需要提前更换",
            "人手不足,周末可能要安排值班",
            "历史数据格式不统一,清洗成本偏高",
            "依赖的基础镜像停止维护,要评估替换方案",
            "老版本客户端占比仍有百分之{#5-18},暂时不能下线旧接口",
        ],
    ),
    (
        "数",
        &[
            "接口平均耗时{#80-420}毫秒,成功率百分之九十九点{#1-9}",
            "新增用户{#120-980}人,留存率百分之{#31-66}",
            "处理工单{#20-160}条,平均响应{#4-30}分钟",
            "磁盘使用率从百分之{#70-88}降到百分之{#40-66}",
        ],
    ),
];

const ROWS: &[&str] = &[
    "{组}的{人}反馈,{事}{况}。",
    "{事}方面,{况};同时{组}在跟进{事},{况}。",
    "本周{数},较上周略有变化,原因是{事}{况}。",
    "风险提示:{险}。建议由{组}牵头,{人}负责每天同步进展。",
    "会上{人}提到,{险},希望在下个迭代开始之前给出明确结论。",
    "{人}补充说明:{事}的回滚方案已经演练过一次,整个过程不超过{#5-25}分钟。",
];

/// Lines of notes, about `chars` characters.
pub(in super::super) fn notes(rng: &mut Rng, chars: usize) -> String {
    lines(rng, POOLS, ROWS, chars * 3)
}

/// A weekly report with headings and a table, about `chars` characters.
pub(in super::super) fn report(rng: &mut Rng, week: u64, chars: usize) -> String {
    let mut out = format!("# 第{week}周工作周报\n\n");
    for heading in ["一、本周重点", "二、关键数据", "三、风险与问题", "四、下周计划"]
    {
        let _ = write!(out, "## {heading}\n\n");
        let floor = out.len() + chars * 3 / 5;
        while out.len() < floor {
            out.push_str("- ");
            let row = rng.pick(ROWS);
            fill(&mut out, rng, POOLS, row);
            out.push('\n');
        }
        out.push('\n');
    }
    out.push_str("| 指标 | owner | status | KPI |\n| --- | --- | --- | --- |\n");
    for _ in 0..6 {
        fill(&mut out, rng, POOLS, "| {事} | team-{x4} | in_progress | p95={#120-900}ms, errors={#0-9} |\n");
    }
    out
}

pub(in super::super) fn remark(rng: &mut Rng) -> String {
    let row = rng.pick(ROWS);
    let mut out = String::new();
    fill(&mut out, rng, POOLS, row);
    out
}
