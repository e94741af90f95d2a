-- Which models overflowed, week by week?
SELECT CAST(date_trunc('week', time) AS DATE) AS week, provider, model, kind, count(*) AS overflows,
    max(requested) AS largest_request, min(limit_tokens) AS smallest_limit
FROM events
WHERE overflow
GROUP BY ALL
ORDER BY week, overflows DESC, provider, model, kind;
