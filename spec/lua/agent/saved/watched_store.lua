--- A store around another one that notes every call, and hands some of them to the test.

local METHODS = { "get", "put", "delete", "list", "lease", "release", "take", "push", "claim", "ack", "unclaim",
  "watch", "describe", "close" }

--- watched(store, hooks): `hooks` is {method name = function(go, …) → what the method shall return}, where go(…) asks
-- the store; it may be changed at any time. The calls are counted in the field `calls`, by method.
return function(store, hooks)
  local self = { calls = {}, hooks = hooks or {} }
  for _, name in ipairs(METHODS) do
    self.calls[name] = 0
    local function go(...) return store[name](store, ...) end
    self[name] = function(_, ...)
      self.calls[name] = self.calls[name] + 1
      local hook = self.hooks[name]
      if hook then return hook(go, ...) end
      return go(...)
    end
  end
  return self
end
