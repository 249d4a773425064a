-- Gives the enrolment rules another version: the time and the number of their changes. The time keeps a version unique
-- after the store was brought back to an earlier state.
local function rules_changed(en)
  local changes = string.match(redis.call('HGET', en, '') or '', '%.(%d+)$') or 0
  redis.call('HSET', en, '', int(now) .. '.' .. int(changes + 1))
end
