#!lua flags=no-writes
-- Reads one dead task.
--
-- KEYS[1..3]  DT DM DE  bodies, dead records and facts of dead tasks
-- ARGV[2]  id
-- Returns dead record, body, and facts or nil; the first is nil if the task is not dead.
--- @keys DT DM DE
--- @include "commands"

return { call('HGET', DM, ARGV[2]), call('HGET', DT, ARGV[2]), call('HGET', DE, ARGV[2]) }
