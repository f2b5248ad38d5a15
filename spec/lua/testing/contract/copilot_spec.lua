-- The contract of adapters, behind Copilot's own headers, tokens and models.

local koine = require "koine"

local server
local closed = "http://127.0.0.1:1"

setup(function() server = assert(koine.testing.start { copilot = { github_tokens = { "ghu_contract" } } }) end)
teardown(function() server:stop() end)

for _, api in ipairs { "chat", "responses" } do
  local function new(opts, url)
    local given = { model = "gpt-5-mini", api = api, github_host = url or server.url, github_token = "ghu_contract",
      min_request_interval = 0 }
    for option, value in pairs(opts or {}) do given[option] = value end
    return koine.copilot(given)
  end

  koine.testing.contract.describe("koine.copilot, " .. api, {
    describe = describe, it = it, assert = assert, teardown = teardown,
    new = new,
    unreachable = function(opts) return new(opts, closed) end,
    script = function(answers)
      assert(server:reset())
      assert(new():authenticate())
      local played = {}
      for i, answer in ipairs(answers) do
        played[i] = {}
        for name, value in pairs(answer) do played[i][name] = value end
        if answer.content then played[i].rotate_ids = false end -- else no two answers are equal
      end
      assert(server:script(played))
    end,
    requests = function()
      local list = {}
      for _, request in ipairs(assert(server:requests())) do
        if request.method == "POST" then list[#list + 1] = request end
      end
      return list
    end,
    supports = { wire = true, errors = true, refusal = false },
  })
end
