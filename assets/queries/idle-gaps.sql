-- How many pauses were long enough for the pruner, for each ttl?
WITH gaps AS (SELECT idle_ms / 60000 AS minutes FROM calls WHERE trace = 'recorded' AND idle_ms IS NOT NULL),
    ttls AS (SELECT * FROM (VALUES (5), (15), (30), (45), (60), (120), (240)) AS minutes(ttl_minutes))
SELECT ttl_minutes, count(*) FILTER (WHERE minutes >= ttl_minutes) AS long_enough, count(*) AS gaps,
    round(100.0 * count(*) FILTER (WHERE minutes >= ttl_minutes) / count(*), 1) AS percent
FROM gaps CROSS JOIN ttls
GROUP BY ttl_minutes
ORDER BY ttl_minutes;
