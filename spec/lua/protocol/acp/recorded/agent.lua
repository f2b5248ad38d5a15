-- agent.lua FILE SIZE LOG: plays back a recorded agent (spec/agents/recorder.lua): it says what that said, in pieces of
-- SIZE bytes, and hears what that heard. What it hears instead ends it, with the difference as its last words. LOG gets
-- what it heard after the end of the recording.

local core = require "koine.core"

local size, directory = math.tointeger(tonumber(arg[2])), "$CWD"

io.stdout:setvbuf "full"

local function say(line)
  for at = 1, #line, size do
    io.write(line:sub(at, at + size - 1))
    io.flush()
  end
end

-- A recorded message as a line, in the directory of this run.
local function line_of(message)
  return (core.encode(message):gsub("%$CWD", function() return directory end)) .. "\n"
end

local function hear(wanted)
  local line = io.read "l"
  local heard = line and core.decode(line) or {}
  if wanted.method == "session/new" and heard.method == wanted.method then directory = heard.params.cwd end
  if wanted.method == "initialize" then heard.params, wanted.params = nil, nil end -- it has Koine's version
  if core.encode(heard) .. "\n" ~= line_of(wanted) then
    io.stderr:write("heard ", tostring(line), " for ", line_of(wanted))
    os.exit(3)
  end
end

for line in io.lines(arg[1]) do
  local entry = core.decode(line)
  if entry.client then hear(entry.client) else say(line_of(entry.agent)) end
end

local log <close> = assert(io.open(arg[3], "w"))
log:write("after: ", io.read "a")
