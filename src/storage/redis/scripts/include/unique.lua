-- Finds the tasks that unique keys name (D118). U maps the JSON text of a key to `s` or `f` (the key conflicts until
-- its task has started, or finished) and the id. An entry counts only if the body of the task has the key, because a
-- task ends without a look at U and its id may be used again. It needs the keys T, L, S and U.
--- @include "commands"
--- @include "bodies-per-read"
--- @include "body-tail"
-- Whether a body is that of a task with this key. Fields of other lengths come behind it.
local function has_key(body, key)
  local from = match(sub(body, 1, 60), '^{"retain_seconds":[%d.]+,()') or 2
  local field = '"unique_key":' .. key .. ','
  return sub(body, from, from + #field - 1) == field
end
-- Returns by key { id, place (1 pending, 2 in flight, 3 scheduled), finished, tail of its body } of the task.
local function find_holders(keys)
  local holders, named = {}, {}
  for i, entry in ipairs(fetch(U, keys)) do
    if entry and not holders[keys[i]] then
      holders[keys[i]] = { id = sub(entry, 2), finished = sub(entry, 1, 1) == 'f' }
      named[#named + 1] = keys[i]
    end
  end
  for from = 1, #named, BODIES_PER_READ do
    local part, ids = { unpack(named, from, math.min(from + BODIES_PER_READ - 1, #named)) }, {}
    for i = 1, #part do ids[i] = holders[part[i]].id end
    local bodies, leases, scheduled = fetch(T, ids), fetch(L, ids), call('SMISMEMBER', S, unpack(ids))
    for i, key in ipairs(part) do
      local holder = holders[key]
      if bodies[i] and has_key(bodies[i], key) then
        holder.place, holder.tail = leases[i] and 2 or (scheduled[i] == 1 and 3) or 1, sub(bodies[i], -TAIL)
      else
        holders[key] = nil
      end
    end
  end
  return holders
end
