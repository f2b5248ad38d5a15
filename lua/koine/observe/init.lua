--- koine.observe: observers, and what can be made of their records. An observer is a function of one record, or an
-- object with a method record(record); every constructor that does work takes one as its option `observer`. What a
-- record holds is in data/observer and docs/observing.md.
--
--   local claude = koine.anthropic { model = "claude-sonnet-4-5", observer = function(record) … end }

local check = require "koine.data.check"
local observer = require "koine.data.observer"

local observe = {}

--- An observer with settings of its own: what it captures of content, where its ids and times come from. `given` is a
-- table, see observer.new. Raises an ArgumentError.
observe.new = observer.new

--- How often observers of this Lua state raised or yielded, and the first thing that one raised (nil: none). What an
-- observer raises never reaches the program that is observed.
observe.errors = observer.failures

local OBSERVERS = check.list(observer.option, "array of observers")

--- One observer of several (an array): each is handed a record of its own, in their order. One that raises does not
-- keep the record from the others. Content is captured where one of them has settings that ask for it
-- (koine.observe.new), and only they are handed it. Raises an ArgumentError.
function observe.fan(observers) return observer.fan(OBSERVERS(observers, "observers")) end

--- An observer that hands on the records for which predicate(record) is true. `to` is an observer, whose settings hold
-- for this one. Raises an ArgumentError.
function observe.filter(to, predicate)
  local inner = observer.option(to, "observer")
  check.func(predicate, "predicate")
  return observer.like(inner, function(record)
    if predicate(record) then inner.deliver(record) end
  end)
end

--- An observer that writes records to a file, a line each: see observe/jsonl.lua.
function observe.jsonl(to, opts) return require "koine.observe.jsonl"(to, opts) end

--- An observer that adds up what calls used and cost: see observe/cost.lua.
function observe.cost(opts) return require "koine.observe.cost"(opts) end

--- An observer that sends spans to an OpenTelemetry collector: see observe/otlp.
function observe.otlp(opts) return require "koine.observe.otlp".new(opts) end

--- Such an observer as OpenTelemetry's environment variables describe it, which docs/observing.md lists. `opts` (nil:
-- none) are those of observe.otlp, before which variables count, but for `resource` and `headers`, which are added to.
-- Returns the observer; nil where the variables turn everything off: an option `observer` without effect; nil, err
-- where a variable cannot be used. Raises an ArgumentError for `opts`.
function observe.from_env(opts) return require "koine.observe.otlp".from_env(opts) end

--- The records of a file that jsonl wrote: see observe/read.lua.
function observe.read(path) return require "koine.observe.read"(path) end

--- Follows the log at a path, as jsonl writes it: see observe/follow.lua.
function observe.follow(path) return require "koine.observe.follow"(path) end

--- Records (an array) as trees: see observe/tree.lua.
function observe.tree(records) return require "koine.observe.tree"(records) end

--- A page of HTML (a string) that shows records (an array): see observe/page.
function observe.page(records) return require "koine.observe.page"(records) end

return observe
