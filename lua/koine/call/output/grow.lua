--- The value of an answer while it arrives: one table, changed in place. Nothing partial is judged; bytes that can no
-- longer become JSON end the view, and what there was stays. A root that was wrapped is seen without the wrapping.

local core = require "koine.core"

local WRAPPED <const> = "/value"

local methods = {}
local mt = { __index = methods }

--- The view of a round's answer. `plan` is what ask.plan gave.
local function new(plan)
  return setmetatable({ plan = plan, waits = plan.loose, stop = nil, whole = false,
    grown = core.growing { without_nulls = plan.nullable } }, mt)
end

-- Returns the value that grew, without its wrapping if there is one.
local function seen(self, root)
  if not self.plan.wrapped then return root end
  if type(root) == "table" then return root.value end
end

--- The value so far, to the last byte; nil before there is one.
function methods:value() return seen(self, self.grown:value()) end

-- Returns the path within the wrapping of a change at `path`, or nil where it is one of the wrapping alone. A piece of
-- the answer may change both: the path is that of the wrapping then.
local function inner(self, path, value)
  if path == "" then return value ~= nil and not self.whole and "" or nil end
  if path == WRAPPED or path:sub(1, #WRAPPED + 1) == WRAPPED .. "/" then return path:sub(#WRAPPED + 1) end
end

-- The delta of a change at `path`, or nil where it is one of the wrapping alone. A string that is open may lack a
-- thousandth of its bytes: setting it anew for each delta would cost the square of its length.
local function delta_of(self, path, complete)
  if type(self.root) ~= "table" then self.root = self.grown:value() end
  local value = seen(self, self.root)
  if self.plan.wrapped then
    path = inner(self, path, value)
    if not path then return nil end
    self.whole = path == "" and complete
  end
  return { type = "output_delta", value = value, path = path, complete = complete }
end

-- Returns a piece's part that belongs to the value: words before it do not, where there may be some. The value is an
-- object then, as it was asked for: a bracket before it is one of the words.
local function begun(self, piece)
  if not self.waits then return piece end
  local from = piece:find("{", 1, true)
  if not from then return nil end
  self.waits = false
  return piece:sub(from)
end

-- Puts what `whole` has and `value` lacks into it, and 1 in the place of 1.0. The caller may have changed the value.
local function fill(value, whole)
  for name, member in next, whole do
    local own = rawget(value, name)
    if own == nil or math.type(member) == "integer" and own == member then rawset(value, name, member)
    elseif type(member) == "table" and type(own) == "table" then fill(own, member) end
  end
end

--- Completes the value with what the whole one has besides: nulls that its schema allows, and integers that the model
-- wrote with a fraction.
function methods:complete(whole)
  local value = self:value()
  if type(value) == "table" and type(whole) == "table" then fill(value, whole) end
end

--- Reads the next piece of the answer's text: an array of the deltas that it makes (output_delta), nil for none.
function methods:feed(piece)
  piece = begun(self, piece)
  if not piece then return nil end
  local made
  local path, complete = self.grown:feed(piece, self.stop)
  while path do
    local delta = delta_of(self, path, complete)
    if delta then
      made = made or {}
      made[#made + 1] = delta
    end
    path = nil
    if self.stop then path, complete = self.grown:feed(nil, self.stop) end
  end
  return made
end

--- Tells from now on of each value that is whole and at most so many steps from the root.
function methods:watch(steps) self.stop = self.plan.wrapped and steps + 1 or steps end

return new
