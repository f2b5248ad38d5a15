-- Reads streams of the provider at the URL given while finalizers poll and close them. A script of its own, because in
-- a small heap the collector comes round often. Prints how many were closed and refused, and what went wrong.

local koine = require "koine"

collectgarbage("setpause", 0)
collectgarbage("setstepmul", 1000)

local claude = koine.anthropic { model = "claude-sonnet-4-5", base_url = arg[1], key = "test-key-1" }
local closed, refused, wrong = 0, 0, {}

local function arm(state, rounds)
  setmetatable({}, { __gc = function()
    if not state.armed then return end
    local ok, err = pcall(state.stream.poll, state.stream)
    if not ok then refused = refused + 1 end
    if not ok and err.field ~= "stream" then wrong[#wrong + 1] = tostring(err) end
    if rounds > 0 then return arm(state, rounds - 1) end
    state.stream:close()
    closed = closed + 1
  end })
end

for round = 1, tonumber(arg[2]) do
  local stream = assert(claude:open "Hi")
  local state = { stream = stream, armed = true }
  arm(state, round % 3)
  for delta in stream.next, stream do
    if delta.text and not ("hello world "):rep(2):find(delta.text, 1, true) then wrong[#wrong + 1] = delta.text end
  end
  state.armed = false
  local response, err = stream:response()
  if not response and err.class ~= "CancelledError" then wrong[#wrong + 1] = tostring(err) end
end

print(("%s closed, %s refused, wrong: %s"):format(closed > 0 and "some" or "none", refused > 0 and "some" or "none",
  table.concat(wrong, " ")))
