-- Which sessions overflowed without a sure verdict, or could not be read?
SELECT agent, key, overflows, verdict, confidence, problem
FROM sessions
WHERE problem IS NOT NULL OR (overflows > 0 AND confidence IS DISTINCT FROM 'sure')
ORDER BY overflows DESC NULLS LAST, key;
