#!lua flags=no-writes
-- Reads the heads of the operations of a type.
--
-- KEYS[1]  oh (workers-layout.ts)
-- Returns ids and `version:number of parts:head` in turn.
--- @keys oh

return redis.call('HGETALL', oh)
