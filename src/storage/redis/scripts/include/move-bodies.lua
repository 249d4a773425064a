-- Moves bodies from one hash to another, a few at a time: they may be large.
--- @include "commands"
--- @include "bodies-per-read"
local function move_bodies(from, to, ids)
  for i = 1, #ids, BODIES_PER_READ do
    local part, found = { unpack(ids, i, math.min(i + BODIES_PER_READ - 1, #ids)) }, {}
    local bodies = call('HMGET', from, unpack(part))
    for j = 1, #part do
      if bodies[j] then
        found[#found + 1] = part[j]
        found[#found + 1] = bodies[j]
      end
    end
    write('HSET', to, found)
    call('HDEL', from, unpack(part))
  end
end
