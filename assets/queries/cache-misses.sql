-- How often did each model miss the prompt cache?
SELECT model, count(*) AS calls, count(*) FILTER (WHERE is_miss) AS misses,
    round(100.0 * sum(cache_read) / nullif(sum(cache_read + cache_write + input), 0), 1) AS read_percent,
    sum(missed) FILTER (WHERE is_miss) AS missed_tokens, round(sum(missed_cost) FILTER (WHERE is_miss), 4) AS missed_usd
FROM cache
WHERE NOT uncached
GROUP BY model
ORDER BY missed_usd DESC NULLS LAST, model;
