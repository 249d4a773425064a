-- Bodies that a script holds together: each may be a megabyte.
local BODIES_PER_READ = 100
