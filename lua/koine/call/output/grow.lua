--- The value of an answer while it arrives: one table, changed in place. Nothing partial is judged; bytes that can no
-- longer become JSON end the view, and what there was stays. A root that was wrapped is seen without the wrapping.

local core = require "koine.core"

local WRAPPED <const> = "/value"

local methods = {}
local mt = { __index = methods }

--- The view of a round's answer. `plan` is what ask.plan gave.
local function new(plan)
  return setmetatable({ plan = plan, waits = plan.loose, stop = nil,
    grown = core.growing { without_nulls = plan.nullable } }, mt)
end

-- Returns the value that grew, without its wrapping if there is one.
local function seen(self, root)
  if not self.plan.wrapped then return root end
  if type(root) == "table" then return root.value end
end

--- The value so far, to the last byte; nil before there is one.
function methods:value() return seen(self, self.grown:value()) end

-- The delta of a change at `path`, or nil where it is one of the wrapping alone. A string that is open may lack a
-- thousandth of its bytes: setting it anew for each delta would cost the square of its length.
local function delta_of(self, path, complete)
  if self.plan.wrapped then
    if path:sub(1, #WRAPPED) ~= WRAPPED then return nil end
    path = path:sub(#WRAPPED + 1)
  end
  if type(self.root) ~= "table" then self.root = self.grown:value() end
  return { type = "output_delta", value = seen(self, self.root), path = path, complete = complete }
end

-- Returns a piece's part that belongs to the value: words before the first bracket do not, where there may be some.
local function begun(self, piece)
  if not self.waits then return piece end
  local from = piece:find "[{%[]"
  if not from then return nil end
  self.waits = false
  return piece:sub(from)
end

-- Puts what `whole` has and `value` lacks into it.
local function fill(value, whole)
  for name, member in next, whole do
    if value[name] == nil then value[name] = member
    elseif type(member) == "table" then fill(value[name], member) end
  end
end

--- Completes the value with what the whole one has besides: nulls that its schema allows.
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
