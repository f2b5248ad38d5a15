-- A served agent, as a program: its argument is JSON of {steps (of a playbook, by session where it is a list of lists),
-- tools (names of those below), store (directory), log (path: what observers are told), serve (options of
-- koine.acp.serve), after (true: prints at its end; "stderr": there)}, or the file @PATH that holds it; see below for
-- more.

local core = require "koine.core"
local koine = require "koine"

local path = arg[1]:match "^@(.*)$"
local config = core.decode(path and assert(koine.files.read(path)) or arg[1])

local function tool(name, run, more)
  local given = { name = name, description = "A test.", run = run }
  for field, value in next, more or {} do given[field] = value end
  return koine.tool(given)
end

local TOOLS = {
  shout = tool("shout", function()
    print "stray print"
    io.write "stray write\n"
    os.execute "echo stray child"
    return "shouted"
  end),
  pay = tool("pay", function() return "paid" end, { needs_approval = true, title = "Pay", kind = "other" }),
  look = tool("look", function(args) return "saw " .. args.what end, { example = { what = "string" }, kind = "read",
    title = function(args) return "Look at " .. args.what end,
    locations = function(args) return { args.what, { path = "/etc/x", line = 3 } } end }),
  picture = tool("picture", function()
    return { { type = "text", text = "a dot" }, { type = "image", source = "iVBORw0KGgo=", media_type = "image/png" } }
  end),
  sleep = tool("sleep", function(args)
    return koine.process.run { "sh", "-c", "echo $$ >" .. args.file .. "; sleep 60 & echo $! >>" .. args.file
      .. "; mv " .. args.file .. " " .. args.file .. ".ready; wait" }
  end, { example = { file = "string" } }),
  fails = tool("fails", function() error "it broke" end),
  dies = tool("dies", function() os.exit(9) end), -- as by a signal: nothing is closed
}

local tools = {}
for i, name in ipairs(config.tools or {}) do tools[i] = TOOLS[name] end

local options = config.serve or {}
local after_login
if config.store then options.sessions = assert(koine.store.file { dir = config.store }) end
if config.approval_of then options.approval = function(name) return name == config.approval_of end end
if config.login then
  local is_in = false
  options.login = { { id = "key", name = "Key", run = function() is_in = true return true end },
    { id = "broken", name = "Broken", run = function() error "never" end } }
  options.logout = function() is_in = false return true end
  function options.agent(session)
    if is_in then return after_login(session) end
    return nil, koine.errors.new { kind = "auth", message = "log in first" }
  end
end

local function agent_with(steps)
  for _, step in ipairs(steps) do -- a command line has room for little
    if step.fill then step.content, step.fill = ("x"):rep(step.fill), nil end
  end
  local book = koine.testing.playbook { steps = steps }
  local adapter = { chat = function(_, messages, opts)
    local said = messages[#messages].content
    if said[1] and said[1].text == "be silent" then koine.sleep(600) end
    return book:chat(messages, opts)
  end, max_context_tokens = function() return 1000 end }
  local fields = { adapter = adapter, tools = tools, observer = config.log and assert(koine.observe.jsonl(config.log)) }
  if config.stop == "tokens" then fields.stop = { koine.agent.tokens(1) } end
  if config.stop == "steps" then fields.stop = { koine.agent.steps(1) } end
  return koine.agent(fields)
end

local made = 0

local function make(session)
  made = made + 1
  local steps = config.steps[(made - 1) % #config.steps + 1]
  if config.tell then -- the model says what the session is
    local said = { session.mode or "", session.options, session.client.name or "nameless", #session.tools }
    steps = { { step = 1, type = "message", content = core.encode(said) } }
  end
  return agent_with(steps)
end

if config.login then
  function after_login(session) return config.by_session and make(session) or agent_with(config.steps) end
else
  options.agent = config.by_session and make or agent_with(config.steps or {})
end

local served, err
local function serve() served, err = koine.acp.serve(options) end

if config.loop then require("spec.lua.net.peers").loops()[config.loop](serve) else serve() end
if config.after == "stderr" then
  io.stderr:write("after ", tostring(served), err and (" %s %s"):format(err.kind, err.code) or "", "\n")
elseif config.after then
  print("after", served, err)
end
