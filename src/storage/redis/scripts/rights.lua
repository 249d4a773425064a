#!lua
-- Tries each command that the scripts use, to find those that the user of the store may not call.
--
-- KEYS[1]    a key of its own, removed at the end
-- ARGV[2]    channel
-- ARGV[3]    1: the server is a node of a Cluster
-- ARGV[4..]  name of each command, the number of its arguments behind the key, and these arguments
-- Returns the names of the denied commands.

local denied = {}
local function try(name, ...)
  local reply = redis.pcall(name, ...)
  local err = type(reply) == 'table' and reply.err or ''
  if err:find('NOPERM', 1, true) or err:find("executing the script can't", 1, true) then denied[#denied + 1] = name end
end
try('PUBLISH', ARGV[2], '')
try('INFO', 'memory')
try('PUBSUB', 'NUMPAT')
if denied[#denied] ~= 'PUBSUB' then try('PUBSUB', 'NUMSUB', ARGV[2]) end
if ARGV[3] == '1' then try('SPUBLISH', ARGV[2], '') end
local i = 4
while i <= #ARGV do
  local name, count = ARGV[i], tonumber(ARGV[i + 1])
  try(name, KEYS[1], unpack(ARGV, i + 2, i + 1 + count))
  i = i + 2 + count
end
redis.pcall('UNLINK', KEYS[1])
return denied
