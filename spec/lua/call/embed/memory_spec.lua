-- What a call takes of the process's memory at its peak.

local raw_server = require "spec.support.raw_server"

-- AddressSanitizer keeps what was freed: the peak says nothing then.
local SANITIZED = (os.getenv "LD_PRELOAD" or ""):find("libasan", 1, true) ~= nil

local WIDTH <const> = 1536
local BODY <const> = 20000000 -- bytes of the answer
local REST <const> = 2 << 20  -- bytes of what else a call needs
local NUMBER <const> = { table = 16, packed = 4 } -- bytes

-- A vector as JSON. Its numbers are so long that the answer is larger than 1.3 times a table of them.
local function vector()
  local numbers = {}
  for i = 1, WIDTH do numbers[i] = ("%.22f"):format(math.sin(i) / 25) end
  return '{"object":"embedding","embedding":[' .. table.concat(numbers, ",") .. "]}"
end

local function body_of(entry, count)
  return '{"object":"list","data":[' .. (entry .. ","):rep(count - 1) .. entry .. '],"usage":{"prompt_tokens":1}}'
end

describe("the memory of an embedding", function()
  -- 18: a body is there once, beside the result
  for _, as in ipairs { "packed", "table" } do
    it("is at most the answer and 1.3 times the result, " .. as, function()
      if SANITIZED or not io.open "/proc/self/status" then return pending "only where the system tells the peak" end
      local entry = vector()
      local count = BODY // #entry + 1
      local body = body_of(entry, count)
      local server = raw_server.start(raw_server.answer(200, body_of(entry, 1)), raw_server.answer(200, body))
      local child <close> = assert(io.popen(("%s spec/lua/call/embed/memory.lua %s %s %d 2>&1"):format(
        os.getenv "KOINE_LUA" or "lua5.4", server.url, as, count)))
      local grown, numbers = child:read("n", "n")
      assert.is_truthy(numbers, child:read "a")
      server.child:close()
      local most = #body + 1.3 * numbers * NUMBER[as] + REST
      assert.is_true(grown <= most, ("%.0f bytes more than before; at most %.0f are right"):format(grown, most))
    end)
  end
end)
