-- Reads the dead tasks `ids` up to `limit` bytes, which a single larger task may exceed. Dead records are read a few at
-- a time: each may be 4 KiB and more. It needs the keys DT, DM and DE. Returns how many of the ids fit, and a flat list
-- of dead record, body, and facts or nil of each. A task without a dead record is omitted.
--- @include "commands"
--- @include "bodies-per-read"
--- @include "ticket"
local function dead_page(ids, limit)
  local seen, shown, shown_ids, total, full, noted = 0, {}, {}, 0, false, false
  while not full and seen < #ids do
    local part = {}
    for i = seen + 1, math.min(seen + BODIES_PER_READ, #ids) do part[#part + 1] = ids[i] end
    local dead_records = fetch(DM, part)
    for i = 1, #part do
      local dead_record = dead_records[i]
      local bytes = dead_record and #dead_record + match(dead_record, '^%d+:%d+:%d+:%d+|(%d+)') or 0
      full = total + bytes > limit and #shown > 0
      if full then break end
      total, seen = total + bytes, seen + 1
      if dead_record then
        shown[#shown + 1], shown_ids[#shown_ids + 1] = dead_record, part[i]
        noted = noted or has_facts(match(dead_record, '^%d+:%d+:%d+:(.*)$'))
      end
    end
  end
  local facts, bodies, rows = noted and fetch(DE, shown_ids) or {}, fetch(DT, shown_ids), {}
  for i = 1, #shown do
    rows[3 * i - 2] = shown[i]
    rows[3 * i - 1] = bodies[i]
    rows[3 * i] = facts[i] or false
  end
  return seen, rows
end
