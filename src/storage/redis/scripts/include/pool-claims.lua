-- Reads the claims that ARGV[2..] names by id and token, with `fields` arguments each.
--
-- read_claims(fields) returns the ids, `ends`: id -> end of its hold in ms, until_of(k): the end of the k-th hold, nil
-- if the claim is over or never existed, and `held`: the token and who claims each. A script that gives an item up sets
-- its `ends` to 0, so that a repetition of the item in the batch is lost.
--- @include "pool"
local function read_claims(fields)
  local ids = {}
  for k = 2, #ARGV, fields do ids[#ids + 1] = ARGV[k] end
  local held, times, ends = read('HMGET', owners, ids), read('ZMSCORE', claimed, ids), {}
  for k, id in ipairs(ids) do ends[id] = tonumber(times[k] or 0) end
  local function until_of(k)
    local token, hold = held[k] and string.match(held[k], '^%d+'), ends[ids[k]]
    if token and token == ARGV[fields * (k - 1) + 3] and hold > now then return hold end
  end
  return ids, ends, until_of, held
end
