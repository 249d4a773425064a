#!lua flags=allow-oom
-- Wakes another master in place of one that was woken and has no waiting worker, if a task is pending.
--
-- KEYS[1..3]  P0 P1 P2  LISTs of pending tickets
-- KEYS[4]     WM  ZSET of the masters that wait for tasks
-- ARGV[1]     time of a test, or ''
-- ARGV[2]     beginning of the channels of single masters
-- ARGV[3]     wake message
-- Returns nothing.
--- @keys P0 P1 P2 WM
--- @include "wake"

if registering and call('EXISTS', P0, P1, P2) > 0 then wake_registered(1) end
