-- Which tools fill the contexts?
SELECT tool, count(*) AS results, sum(tokens) AS tokens, max(tokens) AS largest,
    round(100.0 * sum(tokens) / sum(sum(tokens)) OVER (), 1) AS percent
FROM entries
WHERE role = 'toolResult' AND position IS NOT NULL
GROUP BY tool
ORDER BY tokens DESC, tool;
