--- What the Lua programs of the benchmark share: adapters for its server, the process's memory, a line a figure.
-- A program is called with WHAT LABEL URL and numbers; it prints `LABEL… value unit`. CPU is the process's own, user
-- and system, the collector's included.

local koine = require "koine"

local kit = {}

--- The adapters by the format of their requests: makes one whose requests go to base_url.
local MAKERS = {
  anthropic = koine.anthropic,
  openai = function(given)
    given.api, given.base_url = "chat", given.base_url .. "/v1"
    return koine.openai(given)
  end,
  responses = function(given)
    given.api, given.base_url = "responses", given.base_url .. "/v1"
    return koine.openai(given)
  end,
  gemini = koine.gemini,
  ollama = koine.ollama,
}

--- An adapter of this format (a name in MAKERS) whose requests begin with `path` ("/stream/100"), which tells the
-- server what to answer. `more` is a table of further fields, nil for none.
function kit.adapter(url, format, path, more)
  local given = { model = "bench-1", key = "bench-key", base_url = url .. path, retry = false }
  for name, value in pairs(more or {}) do given[name] = value end
  return MAKERS[format](given)
end

--- Prints a figure: LABEL and `suffix` are its name.
function kit.report(label, suffix, value, unit) print(("%s%s %.4g %s"):format(label, suffix, value, unit)) end

-- A line of /proc/self/status, MiB.
local function status(name)
  for line in io.lines "/proc/self/status" do
    local kib = line:match("^" .. name .. ":%s*(%d+)")
    if kib then return kib / 1024 end
  end
end

--- MiB in use.
function kit.memory() return status "VmRSS" end

--- The most MiB that ever were in use.
function kit.peak() return status "VmHWM" end

--- Runs the function of `programs` that the command line names, with LABEL, URL and the numbers behind them.
function kit.main(programs)
  local program = programs[arg[1]] or error("no such program: " .. tostring(arg[1]))
  local numbers = {}
  for i = 4, #arg do numbers[#numbers + 1] = tonumber(arg[i]) or arg[i] end
  program(arg[2], arg[3], table.unpack(numbers))
end

return kit
