--- Delivery: how records come to observers. One that comes from inside an observer waits until that has returned. What
-- observers raise is counted, of all of this Lua state together. A hook has what delivery needs: `run` and `is_busy`
-- (core.apart), the records that wait, whether there is something left to do (`behind`), and whether these are being
-- handed over (`draining`). Nothing here fails.

local delivery = {}

local failed = { count = 0, first = nil }

--- Counts what an observer raised, or what kept a record from it.
function delivery.fail(problem)
  failed.count = failed.count + 1
  if failed.first == nil then failed.first = problem end
end

--- How often observers raised, and the first thing that one raised (nil: none).
function delivery.failures() return failed.count, failed.first end

--- Calls a function of the observer's apart from the program, whose coroutine it cannot yield for: true and what it
-- returns, or false and what it raised.
function delivery.apart(f, ...)
  local own = coroutine.create(f)
  local ok, value = coroutine.resume(own, ...)
  if coroutine.status(own) ~= "suspended" then return ok, value end
  coroutine.close(own)
  return false, "the observer yielded"
end

local WAITING_MAX = 1000 -- records that wait while the observer is busy with one; ends of what began wait, too

--- Whether the observer may be told of further work. What it does itself with a record is observed; what it does with
-- the records of that is not, else it would go on for ever. Where it is not `behind`, it takes more.
function delivery.takes_more(hook)
  if not hook.draining and #hook.waiting < WAITING_MAX then return true end
  if not hook.is_busy() then -- an error in the middle of `drain`, of memory say, left the mark
    hook.draining = false
    return true
  end
  delivery.fail "too many records from inside the observer"
  return false
end

-- Counts what went wrong with a record: `word` and `problem` are what hook.run returned.
local function count(word, problem)
  if word == "raised" then delivery.fail(problem) elseif word == "yielded" then delivery.fail "the observer yielded" end
end

-- Hands over the records that wait.
local function drain(hook)
  while hook.waiting[1] do
    hook.draining = true
    count(hook.run(table.remove(hook.waiting, 1)))
  end
  hook.draining, hook.behind = false, false
end

--- Goes on where hook.run did not return true for a record (`word`, `problem`), or others wait. A record that comes
-- from inside the observer waits until that has returned.
function delivery.go_on(hook, record, word, problem)
  if word == "busy" then
    hook.waiting[#hook.waiting + 1], hook.behind = record, true
    return
  end
  count(word, problem)
  if hook.behind then drain(hook) end
end

return delivery
