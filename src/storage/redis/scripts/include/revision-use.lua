-- Counts the workers whose labels name a revision. The fields of `ru` begin with that number.
--- @include "int"
--- @include "registry"

local uses = {}
-- @param label '<generation>:<revision>/<variant>'
local function count_use(label, by)
  local revision = string.match(label, '^%d+:([^/]*)/')
  uses[revision] = (uses[revision] or 0) + by
end
-- Writes the time of use. Returns false if the revision is not stored.
local function mark_used(revision, time)
  local stored = redis.call('HGET', ru, revision)
  if not stored then return false end
  local workers, first, rest = string.match(stored, '^(%d+):(%d*):%d*(:.*)$')
  redis.call('HSET', ru, revision, workers .. ':' .. (first == '' and time or first) .. ':' .. time .. rest)
  return true
end
local function write_use()
  for revision, by in pairs(uses) do
    local stored = by ~= 0 and redis.call('HGET', ru, revision)
    if stored then
      local workers, rest = string.match(stored, '^(%d+)(:.*)$')
      redis.call('HSET', ru, revision, int(math.max(0, workers + by)) .. rest)
    end
  end
end
