-- An agent that says the lines which a plan has for each method that it hears. arg[1] is a Lua file that returns
-- {method = array of texts}, in which $ID is the id of the request. Where no line is an answer it ends, so that nobody
-- waits for it.

local plan = dofile(arg[1])
io.stdout:setvbuf "full"

for line in io.lines() do
  local method, id = line:match '"method":"([^"]*)"', line:match '"id":(%d+)'
  local said = false
  for _, text in ipairs(plan[method] or {}) do
    local whole, count = text:gsub("%$ID", id or "0")
    said = said or count > 0
    io.write(whole)
  end
  io.flush()
  if id and method and not said then break end
end
