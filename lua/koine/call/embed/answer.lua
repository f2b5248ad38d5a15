--- The functions that the dialects share for reading answers: lists of the right length, counts, the order of vectors.

local answer = {}

local COUNT_MAX <const> = 1 << 53 -- as in the answers of chats: sums of counts stay right

--- A count of tokens: an integer, or nil where `value` is none.
function answer.count(value)
  local whole = math.type(value) and math.tointeger(value)
  return whole and whole >= 0 and whole <= COUNT_MAX and whole or nil
end

--- An amount of money: a number, or nil where `value` is none.
function answer.amount(value) return type(value) == "number" and value >= 0 and value or nil end

--- See call/member.lua.
answer.member = require "koine.call.member"

--- `list` where it is an array of n members, else nil and what is wrong. `name` is what it is called on the wire.
function answer.list(list, n, name)
  if type(list) ~= "table" then return nil, ("the answer has no array %s"):format(name) end
  if #list ~= n then return nil, ("asked for %d vectors, got %d"):format(n, #list) end
  return list
end

--- The vectors of an array of objects: `vector_of` gives that of one. {vectors}, or nil and what is wrong.
function answer.each(list, n, name, vector_of)
  local found, why = answer.list(list, n, name)
  if not found then return nil, why end
  local vectors = {}
  for i, entry in ipairs(found) do
    vectors[i] = vector_of(entry)
    if vectors[i] == nil then return nil, ("%s[%d] has no vector"):format(name, i - 1) end
  end
  return { vectors = vectors }
end

return answer
