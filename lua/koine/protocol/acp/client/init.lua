--- The client of the Agent Client Protocol: a connection to an agent's program, and its sessions.
--
--   local connection <close> = assert(koine.acp.connect { command = "claude-agent-acp", permission = "read" })
--   local session = assert(connection:new { cwd = "/home/ann/repo" })
--   print(assert(session:prompt "What is this repository about?").text)
--
-- Each session has a process of its own, unless `share` is true: an agent that waits for one session's permission may
-- hold up the others. A connection belongs to who made it, not to the task that did.

local failure = require "koine.protocol.acp.client.failure"
local opening = require "koine.protocol.acp.client.opening"
local options = require "koine.protocol.acp.client.options"
local pools = require "koine.protocol.acp.client.pool"
local read = require "koine.protocol.acp.client.read"
local servers = require "koine.protocol.acp.client.servers"
local sessions = require "koine.protocol.acp.client.session"
local wait = require "koine.task.wait"

local client = {}

local PAGES_MAX, LIST_BYTES = 1000, 16 << 20 -- of a list of sessions

local methods = {}
local metatable = { __index = methods, __name = "koine.acp", __close = function(self) self:close() end }

function metatable.__tostring(self)
  return ("koine.acp (%s%s)"):format(self.settings.command, self.pool.closed and ", closed" or "")
end

-- Sessions -----------------------------------------------------------------------------------------------------------

-- A session without a link, or nil, err where its directory cannot be entered.
local function prepare(self, id, given)
  local kept = options.of_session(given, self.settings)
  servers.secrets(kept.mcp_servers) -- raises for wrong ones before a program is started
  local directory, err = opening.directory(kept.cwd)
  if not directory then return nil, err end
  kept.cwd = directory
  return sessions.new(self.pool, id, kept)
end

-- Begins a session in a link of its own by `how`(session, link): the session, or nil, err.
local function begin(self, id, given, how)
  self.pool:check()
  local session, unfit = prepare(self, id, given)
  if not session then return nil, unfit end
  local link, err = self.pool:link_for(session.settings)
  if not link then return nil, err end
  local ok, problem = how(session, link)
  if not ok then
    if session.id then link:leave(session) end
    if not self.pool.is_shared then link:close() end
    return nil, problem
  end
  self.pool:remember(session)
  return session
end

--- Makes a session: a session (client/session.lua), or nil, err: kind auth where the agent asks for a login; connect,
-- timeout; invalid_request for options that it has not; as the agent answers. Options, those of the connection where
-- they are left out:
--   cwd            the directory that it works in; else this process's
--   mcp_servers    array of {name, command, args, env} and {name, url, headers}, or a table of these by name
--   directories    array of further directories, absolute
--   model, mode, thinking   what is chosen of the agent's options
--   permission, allowed_tools, on_update, observer   as connect has them
-- Raises an ArgumentError.
function methods:new(given)
  return begin(self, nil, given, function(session, link)
    local reply, err = opening.new(link, session.settings)
    if not reply then return nil, err end
    session.id, session.cost_base = reply.sessionId, 0
    link:enter(session)
    return sessions.adopt(session, link, reply)
  end)
end

-- Begins a session that the agent knows.
local function again(self, id, given, how)
  return begin(self, options.id(id), given, function(session, link)
    link:enter(session)
    session.loading = true
    local reply, err = how(link, session)
    session.loading = false
    link.peer:drop(id)
    if not reply then return nil, err end
    return sessions.adopt(session, link, reply)
  end)
end

--- Loads a session of the agent by its id, with its history, which makes no events: a session, or nil, err (code
-- "unsupported" where the agent cannot). Options as for new. Raises an ArgumentError.
function methods:load(id, given) return again(self, id, given, opening.load) end

--- Resumes a session of the agent by its id: a session, or nil, err as load.
function methods:resume(id, given) return again(self, id, given, opening.resume) end

--- Takes a session up as well as the agent can: resumes it, else loads it, else makes a new one, whose field `reset`
-- is then true: a session, or nil, err. Options as for new. Raises an ArgumentError.
function methods:take_up(id, given)
  return begin(self, options.id(id), given, function(session, link) return sessions.take_up(session, link) end)
end

-- A page of the list: {sessions, nextCursor}, or nil, err; in the time until `latest`.
local function page(link, given, cursor, latest)
  local left = latest - wait.now()
  if left <= 0 then return nil, failure.late("total", "the agent's list of sessions did not end in time") end
  return link:request("session/list", { cwd = given.cwd, cursor = cursor }, left)
end

-- Adds the sessions of a page to a list.
local function add(list, reply)
  for _, one in ipairs(read.list(reply.sessions)) do
    local id = read.text(read.at(one, "sessionId"))
    if id then
      list[#list + 1] = { id = id, cwd = read.text(one.cwd), title = read.text(one.title),
        updated_at = read.text(one.updatedAt) }
    end
  end
end

-- All pages of the list: array, or nil, err.
local function pages(link, given, seconds)
  local latest, list, seen, size, cursor = wait.now() + seconds, {}, {}, 0, nil
  for _ = 1, PAGES_MAX do
    local reply, err = page(link, given, cursor, latest)
    if not reply then return nil, err end
    add(list, reply)
    cursor, size = read.text(reply.nextCursor), size + read.size(reply)
    if not cursor then return list end
    if seen[cursor] then return nil, failure.endless("protocol", nil, "the same cursor came twice") end
    seen[cursor] = true
    if size > LIST_BYTES then return nil, failure.endless("limit", "bytes", "it is too long") end
  end
  return nil, failure.endless("limit", "pages", ("more than %d pages"):format(PAGES_MAX))
end

--- The sessions that the agent knows: array of {id, cwd, title, updated_at}, or nil, err: code "unsupported"; kind
-- timeout (code "total") where the whole list does not come within timeout.session; protocol for a cursor that comes
-- twice; limit (code "pages" or "bytes") for a list without end. opts.cwd: those of a directory (absolute). Raises an
-- ArgumentError.
function methods:list(given)
  given = options.session(given == nil and {} or given)
  self.pool:check()
  local link, err = self.pool:link_for(self.settings)
  if not link then return nil, err end
  self.pool:give_back(link)
  if not link.capabilities.list then return nil, failure.unsupported "session/list" end
  return pages(link, given, self.settings.timeout.session)
end

--- Ends all sessions and processes. Returns nothing; any number of times.
function methods:close() self.pool:close() end

--- koine.acp.check(opts): checks options of connect, and returns nothing. Raises an ArgumentError.
function client.check(given) servers.secrets(options.connect(given).mcp_servers) end

--- koine.acp.connect(opts): starts an agent's program and greets it: a connection, or nil, err: kind connect where it
-- cannot be started or ends (the message has its last words), protocol (code "version") where it speaks another
-- version, timeout. Options:
--   command      name or path of the program (required); `args`: array of its arguments
--   env          {NAME = value}: variables besides HOME, PATH, USER, LANG and TMPDIR, which alone it inherits
--   cwd          the directory of its sessions; else this process's
--   auth         id of the method of login that is used where the agent asks for one
--   permission   "deny" (default), "read", "allow", or function(request) → id of an option, or nil and a reason
--   allowed_tools  array of names or kinds of tools; permission is denied for others
--   executor     a koine.executor: the agent may then have files read and written, and commands run, through it
--   on_elicit    function(question) → {action, content}: answers questions of the agent to its user
--   on_update    function(update, session): what comes between turns;   on_log  function(line) of its standard error
--   observer     function of one record, or object with a method record: is told of each prompt (docs/observing.md)
--   share        true: one process for all sessions
--   timeout      {start = 30, session = 120, idle = 600, total, permission = 600, stop = 30}: seconds
--   grace        seconds between the end of its input and SIGTERM, and between that and SIGKILL, 2
--   output_max   bytes that it may say in a turn, 64 MiB
--   mcp_servers, directories, model, mode, thinking   of all sessions, as `new` has them
-- Fields: agent ({name, title, version}), capabilities (booleans: load, resume, list, close, directories, image, audio,
-- embedded, http, sse; and `raw`), auth_methods (array of {id, name, type}). Raises an ArgumentError.
function client.connect(given)
  local kept = options.connect(given)
  servers.secrets(kept.mcp_servers)
  local pool = pools.new(kept)
  local link, err = pool:begin()
  if not link then return nil, err end
  return setmetatable({ settings = kept, pool = pool, agent = link.agent, capabilities = link.capabilities,
    auth_methods = link.auth_methods }, metatable)
end

return client
