--- Random operations: whatever the order, an engine answers as the reference in memory does. Versions, fences and
-- sequences are compared by what they stand for: the reference's own.

local memory = require "koine.store.memory"

local OPERATIONS = 150

-- A generator of its own, so that a seed means the same everywhere: minimal standard, as Park and Miller have it.
local function generator(seed)
  local state = seed % 2147483646 + 1
  return function(n)
    state = state * 48271 % 2147483647
    return state % n + 1
  end
end

-- One name for each that the reference and the engine have.
local function pairing(kit, what)
  local there, here = {}, {}
  return function(expected, got)
    if type(expected) ~= type(got) then
      kit.check(false, "%s: %s expected, got %s", what, tostring(expected), tostring(got))
    end
    if not expected then return kit.equal(expected, got, what) end
    kit.check((there[expected] == nil or there[expected] == got) and (here[got] == nil or here[got] == expected),
      "%s: %s stands for two of the reference's", what, tostring(got))
    there[expected], here[got] = got, expected
  end
end

-- The steps: each does the same to both, and compares. `t` holds kit, pick, pairs, known.
local steps = {}

function steps.put(t, both)
  local key = t.name("v", 3)
  local options = {}
  local known = t.known[key]
  local mode = t.pick(4)
  if mode == 1 then options.if_version = { "absent", "absent" } end
  if mode == 2 and known then options.if_version = known end
  local fenced = t.pick(3) == 1 and t.fences[t.pick(#t.fences + 1)]
  local value, answers = tostring(t.pick(1000)), {}
  for i, store in ipairs(both) do
    answers[i] = table.pack(store:put(key, value, { if_version = options.if_version and options.if_version[i],
      fence = fenced and { fenced.key, fenced[i] } or nil }))
  end
  t.version(answers[1][1], answers[2][1])
  if answers[1][1] then
    t.known[key] = { answers[1][1], answers[2][1] }
  else
    t.version(answers[1][2], answers[2][2])
  end
end

function steps.get(t, both)
  local key = t.name("v", 3)
  local value, version = both[1]:get(key)
  local got, of = both[2]:get(key)
  t.kit.equal(value, got, "value")
  t.version(version, of)
end

function steps.delete(t, both)
  local key = t.name("v", 3)
  local known = t.pick(2) == 1 and t.known[key]
  local answers = {}
  for i, store in ipairs(both) do answers[i] = store:delete(key, { if_version = known and known[i] or nil }) end
  t.kit.equal(answers[1], answers[2], "delete")
end

function steps.list(t, both)
  local prefix, limit = t.kit:name "v", t.pick(4)
  local page, more = both[1]:list(prefix, { limit = limit })
  local got, rest = t.kit.fine("list", both[2]:list(prefix, { limit = limit }))
  t.kit.equal(table.concat(page, "|"), table.concat(got, "|"), "list")
  t.kit.equal(more, rest, "next of list")
end

function steps.lease(t, both)
  local key, owner = t.name("l", 2), "o" .. t.pick(3)
  local fence, got = both[1]:lease(key, owner, 1e6), t.kit.fine("lease", both[2]:lease(key, owner, 1e6))
  t.fence[key] = t.fence[key] or pairing(t.kit, "fence")
  t.fence[key](fence, got)
  if fence then t.fences[#t.fences + 1] = { fence, got, key = key } end
end

function steps.release(t, both)
  local key, owner = t.name("l", 2), "o" .. t.pick(3)
  t.kit.equal(both[1]:release(key, owner), t.kit.fine("release", both[2]:release(key, owner)), "release")
end

function steps.push(t, both)
  local queue, id = t.name("q", 3), t.pick(3) == 1 and "m" .. t.pick(5) or nil
  local item = tostring(t.pick(1000))
  t.seq[queue] = t.seq[queue] or pairing(t.kit, "sequence")
  t.seq[queue](both[1]:push(queue, item, { id = id }), t.kit.fine("push", both[2]:push(queue, item, { id = id })))
end

-- Claims one queue, by its whole name: of several that are ready at about the same time either may come first.
function steps.claim(t, both)
  local queue, owner = t.name("q", 3), "o" .. t.pick(3)
  local name, fence, items = both[1]:claim(owner, 1e6, { queues = queue })
  local got, newer, same = t.kit.fine("claim", both[2]:claim(owner, 1e6, { queues = queue }))
  t.kit.equal(name, got, "claim")
  if not name then return end
  t.kit.equal(#items, #same, "items of a claim")
  for i, item in ipairs(items) do
    t.kit.equal(item.item, same[i].item, "item")
    t.kit.equal(item.tries, same[i].tries, "tries")
    t.seq[queue](item.seq, same[i].seq)
  end
  local claim = { fence, newer, key = name, owner = owner, items = items, same = same }
  t.claims[#t.claims + 1], t.fences[#t.fences + 1] = claim, claim
end

local function any_claim(t) return t.claims[1] and t.claims[math.max(1, #t.claims + 1 - t.pick(4))] end

function steps.ack(t, both)
  local claim = any_claim(t)
  if not claim then return end
  local n = t.pick(#claim.items)
  local done = both[1]:ack(claim.key, claim.owner, claim[1], claim.items[n].seq)
  local got = t.kit.fine("ack", both[2]:ack(claim.key, claim.owner, claim[2], claim.same[n].seq))
  t.kit.equal(done, got, "ack")
end

function steps.unclaim(t, both)
  local claim = any_claim(t)
  if not claim then return end
  t.kit.equal(both[1]:unclaim(claim.key, claim.owner, claim[1]),
    t.kit.fine("unclaim", both[2]:unclaim(claim.key, claim.owner, claim[2])), "unclaim")
end

local ORDER = { "put", "put", "put", "get", "delete", "list", "lease", "lease", "release", "push", "push", "push",
  "claim", "claim", "ack", "unclaim" }

return function(item)
  item("random operations are answered as by the reference in memory", function(kit)
    local pick = generator(kit.seed)
    local reference <close> = memory {}
    local engines, log = kit:machines(2), {}
    local t = { kit = kit, pick = pick, known = {}, fences = {}, claims = {}, fence = {}, seq = {},
      version = pairing(kit, "version") }
    t.name = function(letter, n) return kit:name(letter .. pick(n)) end
    for i = 1, OPERATIONS do
      local step = ORDER[pick(#ORDER)]
      log[i] = step
      local ok, err = pcall(steps[step], t, { reference, engines[pick(2)] })
      if not ok then
        error(("seed %d, operation %d (after %s): %s"):format(kit.seed, i, table.concat(log, " ", math.max(1, i - 8)),
          tostring(err)), 0)
      end
    end
  end, "seeds")
end
