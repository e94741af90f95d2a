-- Which sessions compact most, and how many calls lie between two compactions?
SELECT s.agent, s.key, s.compactions, count(c.call) AS calls,
    round(count(c.call) / nullif(count(c.compacted), 0), 1) AS calls_per_compaction,
    sum(c.compacted) AS compacted_tokens
FROM sessions s LEFT JOIN calls c ON c.session = s.session AND c.trace = 'recorded'
GROUP BY s.session, s.agent, s.key, s.compactions
HAVING s.compactions > 0
ORDER BY s.compactions DESC, s.key;
