-- Which policies took messages away that were needed again?
SELECT trace, cause, count(DISTINCT concat(session, entry)) AS lost, sum(tokens_before - tokens_after) AS lost_tokens,
    sum(fetched_again) AS fetched_again, sum(quoted) AS quoted, sum(asked_again) AS asked_again,
    sum(repeated_tokens) AS repeated_tokens, round(sum(repeated_cost), 4) AS repeated_usd
FROM losses
GROUP BY trace, cause
ORDER BY trace, repeated_tokens DESC, cause;
