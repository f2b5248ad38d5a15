-- Runs bin/koine as a child process, as a user's shell would: with its own environment, pipes that a spec writes, reads
-- and closes when it likes, signals, and terminals.
--
--   local cli = require "spec.support.cli"
--   local r = cli.run({ "ask", "hello" }, { env = { ANTHROPIC_API_KEY = "k" } })      -- r.code, r.out, r.err
--   local child = cli.start({ "chat" })                                               -- and talk to it:
--   child:write "hello\n"; child:expect("out", "Hello."); child:signal "sigint"; local r = child:wait()

local uv = require "luv"

local LUA = os.getenv "KOINE_LUA" or "lua5.4"
local SAFETY = 60000 -- ms; whatever takes longer has hung

-- The variables that a child needs to run at all: no other one of this process's environment is handed on.
local KEPT = { "PATH", "KOINE_LUA", "LD_LIBRARY_PATH", "LD_PRELOAD", "ASAN_OPTIONS", "UBSAN_OPTIONS" }

local cli = {}
local running = {} -- children that were not waited for, as keys

--- Writes a file and returns its path.
function cli.file(path, bytes)
  local file <close> = assert(io.open(path, "wb"))
  assert(file:write(bytes))
  return path
end

--- A port of this machine without a listener.
cli.closed_port = require "spec.support.free_port"

function cli.quote(word) return "'" .. word:gsub("'", "'\\''") .. "'" end

local function environment(given)
  local all = { LUA_PATH = package.path, LUA_CPATH = package.cpath, LC_ALL = "C.UTF-8", TERM = "xterm" }
  for _, name in ipairs(KEPT) do all[name] = os.getenv(name) end
  for name, value in pairs(given or {}) do all[name] = value end
  local list = {}
  for name, value in pairs(all) do list[#list + 1] = name .. "=" .. value end
  return list
end

-- The command for a shell, and for the terminal that script(1) makes of one.
local function command_line(arguments)
  local words = { "exec", cli.quote(LUA), "bin/koine" }
  for _, word in ipairs(arguments) do words[#words + 1] = cli.quote(word) end
  return table.concat(words, " ")
end

local methods = {}
local Child = { __index = methods }

-- Runs the loop until `done()`; raises when that never comes.
local function run_until(child, done, what)
  local hung = false
  local timer = uv.new_timer()
  timer:start(SAFETY, 0, function() hung = true end)
  while not done() and not hung do uv.run "once" end
  timer:close()
  if not hung then return end
  child.handle:kill "sigkill"
  error(("%s never came; out: %s; err: %s"):format(what, child.out, child.err), 2)
end

--- Writes to its standard input.
function methods:write(bytes) assert(self.input:write(bytes)) end

--- Ends its standard input.
function methods:close_input()
  if not self.input:is_closing() then self.input:close() end
end

--- Waits until `text` stands in what it wrote to "out" or "err".
function methods:expect(stream, text)
  run_until(self, function() return self[stream]:find(text, 1, true) or self.closed == self.streams end, text)
  if not self[stream]:find(text, 1, true) then
    error(("%q is not in %q (err: %q)"):format(text, self[stream], self.err), 2)
  end
end

function methods:signal(name) assert(self.handle:kill(name)) end

--- Waits for its end: {code, signal (0 for none), out, err}.
function methods:wait()
  run_until(self, function() return self.code and self.closed == self.streams end, "the end")
  if not self.input:is_closing() then self.input:close() end
  self.handle:close()
  running[self] = nil
  uv.run "nowait"
  return { code = self.code, signal = self.ended_by, out = self.out, err = self.err }
end

local function collect(child, name, pipe)
  child.streams = child.streams + 1
  pipe:read_start(function(err, chunk)
    if chunk then
      child[name] = child[name] .. chunk
      return
    end
    assert(not err, err)
    child.closed = child.closed + 1
    pipe:close()
  end)
end

--- Starts it. Options: env (table over an empty environment), shell (format of a shell command with %s for the
-- program), terminal (true: on a terminal of its own, where `out` is what stands on it), unread (true: the caller does
-- not read its standard output).
function cli.start(arguments, options)
  options = options or {}
  local input, out, err = uv.new_pipe(false), uv.new_pipe(false), uv.new_pipe(false)
  local child = setmetatable({ input = input, out = "", err = "", streams = 0, closed = 0 }, Child)
  local command, stdio, unread = command_line(arguments), { input, out, err }, nil
  if options.shell then command = options.shell:format(command) end
  local file, argv = "sh", { "-c", command }
  if options.terminal then file, argv = "script", { "-qec", command, "/dev/null" } end
  if options.unread then
    unread = uv.pipe({}, {})
    assert(uv.fs_close(unread.read))
    stdio[2] = unread.write
  end
  local failure
  child.handle, failure = uv.spawn(file, { args = argv, stdio = stdio, env = environment(options.env) },
    function(code, signal) child.code, child.ended_by = code, signal end)
  assert(child.handle, failure)
  running[child] = true
  if unread then
    uv.fs_close(unread.write)
    out:close()
  else
    collect(child, "out", out)
  end
  collect(child, "err", err)
  return child
end

--- Ends the children that a failed test left behind: for after_each.
function cli.clean_up()
  for child in pairs(running) do
    running[child] = nil
    if not child.code then child:signal "sigkill" end
    child:wait()
  end
end

--- Starts it with `options.input` (none: empty) as its standard input, and waits for its end.
function cli.run(arguments, options)
  local child = cli.start(arguments, options)
  if options and options.input then child:write(options.input) end
  child:close_input()
  return child:wait()
end

--- busted's `it` where a terminal can be made, else its `pending` with the reason: some containers have no /dev/pts.
function cli.on_terminal(it, pending)
  if os.execute "script -qec true /dev/null >/dev/null 2>&1" then return it end
  return function(name) pending(name .. " (no terminal can be made here)") end
end

return cli
