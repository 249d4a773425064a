-- Formats a number as an integer without an exponent.
local function int(number) return string.format('%.0f', number) end
