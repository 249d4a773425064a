-- Keeps the last part of `maxmemory` for tasks (D83): a script that stores outputs or values returns RESERVED before
-- its first write when the server has used the rest. Without a limit of memory nothing is refused.
--- @define TASKS_RESERVE
local RESERVED = 'FULL the store has used ' .. 100 - 100 * TASKS_RESERVE
  .. ' % of its memory (maxmemory), and keeps the rest for tasks'
local function is_reserved()
  local info = redis.call('INFO', 'memory')
  local limit = tonumber(string.match(info, 'maxmemory:(%d+)') or 0)
  return limit > 0 and tonumber(string.match(info, 'used_memory:(%d+)') or 0) > limit * (1 - TASKS_RESERVE)
end
