--- Commands about an account: models, login, quotas.

local adapters = require "koine.cli.adapters"
local failure = require "koine.cli.failure"
local json = require "koine.cli.json"
local terminal = require "koine.cli.terminal"

local account = {}

--- The command `models`: one a line, as -m takes it.
function account.models(args)
  local provider = args.provider or adapters.named(args):match "^[^/]*"
  local list, err = adapters.adapter_of(args, provider .. "/any"):list_models()
  if not list then error(err, 0) end
  if args.json then
    terminal.out(json.encode(list, "list") .. "\n")
  else
    for _, model in ipairs(list) do terminal.out(provider .. "/" .. model.id .. "\n") end
  end
  return 0
end

--- The command `login`: shows an address and a code, and waits until the code was entered there.
function account.login(args)
  args.given[#args.given + 1] = { "on_device_code", function(code)
    terminal.say("open %s and enter the code %s (%d minutes)", code.verification_uri, code.user_code,
      code.expires_in // 60)
  end }
  local done, err = adapters.adapter_of(args, args.provider .. "/any"):authenticate()
  if not done then error(err, 0) end
  terminal.say "logged in"
  return 0
end

-- The provider where a user logs in: the others have no quotas.
local function login_provider()
  for _, provider in ipairs(adapters.PROVIDERS) do
    if provider.login then return provider.name end
  end
end

--- The command `usage`: what is left of the quotas. Fails as wrong use for a provider without any.
function account.usage(args)
  local provider = args.provider or login_provider()
  local quotas, err = adapters.adapter_of(args, provider .. "/any"):usage_report()
  if err then error(err, 0) end
  if not quotas then failure.fail(failure.WRONG_USE, "%s has no quotas to ask for", provider) end
  if args.json then
    terminal.out(json.encode(quotas) .. "\n")
    return 0
  end
  for _, quota in ipairs(quotas.limits) do
    local of = quota.amount
    local left = of.limit and ("%s of %s %s left"):format(of.remaining or "?", of.limit, of.unit) or "no limit"
    terminal.out(("%-20s %-10s %s\n"):format(quota.label, quota.status, left))
  end
  return 0
end

return account
