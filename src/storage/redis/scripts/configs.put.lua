#!lua
-- Replaces a worker's config if it is the expected one.
--
-- KEYS[1..16]  keys of the registry (include/registry.lua)
-- KEYS[17]     LIST of config changes, newest first
-- ARGV[1]      time of a test, or ''
-- ARGV[2]      id
-- ARGV[3]      expected generation
-- ARGV[4]      next generation
-- ARGV[5]      actor
-- ARGV[6]      config
-- ARGV[7]      history row without its time
-- ARGV[8]      expected config, or ''
-- Returns { 'put', connection or false }, { 'conflict', generation, stored config } or { 'unknown' }.
--- @define CONFIG_HISTORY_ROWS
--- @include "now"
--- @include "int"
--- @include "registry"

local id = ARGV[2]
local gen, old, owner = redis.call('HGET', g, id), redis.call('HGET', cfg, id), redis.call('HGET', conn, id)
if not gen then return { 'unknown' } end
if gen ~= ARGV[3] then return { 'conflict', gen, old } end
local stored = string.match(old, '^[^:]*:[^:]*:(.*)$') -- After the time and the actor.
if ARGV[8] ~= '' and ARGV[8] ~= stored then return { 'conflict', gen, old } end
redis.call('HSET', g, id, ARGV[4])
redis.call('HSET', cfg, id, int(now) .. ':' .. ARGV[5] .. ':' .. ARGV[6])
redis.call('LPUSH', KEYS[17], int(now) .. ':' .. ARGV[7])
redis.call('LTRIM', KEYS[17], '0', CONFIG_HISTORY_ROWS - 1)
return { 'put', owner }
