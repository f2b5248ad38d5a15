--- Turns of schemas, packing, vectors, a rate limiter and growing values.

local kit = require "work.kit"
local koine = require "koine"
local core = require "koine.core"

local path, same, put, get = kit.path, kit.same, kit.put, kit.get

local turns = {}

function turns.schema()
  local schema = koine.schema
  local function go()
    local trip = schema.expand { city = "string", ["days?"] = 1, tags = { "a" } }
    schema.check(trip)
    same(schema.validate(trip, { city = "Paris", days = 3, tags = { "x" } }), true)
    local fits, why = schema.validate(trip, { city = "Paris", days = 0.5, tags = {} }, "trip")
    same(fits, nil)
    same(why, "trip.days: integer expected, got 0.5")
    return true
  end
  return go, go
end

function turns.packing()
  local packing = koine.packing
  local function go()
    local function said(name, prompt)
      return { prompt = prompt, sender = { sender_id = name, sender_name = name, display_name = name,
        channel = "slack", channel_id = "C1", is_bot = false, timestamp = { slack = "1714204397.999600" },
        team = "red" } }
    end
    local blocks, spans = packing.pack { said("ann", "Hi"), said("bob", "Ho") }
    same(#blocks, 4)
    same(blocks[4].text, "Ho")
    same(spans[2][2], 4)
    if not blocks[3].text:find('"display_name":"bob"', 1, true) then error "wrong answer: no envelope" end
    return true
  end
  return go, go
end

function turns.vectors()
  local vector = koine.vector
  local text = '{"data":[{"embedding":[3,4,0],"index":0},{"embedding":"AACAPwAAAMAAAAA\\/","index":1}],"model":"m"}'
  local function go()
    for _, packed in ipairs { true, false } do
      local answer, err = core.vectors(text, { paths = { "data[].embedding" }, keep = { "model" }, packed = packed,
        normalise = true })
      if not answer then return nil, err end
      local first, second = answer.data[1].embedding, answer.data[2].embedding
      same(answer.model, "m")
      same(("%.3f"):format(vector.norm(first)), "1.000")
      same(("%.3f"):format(vector.dot(vector.unpack(first), vector.pack(second))), "-0.436")
    end
    return true
  end
  return go, go
end

-- The file keeps the requests of others.
function turns.rate_limiter()
  local make = koine.rate_limiter
  local before, log = os.time() - 10.0, {}
  for i = 1, 20 do log[i] = ("%.1f"):format(before) end
  put("limit", ('{"last_request_at":%.1f,"request_log":[%s]}'):format(before, table.concat(log, ",")))
  local function go()
    local limiter = make { rate_limit_path = path "limit", min_request_interval = 0.0001,
      rate_limit = { requests = 1000, period = 3600 } }
    return limiter:wait()
  end
  local function entered()
    local n = 0
    for _ in get "limit":match '"request_log":%[(.-)%]':gmatch "[^,]+" do n = n + 1 end
    return n
  end
  return go, function()
    local n = entered()
    if n ~= 20 and n ~= 21 then error("wrong answer: requests in the file: " .. n) end
    same(go(), true)
    same(entered(), n + 1)
    return os.remove(path "limit")
  end
end

-- Where a piece runs out of memory, the value stays as it is.
function turns.growing()
  local text = '{"title":"A \\u20ac and more","items":[{"n":12},{"n":[true,null,"x"],"a longer key than it":0.5}]}'
  local function go()
    local growing = core.growing()
    for i = 1, #text, 5 do
      local fed, why = pcall(growing.feed, growing, text:sub(i, i + 4))
      if not fed then
        same(growing:feed "x", nil)
        same(growing:value(), growing:value())
        same(growing:state(), "memory")
        error(why, 0)
      end
    end
    same(growing:state(), "whole")
    same(core.encode(growing:value()), core.encode(core.decode(text)))
    return true
  end
  return go, go
end

return turns
