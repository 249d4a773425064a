-- Marks the tasks of a replay with its id, and counts what becomes of them (D180). The mark is the last field of the
-- newest failed attempt in the facts of a task (facts.lua): `…,"replay":"ID"}`. A quote in a text is escaped, so only
-- the field is found. The counts are the fields `yd:ID` (done) and `yx:ID` (died) of M; a replay without them is not
-- counted. It needs the key M.
--- @include "commands"
local MARK = ',"replay":"([^"]+)"}\n'
-- The id of the replay, or nil.
local function replay_of(facts)
  local found
  for id in string.gmatch(facts or '', MARK) do found = id end
  return found
end
-- The facts with the mark of a replay instead of another one; without a mark if it is nil.
local function with_replay(facts, replay)
  local plain = string.gsub(facts, MARK, '}\n')
  if not replay or sub(plain, -2) ~= '}\n' or find(plain, '^%d[^\n]*\n$') then return plain end
  return sub(plain, 1, -3) .. ',"replay":"' .. replay .. '"}\n'
end
local function open_replay(replay)
  call('HSETNX', M, 'yd:' .. replay, 0)
  call('HSETNX', M, 'yx:' .. replay, 0)
end
-- prefix: 'yd:' or 'yx:'. counts: tasks by replay.
local function count_replays(prefix, counts)
  for replay, n in pairs(counts) do
    if call('HEXISTS', M, prefix .. replay) == 1 then call('HINCRBY', M, prefix .. replay, n) end
  end
end
