#!lua flags=no-writes
-- Reads the heads of the rollout reports of a type.
--
-- KEYS[1]  rh (workers-layout.ts)
-- Returns names and heads in turn.
--- @keys rh

return redis.call('HGETALL', rh)
