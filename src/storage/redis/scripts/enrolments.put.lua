#!lua
-- Stores an enrolment rule, unless an equal one is stored.
--
-- KEYS[1..3]  en eb ru (workers-layout.ts)
-- ARGV[1]     time of a test, or ''
-- ARGV[2]     name
-- ARGV[3]     revision
-- ARGV[4]     rule as `en` has it
-- ARGV[5]     body
-- Returns 'stored', 'unchanged', 'full' or 'unknown_revision'.
--- @define MAX_ENROLMENTS
--- @include "now"
--- @include "int"
--- @include "rules-changed"
--- @keys en eb ru

local name, rule, body = ARGV[2], ARGV[4], ARGV[5]
if redis.call('HEXISTS', ru, ARGV[3]) == 0 then return 'unknown_revision' end
local stored = redis.call('HGET', en, name)
if stored == rule and redis.call('HGET', eb, name) == body then return 'unchanged' end
if not stored and redis.call('HLEN', eb) >= MAX_ENROLMENTS then return 'full' end
redis.call('HSET', eb, name, body)
redis.call('HSET', en, name, rule)
rules_changed(en)
return 'stored'
