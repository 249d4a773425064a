#!lua flags=allow-oom
-- Removes an enrolment rule.
--
-- KEYS[1..2]  en eb (workers-layout.ts)
-- ARGV[1]     time of a test, or ''
-- ARGV[2]     name
-- Returns 1, or 0 if there is no such rule.
--- @include "now"
--- @include "int"
--- @include "rules-changed"
--- @keys en eb

if redis.call('HDEL', eb, ARGV[2]) == 0 then return 0 end
redis.call('HDEL', en, ARGV[2])
rules_changed(en)
return 1
