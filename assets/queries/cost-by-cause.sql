-- What did prompt tokens cost that the cache should have served, by cause?
SELECT cause, count(*) AS calls, sum(missed) AS tokens, round(sum(missed_cost), 4) AS usd
FROM cache
WHERE is_miss
GROUP BY cause
ORDER BY usd DESC NULLS LAST, tokens DESC, cause;
