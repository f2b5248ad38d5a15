--- Contexts: what work takes as its parent. A context is {trace, id, type, above = its parent's type, hook,
-- conversation}, of which all but trace and id may be nil; that of another program's work has these two alone. Its
-- tostring is a traceparent, as W3C Trace Context writes it. Nothing here fails.

local check = require "koine.data.check"

local context = {}

local TRACE_DIGITS, SPAN_DIGITS = 32, 16

local context_mt = { __name = "koine.observe.context" }

--- Its traceparent.
function context_mt:__tostring() return ("00-%s-%s-01"):format(self.trace, self.id) end

--- A context of these fields (a table, kept).
function context.new(fields) return setmetatable(fields, context_mt) end

-- Reads a traceparent; all zeros is no id.
local function read_traceparent(text)
  local version, trace, id, rest = text:match "^(%x%x)%-(%x+)%-(%x+)%-%x%x(.*)$"
  if not version or version == "ff" or #trace ~= TRACE_DIGITS or #id ~= SPAN_DIGITS then return nil end
  if text:find "%u" or rest ~= "" and (version == "00" or rest:sub(1, 1) ~= "-") then return nil end
  if not trace:find "[^0]" or not id:find "[^0]" then return nil end
  return context.new { trace = trace, id = id }
end

--- Whether a value is a context.
function context.is(value) return getmetatable(value) == context_mt end

--- A checker of the option `parent`: a context (ctx.observe of a tool, span:context()) or a traceparent (string). Keeps
-- a context.
context.option = check.that('context (ctx.observe) or traceparent ("00-…-…-01")', function(value)
  if type(value) == "string" then return read_traceparent(value) end
  if getmetatable(value) == context_mt then return value end
end)

--- The context of a traceparent that another program sent; nil for anything else.
function context.sent(value) return type(value) == "string" and read_traceparent(value) or nil end

--- The parent of work whose own observer is another one than its parent's: a context like `parent` (nil: where a trace
-- begins), told to `hook`; `parent` itself where hook is nil.
function context.through(hook, parent)
  if not hook then return parent end
  parent = parent or {}
  return context.new { trace = parent.trace, id = parent.id, type = parent.type, hook = hook,
    conversation = parent.conversation }
end

return context
