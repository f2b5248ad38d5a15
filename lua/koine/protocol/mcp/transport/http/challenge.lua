--- The header WWW-Authenticate, by which a server says what credentials it wants (RFC 9110, section 11.6.1). A
-- stranger's words: what cannot be read is left out.

local TOKEN = "[!#$%%&'*+.^_`|~%w-]+"
local LENGTH_MAX = 8192 -- bytes that are read

-- A parameter at `at`: name, value, where it ends; nil where there is none.
local function parameter(text, at)
  local name, after = text:match("^(" .. TOKEN .. ")[ \t]*=[ \t]*()", at)
  if not name then return nil end
  if text:sub(after, after) ~= '"' then
    local value, last = text:match("^(" .. TOKEN .. "[^ \t,]*)()", after)
    if value then return name:lower(), value, last end
    return nil
  end
  local parts, from = {}, after + 1
  while true do
    local stop = text:find('["\\]', from)
    if not stop then return nil end
    parts[#parts + 1] = text:sub(from, stop - 1)
    if text:sub(stop, stop) == '"' then return name:lower(), table.concat(parts), stop + 1 end
    parts[#parts + 1], from = text:sub(stop + 1, stop + 1), stop + 2
  end
end

-- Adds the challenges of a text to a list.
local function read(text, list)
  local at, current = 1, nil
  while at <= #text do
    at = text:match("^[ \t,]*()", at)
    local name, value, after = parameter(text, at)
    if name and current then
      if current[name] == nil then current[name] = value end
      at = after
    else
      local scheme, rest = text:match("^(" .. TOKEN .. ")()", at)
      if not scheme then return end
      current = { scheme = scheme:lower() }
      list[#list + 1] = current
      at = text:match("^[ \t]+[%w._~+/-]+=*()[ \t]*%f[,\0]", rest) or rest -- a token68 says nothing to us
    end
  end
end

--- The challenge of a header's value (nil: there is none) that we can meet: a table of its parameters, names in lower
-- case, with its `scheme` ("bearer"), realm, scope, resource_metadata, error, error_description and others as the
-- server says them. The one of the scheme Bearer, else the first; empty where nothing can be read.
return function(value)
  local list = {}
  read((value or ""):sub(1, LENGTH_MAX), list)
  for _, one in ipairs(list) do
    if one.scheme == "bearer" then return one end
  end
  return list[1] or {}
end
