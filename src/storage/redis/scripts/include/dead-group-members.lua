-- Reads members of DI, the index of dead tasks by group; dead-groups.lua documents it.
--- @include "commands"
local ENTRY_CHARS = 46
-- Which members of a group died at `died` or later; behind all members without it.
local function first_since(group, died) return '[' .. group .. string.format('%014.0f', died) end
local function behind(group, died) return '(' .. group .. (died and string.format('%014.0f', died) or ':') end
local function id_of(member) return sub(member, ENTRY_CHARS + 1) end
local function number_of(member) return tonumber(sub(member, 31, ENTRY_CHARS)) end
local function died_of(member) return tonumber(sub(member, 17, 30)) end
