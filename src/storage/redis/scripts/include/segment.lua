-- Number of fencing tokens in a segment. fence.lua begins new counters at a segment; tasks.ack has a bitmap per
-- segment.
local SEGMENT = 1048576
