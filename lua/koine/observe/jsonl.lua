--- Records as lines of JSON in a file: one record a line, its keys sorted. A file at a path has mode 0600, and several
-- processes may add to it: lines stay whole.

local check = require "koine.data.check"
local core = require "koine.core"

local methods = {}
local log_mt = { __index = methods, __name = "koine.observe.jsonl" }

local OPTIONS = check.options { rotate = check.integer(1) }

--- Adds a record (table). Raises where it cannot be written: an observer's error, which koine.observe.errors() counts.
function methods:record(record)
  if not self.file then core.raise_argument("log", "a log that is open", "a closed one") end
  local line = core.encode(record) .. "\n"
  local written, problem
  if self.rotate then
    written, problem = self.file:append(line, self.rotate)
  else
    written, problem = self.file:write(line)
    if written then written, problem = self.file:flush() end
  end
  if not written then error(problem, 0) end
end

--- Closes the file, unless the caller opened it. Any number of times.
function methods:close()
  if self.file and self.rotate then self.file:close() end
  self.file = nil
end
log_mt.__close = methods.close

check.colons(methods, log_mt, "log")

--- An observer that writes records to a file: `to` is a path, whose file is made when it is missing and grows at its
-- end, or an open file of io. opts: {rotate = bytes}: a file at a path that has so many becomes PATH.1, in place of an
-- older one, before the next line. Returns the observer, with a method close and <close>; nil, err when the file cannot
-- be opened. Raises an ArgumentError.
return function(to, opts)
  local given = OPTIONS(opts == nil and {} or opts)
  if io.type(to) == "file" then return setmetatable({ file = to }, log_mt) end
  check.path(to, "path")
  local file, err = core.log(to)
  if not file then return nil, err end
  return setmetatable({ file = file, rotate = given.rotate or 0 }, log_mt)
end
