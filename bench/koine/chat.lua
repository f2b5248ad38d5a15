-- chat.lua WHAT LABEL URL N: small chats, one after the other, on one kept-alive connection.
local kit = require "bench.koine.kit"

local QUESTION = "Why is the sky blue?"

-- n chats.
local function ask(adapter, n)
  for _ = 1, n do
    local r = assert(adapter:chat(QUESTION))
    assert(r.stop_reason == "end_turn")
  end
end

local programs = {}

-- CPU of a chat; memory at the end.
function programs.small(label, url, n)
  local adapter = kit.adapter(url, "anthropic", "/chat")
  ask(adapter, 1)
  local before = os.clock()
  ask(adapter, n)
  kit.report(label, "_us", (os.clock() - before) * 1e6 / n, "us/request")
  kit.report(label, "_rss_mb", kit.memory(), "MiB")
end

-- The same with an observer that only counts: what a record costs, by the chats without one that are made in turn with
-- those that have one.
function programs.observed(label, url, n)
  local records = 0
  local plain = kit.adapter(url, "anthropic", "/chat")
  local observed = kit.adapter(url, "anthropic", "/chat", { observer = function() records = records + 1 end })
  ask(plain, 100)
  ask(observed, 100)
  local turns, without, with = 20, 0, 0
  records = 0
  for _ = 1, turns do
    local start = os.clock()
    ask(plain, n // turns)
    local middle = os.clock()
    ask(observed, n // turns)
    without, with = without + middle - start, with + os.clock() - middle
  end
  kit.report(label, "_us", (with - without) * 1e6 / records, "us/record")
  kit.report(label, "_records", records / (n // turns * turns), "records/chat")
end

-- n chats with such an observer, for who counts instructions.
function programs.observing(_, url, n)
  ask(kit.adapter(url, "anthropic", "/chat", { observer = function() end }), n)
end

kit.main(programs)
