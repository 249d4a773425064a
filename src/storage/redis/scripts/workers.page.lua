#!lua flags=no-writes
-- Reads a page of workers. A few rows show how large the others may be; rows beyond the bound on bytes are left out.
--
-- KEYS[1..16]  keys of the registry (include/registry.lua)
-- ARGV[2]      '-', or '(' with the id to begin behind
-- ARGV[3]      maximum number of rows
-- ARGV[4]      maximum of bytes, exceeded by a single larger row
-- Returns { ids, g, cfg, desc, st, sn, conn, dr, mb, cs, lb, rv, da, dp }, each a list.
--- @include "registry"
--- @include "worker-rows"

-- Rows that are read before the rest: each may be a megabyte.
local FIRST_ROWS = 2

local limit = tonumber(ARGV[4])
local ids = redis.call('ZRANGE', ix, ARGV[2], '+', 'BYLEX', 'LIMIT', '0', ARGV[3])
local result, bytes, size = { {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {} }, 0, FIRST_ROWS
while #result[1] < #ids do
  local from = #result[1]
  local part = rows({ unpack(ids, from + 1, math.min(from + size, #ids)) })
  for k = 1, #part[1] do
    for _, column in ipairs(part) do bytes = bytes + (column[k] and #column[k] or 0) end
    if bytes > limit and #result[1] > 0 then return result end
    for c, column in ipairs(part) do result[c][from + k] = column[k] end
  end
  size = math.max(1, math.floor((limit - bytes) / bytes * #result[1]))
end
return result
