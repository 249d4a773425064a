#!lua flags=allow-oom
-- Records the life of the store, its servers and its layout, and decides whether it needs a new epoch.
--
-- KEYS[1]    HASH of the store
-- ARGV[2]    run of the store
-- ARGV[3]    1: a restart loses nothing
-- ARGV[4]    next epoch, used if one begins
-- ARGV[5]    layout of this release
-- ARGV[6]    1: its migrations are done
-- ARGV[7]    what is added to the layout while the store has needs
-- ARGV[8..]  run ids of all servers
-- Returns { 'known' or 'new', epoch, life, needs or nil }; { 'newer', layout } if a newer release wrote the store;
-- { 'migrate', layout to start from }.
--- @include "int"

local run, keeps, fresh, schema = ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])
local known = redis.call('HMGET', KEYS[1], 'epoch', 'run', 'schema', 'migrated', 'nodes', 'needs')
local mark, recorded = tonumber(ARGV[7]), tonumber(known[3] or 0)
local epoch, stored = known[1], recorded % mark
local marked = int(schema + recorded - stored)
if stored > schema then return { 'newer', int(stored) } end
local migrated = tonumber(known[4] or stored)
if migrated < schema and ARGV[6] ~= '1' then
  if stored < schema then redis.call('HSET', KEYS[1], 'schema', marked, 'migrated', int(migrated)) end
  return { 'migrate', int(migrated) }
end
local present, grew = {}, known[2] ~= run and known[5]
for i = 8, #ARGV do present[ARGV[i]] = true end
for id in string.gmatch(known[5] or '', '%S+') do grew = grew and present[id] end
if grew then run = known[2] end
local nodes = table.concat(ARGV, ' ', 8)
if epoch and known[2] == run and known[5] == nodes and migrated == schema then
  return { 'known', epoch, run, known[6] }
end
if not epoch or (known[2] ~= run and keeps ~= '1') then epoch = fresh end
redis.call('HSET', KEYS[1], 'epoch', epoch, 'run', run, 'nodes', nodes, 'schema', marked, 'migrated', int(schema))
return { epoch == known[1] and 'known' or 'new', epoch, run, known[6] }
