-- Judges the logs of processes that used a store at the same time (worker.lua) by the invariants S1 to S7 and S9. What
-- happened when is known as far as an operation happened between its call and its return.

local judge = {}

local SLACK = 1e-3 -- seconds, tokens: of clocks and floats

-- The records by seed and key, each list in the order of their ends.
local function by_key(records, want)
  local lists, keys = {}, {}
  for _, record in ipairs(records) do
    if want[record.op] and not record.begins then
      local key = record.s .. "\0" .. record.key
      if not lists[key] then
        lists[key] = {}
        keys[#keys + 1] = key
      end
      lists[key][#lists[key] + 1] = record
    end
  end
  table.sort(keys)
  local i = 0
  return function()
    i = i + 1
    if keys[i] then
      local list = lists[keys[i]]
      table.sort(list, function(a, b) return a.to < b.to end)
      return list[1].key, list
    end
  end
end

-- S1: of the puts with one version one wins, and none is lost: the counter is as high as there were wins.
local function check_values(records, problem, last)
  for key, list in by_key(records, { cas = true }) do
    local won, wins = {}, 0
    for _, record in ipairs(list) do
      if record.got then
        if won[record.version] then problem("S1: two puts of %s with the version %s won", key, record.version) end
        won[record.version], wins = true, wins + 1
      end
    end
    local value = tonumber(last(key))
    if not records.killed and value ~= wins and not (wins == 0 and not value) then
      problem("S1: %s is %s after %d puts that won", key, tostring(value), wins)
    end
  end
end

-- S2, S3, for leases and claims: fences grow, one owner at a time.
local function check_leases(records, problem)
  for key, list in by_key(records, { lease = true, claim = true, release = true, unclaim = true }) do
    local grants, ended, owners = {}, {}, {}
    for _, record in ipairs(list) do
      if (record.op == "lease" or record.op == "claim") and record.got then grants[#grants + 1] = record end
      if (record.op == "release" or record.op == "unclaim") and record.got == true then ended[#ended + 1] = record end
    end
    for i, one in ipairs(grants) do
      if owners[one.got] and owners[one.got] ~= one.w then problem("S2: %s: two have the fence %d", key, one.got) end
      owners[one.got] = one.w
      for j, two in ipairs(grants) do
        if one.to < two.from and (two.got < one.got or two.got == one.got and two.op == "claim") then
          problem("S2: %s: fence %d after %d", key, two.got, one.got)
        end
        -- two began and ended while one's lease lived, and one did not give it back
        if i ~= j and two.w ~= one.w and two.from > one.to and two.to < one.from + one.ttl - SLACK then
          local given = false
          for _, ending in ipairs(ended) do
            given = given or ending.w == one.w and ending.to > one.from and ending.from < two.to
          end
          if not given then problem("S3: %s: w%d has it while w%d does", key, two.w, one.w) end
        end
      end
    end
  end
end

-- S4: what carries a fence fails once a newer one was handed out.
local function check_fences(records, problem)
  local newest = {}
  for key, list in by_key(records, { lease = true, claim = true }) do newest[list[1].s .. "\0" .. key] = list end
  for _, record in ipairs(records) do
    if record.fence and record.got and not record.begins then
      for _, grant in ipairs(newest[record.s .. "\0" .. record.key] or {}) do
        if grant.got and grant.got > record.fence and grant.to < record.from then
          problem("S4: %s of %s with the fence %d after %d", record.op, record.key, record.fence, grant.got)
          break
        end
      end
    end
  end
end

-- The items of a queue: {seq → item} of pushes that returned; texts that may be there; what acks removed, or may have.
local function pushed(records, key)
  local sure, may, ids = {}, {}, {}
  for _, record in ipairs(records) do
    if record.op == "push" and record.key == key then
      may[record.item] = true
      if not record.begins then
        sure[record.got] = record
        if record.id then
          ids[record.id] = ids[record.id] or record.got
        end
      end
    end
  end
  return sure, may, ids
end

-- S5, S6, S9: order, nothing lost, nothing twice. drained(key) → array of {seq, item, tries} that were left.
local function check_queues(records, problem, drained)
  local killed = records.killed
  for key, list in by_key(records, { push = true, claim = true, ack = true }) do
    local sure, may, ids = pushed(records, key)
    local gone, maybe, tries = {}, {}, {}
    for _, record in ipairs(records) do
      if record.key == key and record.op == "push" and record.id and not record.begins and ids[record.id] ~= record.got
      then
        problem("S9: %s: the id %s has two sequences", key, record.id)
      end
    end
    local claims = {}
    for _, record in ipairs(list) do
      if record.op == "claim" then claims[#claims + 1] = record end
    end
    table.sort(claims, function(a, b) return a.got < b.got end)
    for _, claim in ipairs(claims) do
      local before = 0
      for _, entry in ipairs(claim.items) do
        local seq, item, tried = entry[1], entry[2], entry[3]
        if seq <= before then problem("S5: %s: item %d behind %d", key, seq, before) end
        if not may[item] or sure[seq] and sure[seq].item ~= item then
          problem("S5: %s: item %d is %s, which nobody pushed there", key, seq, item)
        end
        tries[seq] = (tries[seq] or 0) + 1
        if tried ~= tries[seq] and not killed or tried < tries[seq] then
          problem("S6: %s: item %d has %d tries at claim %d of it", key, seq, tried, tries[seq])
        end
        if gone[seq] and gone[seq] < claim.from then problem("S6: %s: item %d claimed after its ack", key, seq) end
        before = seq
      end
      -- older items that were there all the time must be in front
      for seq, record in pairs(sure) do
        if record.to < claim.from and seq < before and not gone[seq] and not maybe[seq] then
          local found = false
          for _, entry in ipairs(claim.items) do found = found or entry[1] == seq end
          if not found then problem("S5: %s: a claim passed over item %d", key, seq) end
        end
      end
      for _, ack in ipairs(records) do
        if ack.op == "ack" and ack.key == key and ack.fence == claim.got then
          for _, entry in ipairs(claim.items) do
            if entry[1] <= ack.seq then
              if ack.begins then maybe[entry[1]] = true elseif ack.got then gone[entry[1]] = ack.to end
            end
          end
        end
      end
    end
    local left = {}
    for _, entry in ipairs(drained(key)) do
      if gone[entry[1]] then problem("S6: %s: item %d is there after its ack", key, entry[1]) end
      if not may[entry[2]] then problem("S6: %s: item %d is of nobody", key, entry[1]) end
      left[entry[1]] = true
    end
    for seq in pairs(sure) do
      local acked = gone[seq] or killed and maybe[seq]
      if not acked and not left[seq] then problem("S6: %s: item %d is lost", key, seq) end
    end
  end
end

-- S7: in no span more than the capacity and what flows in.
local function check_buckets(records, problem)
  for key, list in by_key(records, { take = true }) do
    local grants = {}
    for _, record in ipairs(list) do
      if record.got == 0 then grants[#grants + 1] = record end
    end
    for _, first in ipairs(grants) do
      local total = 0
      for _, grant in ipairs(grants) do -- in the order of their ends
        if grant.from >= first.from then
          total = total + grant.n
          local most = first.capacity + first.per * (grant.to - first.from) + SLACK
          if total > most then
            problem("S7: %s: %g of at most %g", key, total, most)
            return
          end
        end
      end
    end
  end
end

-- The records of each seed: what one seed does does not touch another's keys.
local function by_seed(records)
  local seeds, list = {}, {}
  for _, record in ipairs(records) do
    if not seeds[record.s] then
      seeds[record.s] = { killed = records.killed }
      list[#list + 1] = seeds[record.s]
    end
    table.insert(seeds[record.s], record)
  end
  return list
end

--- The problems that the records show, an array of strings. `records.killed`: a process was killed, so that its last
-- operation may have happened. `last(key)` is a value now, `drained(key)` an array of {seq, item, tries}: what was left
-- in a queue.
function judge.problems(records, last, drained)
  local list = {}
  local function problem(...) list[#list + 1] = string.format(...) end
  for _, of_seed in ipairs(by_seed(records)) do
    check_values(of_seed, problem, last)
    check_leases(of_seed, problem)
    check_fences(of_seed, problem)
    check_queues(of_seed, problem, drained)
    check_buckets(of_seed, problem)
  end
  return list
end

return judge
