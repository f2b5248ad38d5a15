--- The operations of a store in Redis, each one script that the server runs as a whole (in its own Lua 5.1). Time is
-- the server's, in microseconds, which its numbers hold exactly. KEYS[1] is the prefix of all keys, with the hash tag.
--   n, f, s         counters, which only grow, of the whole store: versions, the greatest fence, sequences
--   k               sorted set: the names of values, by bytes
--   v:KEY           hash: v = value, n = version, w = the put that made it; its ttl is Redis' own
--   l:KEY           hash: o = owner, f = newest fence, e = end. A lease that ended keeps its fence for FENCE_KEPT
--   b:KEY           hash: t = tokens, a = time of these, u = end of the block
--   ready           sorted set: the queues that have items, by the time when they can be claimed
--   p               hash: the prefixes that claims have asked for, by the time of that; at most PREFIXES
--   r:PREFIX        as `ready`, of the queues whose names begin with it
--   m:QUEUE         hash: a = ready since, c = fence of its claim
--   q:QUEUE         list: "sequence time" of its items; d:QUEUE, t:QUEUE  hashes: items, tries by sequence
--   i:LENGTH:QUEUE ID   the sequence that an id of a push has had, for a day
--   w               channel: the names of values and queues that are new in some way
-- The fences of a key count up one by one: so its owner sees that nobody else had it. A key whose fence was forgotten
-- begins behind `f`, the greatest fence of all keys: none comes again, and an old one is refused.
-- Keys are made of arguments in the script, which Redis Cluster allows within one hash tag.

local scripts = {}

local PRELUDE = [[
local P, A = KEYS[1], ARGV
local call = redis.call
local clock = call("TIME")
local now = clock[1] * 1000000 + clock[2]
local FENCE_KEPT = 30 * 24 * 3600 * 1000
local function text(n) return string.format("%.17g", n) end
local function millis(us) return string.format("%.0f", math.ceil(us / 1000)) end
local function tell(name) call("PUBLISH", P .. "w", name) end
local function fence_of(key) return call("HGET", P .. "l:" .. key, "f") end
local function is_newest(key, fence) return fence_of(key) == fence end
local function next_fence(key)
  local last = fence_of(key)
  if not last then return string.format("%.0f", call("INCR", P .. "f")) end
  local fence = string.format("%.0f", last + 1)
  if last + 1 > tonumber(call("GET", P .. "f") or "0") then call("SET", P .. "f", fence) end
  return fence
end
local function ends_of(key)
  local e = call("HGET", P .. "l:" .. key, "e")
  e = e and tonumber(e)
  return e and e > now and e or nil
end
local function hold(key, owner, fence, ends)
  call("HSET", P .. "l:" .. key, "o", owner, "f", fence, "e", text(ends))
  call("PEXPIRE", P .. "l:" .. key, millis(math.max(ends - now, 0) + FENCE_KEPT * 1000))
end
local function finish(key) if ends_of(key) then call("HSET", P .. "l:" .. key, "e", text(now)) end end
local function each_index(queue, f)
  f(P .. "ready")
  local prefixes = call("HKEYS", P .. "p")
  for i = 1, #prefixes do
    if string.sub(queue, 1, #prefixes[i]) == prefixes[i] then f(P .. "r:" .. prefixes[i]) end
  end
end
local function enter(queue, at) each_index(queue, function(index) call("ZADD", index, text(at), queue) end) end
local function leave(queue) each_index(queue, function(index) call("ZREM", index, queue) end) end
local function set_ready(queue, at, claim)
  call("HSET", P .. "m:" .. queue, "a", text(at), "c", claim)
  enter(queue, math.max(at, ends_of(queue) or 0))
end
]]

local SOURCES = {}

-- KEY → value, version, or nothing.
SOURCES.get = [[
local got = call("HMGET", P .. "v:" .. A[1], "v", "n")
if not got[2] then return {} end
return got
]]

-- KEY, value, if_version ("" = any, "absent", else "=VERSION"), ttl (s, "" = none), lease key, fence ("" = none), put's
-- own name → 1, version; 0, current version or nothing
SOURCES.put = [[
local key = P .. "v:" .. A[1]
local got = call("HMGET", key, "n", "w")
local version = got[1]
local fits = A[3] == "" or (A[3] == "absent" and not version) or (version and A[3] == "=" .. version)
if not fits and version and A[7] ~= "" and got[2] == A[7] then return { 1, version } end
if not fits or (A[6] ~= "" and not is_newest(A[5], A[6])) then return { 0, version } end
version = string.format("%.0f", call("INCR", P .. "n"))
call("HSET", key, "v", A[2], "n", version, "w", A[7])
if A[4] == "" then call("PERSIST", key) else call("PEXPIRE", key, millis(A[4] * 1000000)) end
call("ZADD", P .. "k", 0, A[1])
tell(A[1])
return { 1, version }
]]

-- KEY, if_version as put has it → 1, 0
SOURCES.delete = [[
local key = P .. "v:" .. A[1]
local version = call("HGET", key, "n")
if not version then
  call("ZREM", P .. "k", A[1])
  return 1
end
if A[2] ~= "" and A[2] ~= "=" .. version then return 0 end
call("DEL", key)
call("ZREM", P .. "k", A[1])
tell(A[1])
return 1
]]

-- bounds of ZRANGEBYLEX, limit → names, 1 more than the limit where there are more
SOURCES.list = [[
local limit, from, names = tonumber(A[3]) + 1, A[1], {}
repeat
  local page = call("ZRANGEBYLEX", P .. "k", from, A[2], "LIMIT", 0, limit)
  for i = 1, #page do
    if #names == limit then break end
    if call("EXISTS", P .. "v:" .. page[i]) == 1 then names[#names + 1] = page[i]
    else call("ZREM", P .. "k", page[i]) end
    from = "(" .. page[i]
  end
until #names == limit or #page < limit
return names
]]

-- KEY, owner, ttl (s) → 1, fence; 0, microseconds left
SOURCES.lease = [[
local held = call("HMGET", P .. "l:" .. A[1], "o", "f")
local live, fence = ends_of(A[1]), held[2]
if live and held[1] ~= A[2] then return { 0, text(live - now) } end
if not live then fence = next_fence(A[1]) end
local ends = now + A[3] * 1000000
hold(A[1], A[2], fence, ends)
if call("ZSCORE", P .. "ready", A[1]) then
  local queue = call("HMGET", P .. "m:" .. A[1], "a", "c")
  local is_claim = queue[2] and queue[2] == fence
  set_ready(A[1], is_claim and ends or tonumber(queue[1] or "0"), queue[2] or "")
end
return { 1, fence }
]]

-- KEY, owner → 1; 0: another one's
SOURCES.release = [[
if not ends_of(A[1]) then return 1 end
if call("HGET", P .. "l:" .. A[1], "o") ~= A[2] then return 0 end
finish(A[1])
if call("ZSCORE", P .. "ready", A[1]) then
  local queue = call("HMGET", P .. "m:" .. A[1], "a", "c")
  local is_claim = queue[2] and queue[2] == fence_of(A[1])
  set_ready(A[1], is_claim and now or tonumber(queue[1] or "0"), is_claim and "" or queue[2] or "")
end
tell(A[1])
return 1
]]

-- KEY, amount, capacity, per second, force (1, 0), block (s) → seconds to wait
SOURCES.take = [[
local MOST = 1e15
local amount, capacity, per, block = tonumber(A[2]), tonumber(A[3]), tonumber(A[4]), tonumber(A[6])
local key = P .. "b:" .. A[1]
local got = call("HMGET", key, "t", "a", "u")
local tokens, at, blocked = tonumber(got[1] or A[3]), tonumber(got[2] or text(now)), tonumber(got[3] or "0")
tokens = math.min(capacity, math.max(tokens, -MOST) + math.max(0, now - at) / 1000000 * per)
if block > 0 then blocked = math.max(blocked, now + block * 1000000) end
local wait = math.max((blocked - now) / 1000000, (amount - tokens) / per)
if A[5] == "1" then wait = 0 end
if wait > 0 and block == 0 then return text(math.ceil(wait * 1000) / 1000) end
if wait <= 0 then tokens = math.max(-MOST, math.min(capacity, tokens - amount)) end
call("HSET", key, "t", text(tokens), "a", text(now), "u", text(blocked))
local full = math.max((capacity - tokens) / per * 1000000, blocked - now) + 1000000
call("PEXPIRE", key, millis(math.min(full, 1e18)))
return text(math.ceil(math.max(wait, 0) * 1000) / 1000)
]]

-- QUEUE, item, id ("" = none) → sequence
SOURCES.push = [[
local queue, id = A[1], A[3] ~= "" and P .. "i:" .. #A[1] .. ":" .. A[1] .. " " .. A[3]
local known = id and call("GET", id)
if known then return known end
local seq = string.format("%.0f", call("INCR", P .. "s"))
local count = call("RPUSH", P .. "q:" .. queue, seq .. " " .. text(now))
call("HSET", P .. "d:" .. queue, seq, A[2])
if id then call("SET", id, seq, "EX", 24 * 3600) end
if count == 1 then set_ready(queue, now, "") end
tell(queue)
return seq
]]

-- owner, ttl (s), prefix → queue, fence, then sequence, time, tries, item of each; nothing. The items are at most 100,
-- and 16 MiB but for the first one.
SOURCES.claim = [[
local PREFIXES, HOUR = 64, 3600 * 1000000
local function forget_oldest()
  local all, oldest, at = call("HGETALL", P .. "p"), nil, nil
  if #all < 2 * PREFIXES then return end
  for i = 1, #all, 2 do
    if not at or tonumber(all[i + 1]) < at then oldest, at = all[i], tonumber(all[i + 1]) end
  end
  call("HDEL", P .. "p", oldest)
  call("DEL", P .. "r:" .. oldest)
end
local function index_of(prefix)
  if prefix == "" then return P .. "ready" end
  local index, asked = P .. "r:" .. prefix, call("HGET", P .. "p", prefix)
  if not asked then
    forget_oldest()
    local all = call("ZRANGE", P .. "ready", 0, -1, "WITHSCORES")
    for i = 1, #all, 2 do
      if string.sub(all[i], 1, #prefix) == prefix then call("ZADD", index, all[i + 1], all[i]) end
    end
  end
  if not asked or tonumber(asked) < now - HOUR then call("HSET", P .. "p", prefix, text(now)) end
  return index
end
local function first(index)
  while true do
    local queue = call("ZRANGEBYSCORE", index, "-inf", text(now), "LIMIT", 0, 1)[1]
    if not queue then return nil end
    if ends_of(queue) then
      enter(queue, ends_of(queue))
    elseif call("EXISTS", P .. "q:" .. queue) == 0 then
      leave(queue)
    else
      return queue
    end
  end
end
local queue = first(index_of(A[3]))
if not queue then return {} end
local fence, ends = next_fence(queue), now + A[2] * 1000000
hold(queue, A[1], fence, ends)
set_ready(queue, ends, fence)
local answer, bytes = { queue, fence }, 0
for i = 0, 99 do
  local entry = call("LINDEX", P .. "q:" .. queue, i)
  if not entry then break end
  local seq, at = string.match(entry, "^(%d+) (%S+)$")
  bytes = bytes + call("HSTRLEN", P .. "d:" .. queue, seq)
  if i > 0 and bytes > 16777216 then break end
  answer[#answer + 1], answer[#answer + 2] = seq, at
  answer[#answer + 1] = call("HINCRBY", P .. "t:" .. queue, seq, 1)
  answer[#answer + 1] = call("HGET", P .. "d:" .. queue, seq)
end
return answer
]]

-- QUEUE, fence, sequence → 1, 0
SOURCES.ack = [[
if not is_newest(A[1], A[2]) then return 0 end
local list, upto, gone = P .. "q:" .. A[1], tonumber(A[3]), false
while true do
  local entry = call("LINDEX", list, 0)
  local seq = entry and string.match(entry, "^%d+")
  if not seq or tonumber(seq) > upto then
    if not entry and gone then
      leave(A[1])
      call("DEL", P .. "m:" .. A[1])
    end
    return 1
  end
  call("LPOP", list)
  call("HDEL", P .. "d:" .. A[1], seq)
  call("HDEL", P .. "t:" .. A[1], seq)
  gone = true
end
]]

-- QUEUE, fence, after (s) → 1, 0
SOURCES.unclaim = [[
if not is_newest(A[1], A[2]) then return 0 end
finish(A[1])
if call("EXISTS", P .. "q:" .. A[1]) == 1 then set_ready(A[1], now + A[3] * 1000000, "") end
tell(A[1])
return 1
]]

for name, source in pairs(SOURCES) do scripts[name] = PRELUDE .. source end

--- name of an operation → its script.
return scripts
