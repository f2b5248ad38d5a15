--- The lines of KOINE_DEBUG on the standard error output: 1: a line for each request when it is over; 2: heads, too;
-- 3: bodies, too, each cut at BODY_MAX bytes. Lines begin with "koine N", the number of the request. A terminal obeys
-- nothing of them: control characters and what turns the direction of text are escaped; what is no text is a size.

local cut = require("koine.data.text").cut

local BODY_MAX = 16 << 10 -- bytes of a request's body, and of all of an answer's

local function code(character) return ("\\u{%X}"):format(utf8.codepoint(character)) end

-- The text without anything that a terminal obeys.
local function escaped(text)
  return (text:gsub("[\0-\8\10-\31\127]", function(c) return ("\\x%02X"):format(c:byte()) end)
    :gsub("\xC2[\x80-\x9F]", code):gsub("\xE2\x80[\xA8-\xAE]", code):gsub("\xE2\x81[\xA6-\xA9]", code))
end

local function say(id, mark, text)
  if not utf8.len(text) then text = ("[%d bytes that are no text]"):format(#text) end
  io.stderr:write(("koine %d %s %s\n"):format(id, mark, escaped(text)))
end

local function say_head(id, mark, first, headers)
  local names = {}
  for name in next, headers do names[#names + 1] = name end
  table.sort(names)
  say(id, mark, first)
  for _, name in ipairs(names) do say(id, mark, name .. ": " .. headers[name]) end
end

-- Says up to `most` bytes of a body, a line each; returns how many it said.
local function say_body(id, mark, body, most)
  if not utf8.len(body) then
    say(id, mark, body)
    return 0
  end
  local shown, is_cut = cut(body, most)
  for line in shown:gmatch "[^\n]+" do say(id, mark, line) end
  if is_cut then say(id, mark, ("… %d more bytes"):format(#body - #shown)) end
  return #shown
end

-- The line of a request that is over.
local function summary(request, status, part)
  local err = part.error and ("%s: %s"):format(part.error.kind, part.error.message) or part.left and "left" or nil
  return ("%s %s %s %.3f s, %d bytes%s"):format(request.method, request.url, status or "-", part.seconds, part.bytes,
    err and ", " .. err or "")
end

local open = {} -- id → {request, status, room = bytes of the body that may still be said}

--- Functions that say what they are shown at a level (1 to 3): {request = function, response = function}.
return function(level)
  local lines = {}

  function lines.request(request)
    open[request.id] = { request = { method = request.method, url = request.url }, room = BODY_MAX }
    if level >= 2 then say_head(request.id, ">", request.method .. " " .. request.url, request.headers) end
    if level >= 3 and request.body then say_body(request.id, ">", request.body, BODY_MAX) end
  end

  function lines.response(part)
    local known = open[part.id]
    if part.phase == "head" then
      known.status = part.status
      if level >= 2 then say_head(part.id, "<", tostring(part.status), part.headers) end
    elseif part.phase == "body" then
      if level >= 3 and known.room > 0 then known.room = known.room - say_body(part.id, "<", part.body, known.room) end
    else
      open[part.id] = nil
      say(part.id, "=", summary(known.request, known.status, part))
    end
  end

  return lines
end
