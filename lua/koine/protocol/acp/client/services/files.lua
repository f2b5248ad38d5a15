--- Files of the client: the agent reads and writes them through the executor, which lets it touch nothing outside of
-- its working directory.

local errors = require "koine.data.errors"
local read = require "koine.protocol.acp.client.read"

local files = {}

local INVALID, INTERNAL, NOT_FOUND = -32602, -32603, -32002

-- The answer for an error of the executor.
local function refusal(err)
  return { code = err.code == "absent" and NOT_FOUND or INTERNAL, message = errors.words(err) }
end

-- A path, or nil and the answer that says what is wrong with it.
local function path_of(params)
  local path = read.text(read.at(params, "path"))
  if path and path:sub(1, 1) == "/" and not path:find("\0", 1, true) then return path end
  return nil, { code = INVALID, message = "path: absolute path expected" }
end

-- A whole number of lines from `least` on, or nil.
local function count(value, least)
  local whole = math.type(value) and math.tointeger(value)
  return whole and math.max(whole, least) or nil
end

--- The handler of fs/read_text_file.
function files.read(link)
  return function(params)
    local path, problem = path_of(params)
    if not path then return nil, problem end
    local limit = count(params.limit, 0)
    if limit == 0 then return { content = "" } end
    local content, err = link.options.executor:read_text(path, { line = count(params.line, 1), limit = limit })
    if not content then return nil, refusal(err) end
    return { content = content }
  end
end

--- The handler of fs/write_text_file.
function files.write(link)
  return function(params)
    local path, problem = path_of(params)
    if not path then return nil, problem end
    if not read.text(params.content) then return nil, { code = INVALID, message = "content: string expected" } end
    local ok, err = link.options.executor:write_text(path, params.content)
    if not ok then return nil, refusal(err) end
    return {} -- the schema has no null here
  end
end

return files
