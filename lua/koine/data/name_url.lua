--- A 404 names the URL that answered it, without anything that may not be shown.

local core = require "koine.core"
local cut = require("koine.data.text").cut

local URL_MAX = 200     -- bytes of a URL in a message
local MESSAGE_MAX = 450 -- bytes of a message with a URL: a title before it fits too

-- A URL without user, password, query, fragment and secrets.
local function shown(url, secrets)
  url = url:gsub("[?#].*$", ""):gsub("^(%a+://)[^/]*@", "%1")
  url = core.redact(url, secrets or {})
  return #url <= URL_MAX and url or url:sub(1, URL_MAX) .. "…"
end

--- Adds to the message of an error with status 404 which URL answered so: most often it is wrong. `secrets` is an array
-- of what may not be shown; nil: nothing. Any other error stays as it is.
return function(err, url, secrets)
  if err.status_code ~= 404 then return end
  local place = (" (404 from %s)"):format(shown(url, secrets))
  local words = err.message
  if #words + #place > MESSAGE_MAX then
    words = cut(words, MESSAGE_MAX - #place - #"…") .. "…"
  end
  err.message = core.error_line(words .. place)
end
