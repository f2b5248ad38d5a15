--- Watches a whole run of the specs for credentials that show. Loaded by busted before the first spec (.busted).
-- The credentials of every attempt that any spec makes are written down as the core gets them. Every error table that
-- comes into being is searched for all of them when the collector takes it: every field, key and nested table, `raw`,
-- `partial`, and what tostring says. So is every Response that is partial, and every other one's warnings: what a
-- successful answer says is left as it came. A secret found fails the run, named by the file it was found
-- after.

local deep = dofile "spec/support/deep.lua"

local watch = { secrets = {}, leaks = {}, searched = 0 }

local SHORTEST = 8 -- bytes: a key like "test" is a word that turns up by itself

--- Returns the content of a Response, as values to search; nil for anything else.
local function open_response(value)
  local meta = getmetatable(value)
  if not meta or meta.__name ~= "koine.response" then return nil end
  return { value:to_table(), value:raw(), value:text() }
end

--- All text that a user could see of an error or a Response.
function watch.text(value) return deep.text(value, open_response) end

--- The credentials, of all that were in use so far, that show in a value: an array.
function watch.search(value)
  local text, found = watch.text(value), {}
  for secret in pairs(watch.secrets) do
    if text:find(secret, 1, true) then found[#found + 1] = secret end
  end
  return found
end

-- The part of a value that may hold no credential.
local function guarded(value)
  if not open_response(value) or value.partial then return value end
  return value.warnings
end

local function on_collect(value)
  watch.searched = watch.searched + 1
  local part = guarded(value)
  if part == nil or type(part) == "table" and next(part) == nil then return end -- a Response without warnings
  for _, secret in ipairs(watch.search(part)) do
    watch.leaks[#watch.leaks + 1] = ("%q in %s"):format(secret, tostring(value))
  end
end

local function note(call)
  for _, secret in ipairs(type(call) == "table" and call.secrets or {}) do
    if #secret >= SHORTEST and secret ~= "[redacted]" then watch.secrets[secret] = true end
  end
end

-- Calls that bring credentials write them down first. A tail call, so that positions in errors stay the caller's.
local function noting(f)
  return function(self, call, ...)
    note(call)
    return f(self, call, ...)
  end
end

local function install(core)
  core.adapter_methods.start = noting(core.adapter_methods.start)
  core.stream_methods.restart = noting(core.stream_methods.restart)
  core.request = noting(core.request)
  local target = core.target
  core.target = function(call)
    note(call)
    return target(call)
  end
  core.error_mt.__gc = on_collect
  debug.getregistry()["koine.response"].__gc = on_collect
  return core
end

package.preload["koine.core"] = function(name)
  local path = assert(package.searchpath(name, package.cpath))
  return install(assert(package.loadlib(path, "luaopen_koine_core"))(name, path))
end
package.loaded["spec.support.run.secret_watch"] = watch

local busted = require "busted"
busted.subscribe({ "file", "end" }, function(element, parent)
  collectgarbage()
  collectgarbage() -- what the first one's finalizers let go of
  local leaks = watch.leaks
  watch.leaks = {}
  if #leaks > 0 then
    busted.publish({ "error", "file" }, element, parent, "credentials show:\n" .. table.concat(leaks, "\n"), {})
  end
  return nil, true
end)

return watch
