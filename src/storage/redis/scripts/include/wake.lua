-- Wakes masters that wait for tasks: all of them, or those that registered. A reserve that finds the queue empty
-- registers its master in WM; who adds tasks takes a few masters out again, those that registered first, and publishes
-- to the channel of each. So a task costs the same however many masters wait (D253).
--
-- ARGV[2]  the channel of all masters; or the beginning of the channels of single ones, which ends with ":w:", or with
--          ":sw:" if they are sharded; or '' if there is no other master
-- ARGV[3]  message: the type, and who publishes it, who is not woken
--- @include "commands"
--- @include "now"
--- @include "int"
-- A master that is woken may have stopped, or another one may take its task: so at least two are.
local MIN_WOKEN, MAX_WOKEN = 2, 8
-- A master that waits registers again every second, with the reserve of its tick. After this time it has stopped.
local WAITING_MS = 5000
local registering = match(ARGV[2], ':(s?)w:$')
local function wake_one(master)
  call(registering == 's' and 'SPUBLISH' or 'PUBLISH', ARGV[2] .. master, ARGV[3])
end
local function wake_registered(count)
  local publisher, chosen = match(ARGV[3], ' (.+)$'), {}
  call('ZREMRANGEBYSCORE', WM, '-inf', int(now - WAITING_MS))
  for _, master in ipairs(call('ZRANGE', WM, 0, count)) do -- One more, in case the publisher is among them.
    if master ~= publisher and #chosen < count then
      chosen[#chosen + 1] = master
      wake_one(master)
    end
  end
  write('ZREM', WM, chosen)
end
local function wake_masters(tasks)
  if registering then
    wake_registered(math.max(MIN_WOKEN, math.min(tasks, MAX_WOKEN)))
  elseif ARGV[2] ~= '' then
    call('PUBLISH', ARGV[2], ARGV[3])
  end
end
