--- The one type of error: what its tables can do, how Lua code makes and raises them.
-- An error is a table: class, kind, message, and where known status_code, provider (row name), retry_after (seconds),
-- retryable (boolean), request_id, server_time (Unix seconds by the provider's clock, where it refused credentials),
-- code (the provider's own), attempts, partial (a Response), raw (capped body), traceback (of the task that raised
-- it), where ("FILE:LINE" of the user's that raised it: of wrong use, and of what ended a task); an ArgumentError has
-- field and expected, a NotImplementedError adapter and method. The core makes most of them and chooses class and
-- retryable from the kind; this module fills the metatable they share. Kinds and their classes: data/vocabulary.lua,
-- docs/errors.md.

local core = require "koine.core"

local errors = {}

-- Positions in raised errors pass over Koine's own files, to the line that called.
core.own_source(select(3, core.frame(1)):match "^(.-)data[/\\][^/\\]*$")

local methods = {}

--- True when the error is of that class; "Error" holds for all.
function methods:is(class) return class == "Error" or class == self.class end

core.error_mt.__name = "koine.error"
core.error_mt.__index = methods

-- Functions of Lua's that turn a value into text: when one of them asks, the message alone is meant.
local PRINTING = { [tostring] = true, [string.format] = true }
if print then PRINTING[print] = true end
local RAISING = { [error] = true, [assert] = true }

-- True when an interpreter's message handler asks for the text, `level` being the function that asks: the error was
-- raised and not caught.
local function is_uncaught(level)
  local what, handler = core.frame(level + 1)
  local _, raiser = core.frame(level + 2)
  return what == "C" and not PRINTING[handler] and RAISING[raiser] == true
end

-- The message of an error that was not caught: behind the user's file and line, before the traceback (the task's, where
-- a task raised it).
local function in_full(err, message, level)
  local where = err.where or core.where()
  if where and message:sub(1, #where) ~= where then message = where .. ": " .. message end
  return message .. "\n" .. (err.traceback or core.traceback(nil, nil, level + 2))
end

core.error_mt.__tostring = function(err)
  local message = core.error_line(tostring(rawget(err, "message") or err.class))
  return is_uncaught(2) and in_full(err, message, 2) or message
end
core.error_mt.__concat = function(left, right) return tostring(left) .. tostring(right) end

-- How Lua writes a place before a message: a file, a file without the usual ending, a chunk without a file.
local PLACES = { "^[^\n:]+%.lua:%d+: ", "^[^\n:]*/[^\n:]*:%d+: ", '^%[string "[^\n]-"%]:%d+: ' }

--- Returns an error's words (of any type), for people and models: without the place in a source file before it, and
-- without a traceback behind it.
function errors.words(err)
  local words = tostring(err)
  local where = errors.is_error(err) and err.where
  if where and words:sub(1, #where + 2) == where .. ": " then return words:sub(#where + 3) end
  words = words:gsub("%s+stack traceback:.*$", "")
  for _, place in ipairs(PLACES) do
    local _, last = words:find(place)
    if last then return words:sub(last + 1) end
  end
  return words
end

--- Makes an error of fields: `kind` and `message` are required, class and retryable follow from the kind unless given.
-- The fields' table becomes the error. Raises an ArgumentError when kind or message is missing.
function errors.new(fields)
  if type(fields.kind) ~= "string" then core.raise_argument("kind", "string", errors.describe(fields.kind)) end
  if type(fields.message) ~= "string" then core.raise_argument("message", "string", errors.describe(fields.message)) end
  fields.message = core.error_line(fields.message)
  if type(fields.field) == "string" then fields.field = core.error_line(fields.field) end
  fields.class = fields.class or core.error_class(fields.kind, fields.status_code)
  if fields.retryable == nil then fields.retryable = core.error_retryable(fields.kind) end
  return setmetatable(fields, core.error_mt)
end

--- True when `value` is one of Koine's errors.
function errors.is_error(value) return type(value) == "table" and getmetatable(value) == core.error_mt end

local SHOWN = 40 -- bytes of a value that an error shows

local function shortened(whole)
  local kept, was_cut = require("koine.data.text").cut(whole, SHOWN)
  return was_cut and kept .. "…" or kept
end

--- A value in words, for "… expected, got …": a quoted and cut string, a number, "a table", "nothing". What has the
-- look of a credential is not shown.
function errors.describe(value)
  local kind = type(value)
  if kind == "nil" then return "nothing" end
  if kind == "string" then
    if require("koine.data.text").may_be_secret(value) then return "a string that may be a credential" end
    return (string.format("%q", shortened(value)):gsub("\\\n", "\\n"))
  end
  if kind == "number" or kind == "boolean" then return tostring(value) end
  if value == core.null then return "null" end
  return "a " .. kind
end

--- Raises an ArgumentError at the caller's line: "FIELD: EXPECTED expected, got GOT".
function errors.argument(field, expected, value) core.raise_argument(field, expected, errors.describe(value)) end

--- Raises a NotImplementedError at the caller's line; `adapter` is its title, `method` the name of what it lacks,
-- `hint` what there is instead (nil: nothing is said).
function errors.not_implemented(adapter, method, hint)
  core.raise(errors.new { kind = "not_implemented", adapter = adapter, method = method,
    message = adapter .. " does not implement " .. method .. (hint and "; " .. hint or "") })
end

--- The error that an answer of core.request stands for: {status, headers, body} with a status outside 200–299, and the
-- `url` that answered, which a 404 names. `provider` is the row's name, `secrets` an array of what may not be shown,
-- `id_header` and `codec` the row's, nil for none.
function errors.from_answer(provider, answer, secrets, id_header, codec)
  local err = core.answer_error(provider, answer, secrets, id_header, codec)
  if answer.url then require "koine.data.name_url"(err, answer.url, secrets) end
  return err
end

-- pcall's results, or nil and the error where it is Koine's own; others go on unchanged.
local function settle(ok, ...)
  if ok then return ... end
  local err = ...
  if errors.is_error(err) then return nil, err end
  error(err, 0)
end

--- Calls f with the arguments; returns its results, or nil and the error when it raises one of Koine's.
-- Whatever else f raises goes on unchanged.
function errors.try(f, ...) return settle(pcall(f, ...)) end

local later = {}

-- `classes`: the classes, an array in the order of the documentation, made when it is first asked for.
-- `err:is "Error"` is true for every one of them.
function later.__index(_, name)
  if name ~= "classes" then return nil end
  errors.classes = require("koine.data.vocabulary").classes
  return errors.classes
end

function later.__pairs()
  errors.classes = errors.classes -- it is among them
  return next, errors
end

return setmetatable(errors, later)
