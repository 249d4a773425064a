-- Issues fencing tokens: one counter per pool or lock namespace, never the same number twice. A hash stores it: `f` is
-- the token issued last, `run` the run of the store in which that was. A new counter, and one found under another run
-- (which may have lost its last writes), first rises to a multiple of SEGMENT at or above now * 1,024.
--
-- newest(stored, stored_run, run) returns the token after which the next ones count.
--- @include "now"
--- @include "segment"
local function newest(stored, stored_run, run)
  local last = tonumber(stored or 0)
  if stored and stored_run == run then return last end
  return math.ceil(math.max(now * 1024, last + 1) / SEGMENT) * SEGMENT
end
