-- How many entries and tokens does each agent add per day?
SELECT CAST(e.time AS DATE) AS added_on, s.agent, count(DISTINCT e.session) AS sessions, count(*) AS entries,
    sum(e.tokens) AS tokens
FROM entries e JOIN sessions s USING (session)
WHERE e.time IS NOT NULL
GROUP BY ALL
ORDER BY added_on, agent;
