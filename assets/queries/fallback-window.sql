-- Which sessions would not fit a fallback model with a window of 131,072 tokens?
WITH fallback AS (SELECT 131072 AS window_tokens)
SELECT s.agent, s.key, s.model, s.tokens, s.tokens - f.window_tokens AS over_by
FROM sessions s CROSS JOIN fallback f
WHERE s.tokens > f.window_tokens
ORDER BY over_by DESC, s.key;
