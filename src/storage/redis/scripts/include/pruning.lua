-- Maximum number of expired entries that one call removes (pruning.ts).
local PRUNED_PER_CALL = 500
