-- koine.copilot: its quotas, and the pause that it keeps between two requests.

local copilot_kit = require "spec.lua.provider.copilot.kit"
local core = require "koine.core"
local deep = require "spec.support.deep"
local folder = require "spec.support.folder"
local koine = require "koine"
local lfs = require "lfs"
local raised = require "spec.support.raised"
local usage = require "koine.provider.auth.copilot.usage"
local wait = require "koine.task.wait"

local shows = deep.shows

describe("koine.copilot", function()
  local kit = copilot_kit.new "quota"
  local copilot, counted = kit.copilot, kit.counted
  local park = wait.park
  local server, token

  setup(function() server = kit.start() end)
  teardown(kit.stop)
  before_each(function() token = kit.begin() end)
  after_each(kit.restore)

  describe("usage_report", function()
    local function by_id(report)
      local found = {}
      for _, entry in ipairs(report.limits) do found[entry.id] = entry end
      return found
    end

    it("tells the quotas of a paid plan", function()
      assert(server:copilot { plan = "business", reset_date = "2026-12-01", quota = {
        premium_interactions = { entitlement = 300, remaining = 24, overage_permitted = true, overage_count = 3 },
        chat = { unlimited = true }, completions = { entitlement = 10, remaining = 0 } } })
      local report = assert(copilot():usage_report())
      assert.are.equal("GitHub Copilot", report.provider)
      assert.are.equal("business", report.metadata.plan)
      assert.is_true(math.abs(report.fetched_at - core.wall()) < 60)
      local quotas = by_id(report)
      local premium = quotas["copilot:premium"]
      assert.are.equal("warning", premium.status)
      assert.are.equal("Premium requests", premium.label)
      assert.are.equal("requests", premium.amount.unit)
      assert.are.same({ 300, 24, 276 }, { premium.amount.limit, premium.amount.remaining, premium.amount.used })
      assert.is_true(math.abs(premium.amount.remaining_fraction - 0.08) < 1e-9)
      assert.is_true(math.abs(premium.amount.used_fraction - 0.92) < 1e-9)
      assert.are.equal("monthly", premium.window.id)
      assert.are.equal(1796083200, premium.window.resets_at) -- 2026-12-01 00:00 UTC
      assert.are.equal(2, #premium.notes)
      assert.are.equal("ok", quotas["copilot:chat"].status)
      assert.is_nil(quotas["copilot:chat"].amount.limit)
      assert.are.equal("exhausted", quotas["copilot:completions"].status)
      local request = assert(server:requests())
      request = request[#request]
      assert.are.equal("Bearer " .. token, request.headers.authorization)
      assert.are.equal("*/*", request.headers.accept)
      assert.are.equal(0, counted().exchanges)
    end)

    it("tells the quotas of a free plan", function()
      assert(server:copilot { plan = "free", reset_date = "2027-02-28", quota = {
        chat = { entitlement = 50, remaining = 40 }, completions = { entitlement = 2000, remaining = 0 } } })
      local quotas = by_id(assert(copilot():usage_report()))
      assert.is_nil(quotas["copilot:premium"])
      assert.are.same({ "ok", 50, 40, 10 }, { quotas["copilot:chat"].status, quotas["copilot:chat"].amount.limit,
        quotas["copilot:chat"].amount.remaining, quotas["copilot:chat"].amount.used })
      assert.are.equal("exhausted", quotas["copilot:completions"].status)
      assert.are.equal(1803772800, quotas["copilot:chat"].window.resets_at)
    end)

    it("makes do with what is said", function()
      local row = { title = "GitHub Copilot" }
      assert.are.same({}, usage.read(row, {}).limits)
      assert.are.same({}, usage.read(row, { quota_snapshots = 5, monthly_quotas = "x" }).limits)
      local odd = by_id(usage.read(row, { quota_reset_date = "soon", quota_snapshots = { chat = {},
        premium_interactions = { percent_remaining = 9.5 }, completions = { remaining = 0 } } }))
      assert.are.equal("unknown", odd["copilot:chat"].status)
      assert.are.equal("warning", odd["copilot:premium"].status)
      assert.are.equal("exhausted", odd["copilot:completions"].status)
      assert.is_nil(odd["copilot:chat"].window.resets_at)
    end)

    it("reports errors, and starts no login", function()
      local result, err = copilot({ github_token = "ghu_unknown" }):usage_report()
      assert.is_nil(result)
      assert.are.equal("AuthenticationError", err.class)
      assert.are.equal(401, err.status_code)
      assert.is_false(shows(err, "ghu_unknown"))
      result, err = koine.copilot({ model = "gpt-4.1", github_host = server.url }):usage_report()
      assert.is_nil(result)
      assert.are.equal("AuthenticationError", err.class)
      assert.is_truthy(err.message:find("authenticate()", 1, true))
      assert(server:script { { path = "/copilot_internal/user", reply = { body = "?" } } })
      result, err = copilot():usage_report()
      assert.is_nil(result)
      assert.are.equal("protocol", err.kind)
      assert.are.equal(0, counted().device_codes)
    end)
  end)

  describe("waits", function()
    local directory

    before_each(function() directory = folder.new() end)
    after_each(function() folder.remove(directory) end)

    local function limiter_of(options)
      options.token_path = options.token_path or directory .. "/token"
      return core.state(koine.copilot { model = "gpt-4.1", github_token = token, github_host = server.url,
        token_path = options.token_path, min_request_interval = options.min_request_interval,
        rate_limit = options.rate_limit, rate_limit_path = options.rate_limit_path,
        rate_limiter = options.rate_limiter }).rate_limiter
    end

    it("three seconds between two requests, with a file beside the token's", function()
      local limiter = limiter_of {}
      assert.are.equal(3.0, limiter.interval)
      assert.are.equal(directory .. "/copilot_rate_limit", limiter.path)
      assert.is_nil(limiter.window)
      assert(server:script "echo")
      local adapter = koine.copilot { model = "gpt-4.1", github_token = token, github_host = server.url,
        token_path = directory .. "/token", min_request_interval = 0.05 }
      wait.park = park
      assert(adapter:chat "Hi")
      local first = core.decode(assert(io.open(directory .. "/copilot_rate_limit")):read "a").last_request_at
      assert(adapter:list_models())
      local second = core.decode(assert(io.open(directory .. "/copilot_rate_limit")):read "a").last_request_at
      assert.is_true(second - first >= 0.05 - 1e-6)
      assert.are.equal("rw-------", lfs.attributes(directory .. "/copilot_rate_limit", "permissions"))
    end)

    it("as the options say", function()
      assert.is_false(limiter_of({ min_request_interval = 0 }).limits)
      assert.are.equal(0.5, limiter_of({ min_request_interval = 0.5 }).interval)
      assert.are.equal(5, limiter_of({ rate_limit = { requests = 5, period = 60 } }).window.requests)
      assert.are.equal(directory .. "/mine", limiter_of({ rate_limit_path = directory .. "/mine" }).path)
      local mine = { wait = function() return true end }
      assert.are.equal(mine, limiter_of { rate_limiter = mine })
      local homeless = koine.copilot { model = "gpt-4.1", key = "k" }
      assert.is_false(core.state(homeless).rate_limiter.limits) -- no place for a file, and none asked for
      assert.are.equal("rate_limit_path", raised(koine.copilot, { model = "gpt-4.1", min_request_interval = 1 }).field)
    end)

    it("once per chat, and not to log in", function()
      local waits = 0
      assert(server:script { { content = "a" }, { error = { status = 401 } }, { content = "b" }, { content = "c" } })
      local adapter = copilot { rate_limiter = { wait = function() waits = waits + 1 end } }
      assert(adapter:authenticate())
      assert.are.equal(0, waits)
      assert(adapter:chat "Hi")
      assert(adapter:chat "Hi")
      for _ in adapter:stream "Hi" do end
      assert.are.equal(3, waits)
      assert(adapter:list_models())
      assert.are.equal(4, waits)
      assert(adapter:usage_report())
      assert.are.equal(4, waits)
    end)
  end)
end)
