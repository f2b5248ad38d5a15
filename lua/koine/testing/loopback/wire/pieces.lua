--- Parts that the wires' streams share: the steps of a plan, and pieces that end where the script wants an error. Pure.

local pieces = {}

local Pieces = {}
Pieces.__index = Pieces

--- A collector of the pieces of a streamed answer; `list` is their array. `failure` (nil: none): the stream_error of
-- the plan, which comes after `after` deltas (0 unless said) and ends the answer.
function pieces.new(failure)
  return setmetatable({ list = {}, left = failure and (failure.after or 0), broken = false }, Pieces)
end

--- Counts a delta: false when the error comes before it, from then on.
function Pieces:count()
  self.broken = self.left == 0
  self.left = self.left and math.max(self.left - 1, 0)
  return not self.broken
end

--- Adds a piece (nil: none), unless the error came before it.
function Pieces:add(text)
  if not self.broken then
    self.list[#self.list + 1] = text
  end
end

--- Adds a piece that is a delta, unless the error comes before it.
function Pieces:delta(text)
  if self:count() then
    self:add(text)
  end
end

--- Adds the piece that tells the error, the last one; returns all.
function Pieces:fail(text)
  self.list[#self.list + 1] = text
  return self.list
end

--- Iterates over the steps of a plan: kind ("start" | "delta" | "end"), block, fragment, and the block's place among
-- those of its class, from 0. `class`: function(block) → any value, or false for a block that the wire does not tell.
function pieces.steps(plan, class)
  local at, places, counts = 0, {}, {}
  local function next_step()
    at = at + 1
    local kind, block, fragment = table.unpack(plan.steps[at] or {})
    local key = block and class(block)
    if key == false then
      return next_step()
    elseif kind == "start" then
      places[block] = counts[key] or 0
      counts[key] = places[block] + 1
    end
    return kind, block, fragment, places[block or false]
  end
  return next_step
end

return pieces
