/**
 * @module storage/redis/fence
 * Lua for fencing tokens: one counter per pool or lock namespace, never the same number twice. A hash keeps it: `f` the
 * token issued last, `run` the run of the store in which that was. A new counter, and one found under another run
 * (which may have lost its last writes), first rises to a multiple of 2^20 at or above now · 1,024.
 *
 * `newest(stored, storedRun, run)` returns the token after which the next ones count.
 */
export const FENCE = `
local SEGMENT = 1048576
local function newest(stored, storedRun, run)
  local last = tonumber(stored or 0)
  if stored and storedRun == run then return last end
  return math.ceil(math.max(now * 1024, last + 1) / SEGMENT) * SEGMENT
end
`
