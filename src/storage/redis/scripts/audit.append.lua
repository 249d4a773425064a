#!lua
-- Appends entries to the audit log and drops the oldest ones.
--
-- KEYS[1]    LIST of entries
-- KEYS[2]    HASH; last: number of the newest entry
-- ARGV[2..]  entries
-- Returns nothing.
--- @define AUDIT_LOG_LENGTH

redis.call('RPUSH', KEYS[1], unpack(ARGV, 2))
redis.call('LTRIM', KEYS[1], -AUDIT_LOG_LENGTH, '-1')
redis.call('HINCRBY', KEYS[2], 'last', #ARGV - 1)
