--- Sessions in a store: for each a small value for lists and its history, under the name of the agent. A history is
-- replaced only while it is the one that was read or written here last: of two processes that have a session open, the
-- second one to save is told.

local calendar = require "koine.data.calendar"
local core = require "koine.core"
local errors = require "koine.data.errors"

local saved = {}

local PAGE = 50     -- sessions of one list
local ID_MAX = 100  -- bytes
local TIME = 1 << 52 -- microseconds: beyond the year 2100

local methods = {}
local metatable = { __index = methods }

local function key_of(self, what, id) return ("koine.acp/%s/%s/%s"):format(self.name, what, id) end

--- A new id. Those of later sessions come first in lists.
function saved.id()
  local time = math.max(0, TIME - math.floor(core.wall() * 1e6))
  return ("%013x-%s"):format(time, core.random_hex(8))
end

local function is_id(id) return type(id) == "string" and #id <= ID_MAX and id:find "^[%w-]+$" ~= nil end

--- Unix seconds as ISO 8601.
local function time_text(seconds) return seconds and calendar.text(math.floor(seconds)) .. "Z" or nil end

--- Saves a session with that history (an array): true, or nil, err.
function methods:put(session, messages)
  local version, err = self.store:put(key_of(self, "history", session.id), core.encode(messages),
    { if_version = session.version })
  if not version then
    return nil, err ~= nil and errors.is_error(err) and err
      or errors.new { kind = "other", message = "another program has changed it since" }
  end
  session.version = version
  local ok
  ok, err = self.store:put(key_of(self, "list", session.id), core.encode { cwd = session.cwd, title = session.title,
    additional = core.array(session.additional), updated = session.updated, mode = session.values.mode,
    options = session.values.options, cost = session.cost or nil })
  if not ok then return nil, err end
  return true
end

-- The decoded value of a key, and its version: nil alone where there is none; nil, err.
local function read(self, what, id)
  local text, version = self.store:get(key_of(self, what, id))
  if not text then return nil, version end
  local value = core.decode(text)
  if type(value) == "table" then return value, version end
  return nil, errors.new { kind = "protocol", message = ("the saved session %s cannot be read"):format(id) }
end

--- What was saved of a session: {cwd, title, updated, mode, options, cost, messages, version}; nil alone where there is
-- none; or nil, err.
function methods:get(id)
  if not is_id(id) then return nil end
  local kept, err = read(self, "list", id)
  if not kept then return nil, err end
  kept.messages, kept.version = read(self, "history", id)
  if not kept.messages then return nil, kept.version end
  return kept
end

--- A page of sessions: array of SessionInfo, and the cursor of the next page (nil: there is none); or nil, err. `cwd`
-- (nil: any) is their directory.
function methods:list(cwd, cursor)
  local prefix = key_of(self, "list", "")
  local keys, after = self.store:list(prefix, { limit = PAGE, after = is_id(cursor) and prefix .. cursor or nil })
  if not keys then return nil, after end
  local list = core.array {}
  for _, key in ipairs(keys) do
    local id = key:sub(#prefix + 1)
    local kept, err = read(self, "list", id)
    if not kept and err then return nil, err end
    if kept and (not cwd or kept.cwd == cwd) then
      list[#list + 1] = { sessionId = id, cwd = kept.cwd, title = kept.title, updatedAt = time_text(kept.updated),
        additionalDirectories = kept.additional }
    end
  end
  return list, after and after:sub(#prefix + 1)
end

--- Forgets a session: true, or nil, err.
function methods:delete(id)
  if not is_id(id) then return true end
  for _, what in ipairs { "list", "history" } do
    local ok, err = self.store:delete(key_of(self, what, id))
    if not ok then return nil, err end
  end
  return true
end

--- The sessions of the agent of that name in a store.
function saved.new(store, name) return setmetatable({ store = store, name = name }, metatable) end

return saved
