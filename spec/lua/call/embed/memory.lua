--- memory.lua URL AS COUNT: embeds one text, then so many, in a process of its own. Prints by how many bytes the second
-- call made the process grow at its peak, and how many numbers its result has. Only Linux tells the peak.

local koine = require "koine"

local url, as, count = arg[1], arg[2], math.tointeger(arg[3])

-- A line of the process's status, in bytes.
local function status(name)
  local file <close> = assert(io.open "/proc/self/status")
  return tonumber(file:read("a"):match(name .. ":%s*(%d+) kB")) << 10
end

local adapter = koine.openai { key = "test-key-of-embeddings", base_url = url .. "/v1", retry = false }
local options = { model = "text-embedding-3-small", as = as }
local texts = {}
for i = 1, count do texts[i] = "text " .. i end

assert(adapter:embed("text", options)) -- whatever is made once is there
collectgarbage()
local before = status "VmRSS"
local result = assert(adapter:embed(texts, options))
assert(#result.vectors == count)
print(status "VmHWM" - before, count * result.dimensions)
