--- Has the collector work at each allocation, so that finalizers run wherever they can. Returns a function that has it
-- work as before.

-- Sets a parameter of the collector, "pause" or "stepmul"; returns what it was.
local function set(name, value)
  if _VERSION == "Lua 5.4" then return collectgarbage("set" .. name, value) end
  return collectgarbage("param", name, value)
end

return function()
  local pause, speed = set("pause", 0), set("stepmul", 1000)
  return function()
    set("pause", pause)
    set("stepmul", speed)
  end
end
