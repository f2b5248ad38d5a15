--- Checkers of single values, and what all checkers are made of: see init.lua.

local core = require "koine.core"
local errors = require "koine.data.errors"

local check = {}

local function type_of(value) return value == nil and "nothing" or "a " .. type(value) end

--- Raises the ArgumentError for a value that may be a credential: only its type is shown.
function check.refuse(field, expected, value) core.raise_argument(field, expected, type_of(value)) end

--- The keys of a table, sorted as text: see sorted.lua.
check.names = require "koine.data.check.sorted"

--- Whether a value is a table whose keys are 1..n, or without any: an array, where an object would be a mistake.
function check.is_list(value)
  if type(value) ~= "table" then return false end
  local n, last = 0, 0
  for key in next, value do
    if math.type(key) ~= "integer" or key < 1 then return false end
    n, last = n + 1, math.max(last, key)
  end
  return n == last
end

-- By checker: {expected, keep}, as check.that took them.
local parts = setmetatable({}, { __mode = "k" })

local function make(expected, keep, describe)
  local function checker(value, path)
    local kept, got = keep(value, path)
    if kept == nil then core.raise_argument(path, expected, got or describe(value)) end
    return kept
  end
  parts[checker] = { expected = expected, keep = keep }
  return checker
end

--- The checker of what `keep` keeps: function(value, path) → the value to keep, or nil and, unless errors describe the
-- value itself, what was got in words. `expected` says in errors what belongs there.
function check.that(expected, keep) return make(expected, keep, errors.describe) end

--- The same checker for what may be a credential: its errors show the type only.
function check.secret(c) return make(parts[c].expected, parts[c].keep, type_of) end

--- The same checker with other words for what belongs there.
function check.called(c, expected) return make(expected, parts[c].keep, errors.describe) end

--- The function f(value, path) in place of a checker, whose words others made of it then have.
function check.like(checker, f)
  parts[f] = parts[checker]
  return f
end

local function of_type(name, expected)
  return check.that(expected or name, function(value) if type(value) == name then return value end end)
end

--- A value of one type.
check.string, check.func, check.table = of_type "string", of_type "function", of_type "table"
--- A boolean.
check.boolean = of_type("boolean", "true or false")

--- A value of any type.
check.any = check.that("a value", function(value) return value end)

--- A string that is not empty.
check.nonempty = check.that("non-empty string", function(value)
  if type(value) == "string" and value ~= "" then return value end
end)

--- A string with more in it than white space.
check.name = check.that("string with more than white space", function(value)
  if type(value) == "string" and value:find "%S" then return value end
end)

--- A string that C takes whole.
check.text = check.that("string without NUL", function(value)
  if type(value) == "string" and not value:find("\0", 1, true) then return value end
end)

--- The name of a file or directory.
check.path = check.that("path, a string without NUL", function(value)
  if type(value) == "string" and value ~= "" and not value:find("\0", 1, true) then return value end
end)

--- The path of a file that holds a credential or lies beside one. Errors do not show a value that is none: users put
-- the file's contents here.
check.credential_path = check.that("path of a file", function(value)
  if type(value) ~= "string" then return nil, type_of(value) end
  if not require("koine.data.text").is_path(value) then return nil, "text that is no path" end
  return value
end)

local function is_url(value) return type(value) == "string" and value:find "^https?://[^/%s%c][^%s%c]*$" ~= nil end

--- An http:// or https:// URL, kept as it is. Errors do not show it: it may hold a password.
check.exact_url = check.secret(check.that("http:// or https:// URL", function(value)
  if is_url(value) then return value end
end))

--- The same, kept without a slash at its end.
check.url = check.secret(check.that("http:// or https:// URL", function(value)
  if is_url(value) then return (value:gsub("/$", "")) end
end))

-- "integer, 1 or more", "number, 2 or less", "number from 0 to 2"
local function in_range(word, min, max)
  if min and max then return ("%s from %s to %s"):format(word, min, max) end
  if max then return ("%s, %s or less"):format(word, max) end
  return min and ("%s, %s or more"):format(word, min) or word
end

--- A number from `min` to `max` (nil: no bound), never NaN; `expected` in place of words that name the bounds.
function check.number(min, max, expected)
  min, max, expected = min or -math.huge, max or math.huge, expected or in_range("number", min, max)
  return check.that(expected, function(value)
    if type(value) == "number" and value >= min and value <= max then return value end
  end)
end

--- A whole number from `min` to `max` (nil: no bound), kept as an integer: 5.0 counts as 5.
function check.integer(min, max)
  local expected = in_range("integer", min, max)
  min, max = min or math.mininteger, max or math.maxinteger
  return check.that(expected, function(value)
    local whole = math.type(value) and math.tointeger(value)
    if whole and whole >= min and whole <= max then return whole end
  end)
end

local function is_positive(value) return type(value) == "number" and value > 0 end

--- A number above 0, which may be infinite.
check.positive = check.that("number, more than 0", function(value) if is_positive(value) then return value end end)

--- A finite number of seconds, 0 or more.
check.seconds = check.that("number of seconds, 0 or more", function(value)
  if type(value) == "number" and value >= 0 and value < math.huge then return value end
end)

--- A finite number of seconds above 0.
check.time_limit = check.that("seconds, more than 0", function(value)
  if is_positive(value) and value < math.huge then return value end
end)

-- Words in quotes: '"a", "b" or "c"'.
local function quoted(words)
  local list = {}
  for i, word in ipairs(words) do list[i] = '"' .. word .. '"' end
  local last = table.remove(list)
  return list[1] and table.concat(list, ", ") .. " or " .. last or last
end

--- One of the words of an array.
function check.one_of(words)
  local known = {}
  for _, word in ipairs(words) do known[word] = true end
  return check.that(quoted(words), function(value) if known[value] then return value end end)
end

--- An object (table or userdata) with a method of that name; `expected` is what such an object is called.
function check.method(name, expected)
  return check.secret(check.that(expected, function(value)
    local ok, method = pcall(function() return value[name] end)
    if check.is_memory(method) then error(method, 0) end
    if ok and type(method) == "function" then return value end
  end))
end

--- Makes a checker for values that fit one of the checkers, asked in their order; `expected` says it for all of them.
function check.either(expected, ...)
  local keeps = {}
  for i, c in ipairs { ... } do keeps[i] = parts[c].keep end
  return check.that(expected, function(value, path)
    local kept, got
    for _, keep in ipairs(keeps) do
      kept, got = keep(value, path)
      if kept ~= nil then return kept end
    end
    return nil, got
  end)
end

--- The array of messages that the argument `messages` of a call stands for, which was checked before: a new one for a
-- string, which is one message of the user, else `given` itself.
function check.message_list(given)
  if type(given) == "string" then return { { role = "user", content = given } } end
  return given
end

--- The same of what was not: raises an ArgumentError for what can be no list; the core checks each message.
function check.messages(given)
  if type(given) == "string" then return check.message_list(given) end
  if type(given) ~= "table" then check.refuse("messages", "string or array of messages", given) end
  if given.role ~= nil then core.raise_argument("messages", "array of messages", "a single message") end
  return given
end

--- Whether `err`, which pcall caught, is Lua's own when no memory is left. Code that takes an error
-- for an answer raises this one again.
function check.is_memory(err) return err == "not enough memory" end

--- The checker for a value that can be asked as an adapter can.
check.adapter = check.method("chat", "adapter")

--- Says what is wrong with a credential, in words that do not show it; nil when it is fit for a header.
function check.key_problem(key)
  if type(key) ~= "string" then return type_of(key) end
  if key == "" then return "an empty string" end
  if key:find "\n$" then return "one that ends with a newline" end
  if key:find "%c" then return "one with control characters" end
  if key:find "^%s" or key:find "%s$" then return "one with white space around it" end
end

--- A credential that is fit for a header; errors do not show it.
check.key = check.that("string without control characters or white space around it", function(value)
  local problem = check.key_problem(value)
  if problem then return nil, problem end
  return value
end)

--- The same, or a function, which gives one when it is called.
function check.key_source(value, path) return type(value) == "function" and value or check.key(value, path) end

return check
