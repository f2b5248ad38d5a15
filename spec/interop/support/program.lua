--- Programs of others, as servers of a spec: each in a temporary folder of its own, on a free port of the
-- loopback interface, ended with the object, and with this process however that ends.

local socket = require "socket"

local program = {}

local WAIT_MAX = 60 -- seconds until a program must be listening; a safety net only

local methods = {}
local Program = { __index = methods, __name = "program" }

--- A word of the shell's.
function program.quote(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

--- A port that was free a moment ago.
program.free_port = require "spec.support.free_port"

--- A new folder that its user alone can read, in the one of the run.
function program.folder()
  local pipe <close> = assert(io.popen 'mktemp -d "${KOINE_INTEROP_TMP:-/tmp}/XXXXXXXX"')
  return assert(pipe:read "l", "no temporary folder")
end

--- Writes a file.
function program.write(path, text)
  local file <close> = assert(io.open(path, "w"))
  assert(file:write(text))
end

--- A file's text; "" when there is none.
function program.read(path)
  local file <close> = io.open(path)
  return file and file:read "a" or ""
end

--- Whether somebody listens on the port.
function program.listens(port)
  local connection = socket.connect("127.0.0.1", port)
  if connection then connection:close() end
  return connection ~= nil
end

-- The shell that runs the program: once its own standard input is closed, by whomever, it asks the program to end, and
-- a moment later kills it and what it started. So it does when it is interrupted or asked to end itself.
local SHELL = [[cd %s; trap : INT TERM HUP; exec 3<&0; setsid %s </dev/null >>log 2>&1 3<&- & child=$!; echo $child >pid
cat <&3 >/dev/null; kill -TERM $child 2>/dev/null
n=0; while [ $n -lt 50 ] && kill -0 $child 2>/dev/null; do sleep 0.02; n=$((n + 1)); done
kill -KILL -$child 2>/dev/null; wait $child 2>/dev/null]]

--- Starts a command (a line for the shell) in the folder; its output goes to the file "log" there. `ready(text)` is
-- asked again and again with that output until it returns something true; it may raise. Returns the program, `ready` in
-- its field `answer`; raises when it ends, or is not ready in a minute.
function program.start(folder, command, ready)
  os.remove(folder .. "/pid")
  local pipe = assert(io.popen(SHELL:format(program.quote(folder), command), "w"))
  local self = setmetatable({ folder = folder, pipe = pipe }, Program)
  local last = socket.gettime() + WAIT_MAX
  repeat
    local ok, answer = pcall(ready, self:log())
    if ok and answer then
      self.answer = answer
      return self
    end
    socket.sleep(0.02)
    local over = not ok or socket.gettime() > last or self:ended()
    if over then
      local log = self:log()
      self:stop()
      error(("%s did not start: %s%s"):format(command, ok and "" or tostring(answer), log), 2)
    end
  until false
end

--- Returns the output of the program so far.
function methods:log() return program.read(self.folder .. "/log") end

--- Sends the program's first process a signal, by its name ("QUIT"); with `all` the others too.
function methods:signal(name, all)
  local pid = assert(program.read(self.folder .. "/pid"):match "%d+")
  return (os.execute(("kill -%s %s%s 2>/dev/null"):format(name, all and "-" or "", pid)))
end

--- Whether the program has ended.
function methods:ended()
  local pid = program.read(self.folder .. "/pid"):match "%d+"
  if not pid then return false end
  local state = program.read("/proc/" .. pid .. "/stat"):match "^.*%) (%a)"
  return state == nil or state == "Z"
end

--- Ends the program and waits for its end. Any number of times.
function methods:stop()
  if not self.pipe then return end
  self.pipe:close()
  self.pipe = nil
end

Program.__close = methods.stop
Program.__gc = methods.stop

return program
