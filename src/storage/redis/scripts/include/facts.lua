-- Keeps progress (D114) and failed attempts (D115) of tasks in hashes: E of tasks that are not dead, DE of dead ones.
-- tasks-layout.ts documents the format. The digit `look` of a ticket, and the zeros before `max` of a lease, say that a
-- task has facts, so other tasks cost no command. `fs` of M says where and when the sweep continues to look for facts
-- without a task (facts-repair.lua); it is missing while there are no facts. It needs the keys E and M.
--- @include "commands"
--- @include "int"
--- @include "now"
--- @include "lease"
--- @include "replays"
--- @define MAX_KEPT_ATTEMPTS
local function set_facts(rows)
  if #rows == 0 then return end
  write('HSET', E, rows)
  call('HSETNX', M, 'fs', '0|0|0')
end
-- Returns the line of the progress or '', and those of the attempts.
local function split_facts(facts)
  local progress, attempts = match(facts or '', '^(%d[^\n]*\n)(.*)$')
  return progress or '', attempts or facts or ''
end
-- runs: { id, t, kind, worker, error or nil } of tasks whose lease ends. Marks their tickets `t`.
local function add_attempts(runs)
  local known, ids, rows = {}, {}, {}
  for i = 1, #runs do
    if look_has_facts(runs[i].t.look) then ids[#ids + 1] = runs[i].id end
  end
  for i, facts in ipairs(fetch(E, ids)) do known[ids[i]] = facts end
  for i = 1, #runs do
    local run = runs[i]
    local progress, attempts = split_facts(known[run.id])
    attempts = attempts .. '{"kind":"' .. run.kind .. '","attempt":' .. run.t.attempt .. ',"atMs":'
      .. int(now) .. ',"error":' .. (run.error and cjson.encode(run.error) or 'null') .. ',"worker":'
      .. cjson.encode(run.worker) .. '}\n'
    local replay = replay_of(known[run.id])
    if replay then attempts = with_replay(attempts, replay) end
    run.t.replay = replay
    local _, count = string.gsub(attempts, '\n', '')
    rows[2 * i - 1] = run.id
    if count > MAX_KEPT_ATTEMPTS then attempts = match(attempts, '^[^\n]*\n(.*)$') end
    rows[2 * i] = progress .. attempts
    run.t.look = with_facts(run.t.look)
  end
  set_facts(rows)
end
