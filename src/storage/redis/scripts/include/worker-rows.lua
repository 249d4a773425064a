-- Reads all fields of workers. Returns { ids, g, cfg, desc, st, sn, conn, dr, mb, cs, lb, rv, da, dp }, each a list.
--- @include "registry"
local function rows(ids)
  local columns = { ids }
  if #ids == 0 then return columns end
  for i, field in ipairs({ g, cfg, desc, st, sn, conn, dr, mb, cs, lb, rv, da, dp }) do
    columns[i + 1] = redis.call('HMGET', field, unpack(ids))
  end
  return columns
end
