-- Lines that are mutations of messages: a peer raises nothing, stays within its bounds, and ends.

local core = require "koine.core"
local kit = require "spec.lua.protocol.rpc.kit"

local SEEDS = {
  '{"jsonrpc":"2.0","id":0,"method":"ask","params":{"session":"s","n":[1,2.5,null,true,"\\u00e4"]}}',
  '{"jsonrpc":"2.0","id":"0","method":"unknown"}',
  '{"jsonrpc":"2.0","method":"update","params":{"session":"s","token":"1"}}',
  '{"jsonrpc":"2.0","method":"progress","params":{"token":"1","progress":0.5}}',
  '{"jsonrpc":"2.0","id":1,"result":{"a":[]}}',
  '{"id":1,"error":{"code":-32000,"message":"no","data":{"x":1}}}',
  '[{"jsonrpc":"2.0","id":12345678901234567890,"method":"ask"},{"id":2,"result":null}]',
}

local PIECES = { "{", "}", "[", "]", '"', ":", ",", "null", "1e999", "\0", "\xff", "\\ud800", '"id":', '"method":',
  '"id":{}', '"params":7', '"session":{}', "9223372036854775808", " " }

local random

-- A generator of its own, so that a failure comes again.
local function generator(seed)
  local state = seed
  return function(n)
    state = (state * 6364136223846793005 + 1442695040888963407) & math.maxinteger
    return (state >> 33) % n + 1
  end
end

local function mutated(line)
  for _ = 1, random(4) do
    local at = random(#line + 1)
    local kind = random(4)
    if kind == 1 then
      line = line:sub(1, at - 1) .. PIECES[random(#PIECES)] .. line:sub(at)
    elseif kind == 2 then
      line = line:sub(1, at - 1) .. line:sub(at + random(5))
    elseif kind == 3 then
      line = line:sub(1, at - 1) .. string.char(random(256) - 1) .. line:sub(at + 1)
    else
      local other = SEEDS[random(#SEEDS)]
      line = line:sub(1, at - 1) .. other:sub(random(#other))
    end
  end
  return (line:gsub("\n", " "))
end

describe("mutated lines", function()
  for seed = 1, 20 do
    it("raise nothing (seed " .. seed .. ")", function()
      random = generator(seed)
      local peer <close>, far = kit.alone { batches = seed % 2 == 0, queue_max = 1000,
        requests = { ask = function(params) return params.n end },
        notifications = { update = function(params) return params.session end },
        session = function(_, params) return params.session end,
        progress = function(method, params) return method == "progress" and params.token or nil end }
      for _ = 1, 30 do
        for _ = 1, 10 do far.say(mutated(SEEDS[random(#SEEDS)])) end
        far.say '{"jsonrpc":"2.0","method":"nothing"}' -- an object, so that strays are never a hundred in a row
        pcall(peer.request, peer, "m", { 1 }, { timeout = 0.001, on_progress = function() end, session = "s" })
        for _, line in ipairs(far.output.lines) do assert(core.decode(line)) end
        assert.is_false(peer.err)
      end
      peer:drop "s"
      far.finish()
      assert.is_true(peer:serve())
      assert.is_true(peer.calls:is_empty())
      assert.is_true(peer:settle(kit.SAFETY))
    end)
  end
end)
