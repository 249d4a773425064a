-- Flushes that are read in one step while searching for the end of a read or trim.
local ROWS_PER_READ = 100
