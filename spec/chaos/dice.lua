--- Numbers that look random and follow from a seed alone, so that a schedule can be played again.

local dice = {}

local methods = {}
methods.__index = methods

--- A die of this seed (integer).
function dice.new(seed)
  local die = setmetatable({ state = seed * 0x9E3779B97F4A7C15 + 1 }, methods)
  die:roll(2)
  return die
end

--- An integer from 1 to n.
function methods:roll(n)
  self.state = self.state * 6364136223846793005 + 1442695040888963407
  return (self.state >> 33) % n + 1
end

--- An integer from `least` to `most`.
function methods:between(least, most) return least - 1 + self:roll(most - least + 1) end

--- An element of a list.
function methods:pick(list) return list[self:roll(#list)] end

--- True once in n times.
function methods:chance(n) return self:roll(n) == 1 end

return dice
