--- Whether the interpreter is one that Koine runs on. Written in the syntax that all Lua versions since 5.1 share, and
-- loaded before everything else: others stop at syntax that they do not know, or in the C module.

-- Returns nil for an interpreter that will do, else one sentence that names it. `version` is _VERSION, `jit` LuaJIT's
-- table of that name, nil elsewhere.
return function(version, jit)
  local major, minor = tostring(version):match "^Lua (%d+)%.(%d+)"
  major, minor = tonumber(major), tonumber(minor)
  if type(jit) ~= "table" and major and (major > 5 or major == 5 and minor >= 4) then return nil end
  local name = type(jit) == "table" and tostring(jit.version or "LuaJIT") or tostring(version)
  return "Koine needs Lua 5.4 or later, this is " .. name .. "."
end
