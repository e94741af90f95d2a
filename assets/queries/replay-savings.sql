-- Which replay saves most, in overflows and in money?
SELECT trace, count(*) AS calls, count(*) FILTER (WHERE over) AS overflows, count(*) FILTER (WHERE failed) AS failed,
    max(tokens) AS largest_prompt, sum(freed) AS freed,
    round(sum(cost) + coalesce(sum(summary_cost), 0), 2) AS usd
FROM calls
GROUP BY trace
ORDER BY failed, overflows, usd, trace;
