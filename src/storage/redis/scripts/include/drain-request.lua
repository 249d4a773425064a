-- The request of a drain is `since:ms:actor`. It is valid while the record has this `since` and a drain: a release that
-- does not know it leaves that of an earlier drain.
-- Returns the request `ms:actor`, or nil.
local function request_of(text, since)
  local valid, request = string.match(text or '', '^(%d+):(.*)$')
  return valid == since and request or nil
end
