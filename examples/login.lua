-- login.lua: logs in to GitHub Copilot and prints the remaining quotas, or logs out.
-- Usage: lua5.4 examples/login.lua [logout]
local koine = require "koine"

local copilot = koine.copilot { model = "gpt-4.1", github_host = os.getenv "KOINE_GITHUB_HOST",
  on_device_code = function(code)
    print(("Open %s and enter the code %s (within %d minutes)."):format(code.verification_uri, code.user_code,
      code.expires_in // 60))
  end }

if arg[1] == "logout" then
  local _, err = copilot:logout()
  print(err and tostring(err) or "Logged out.")
  return
end

assert(copilot:authenticate())
print "Logged in."
for _, quota in ipairs(assert(copilot:usage_report()).limits) do
  local amount = quota.amount
  print(("  %-16s %-9s %s"):format(quota.label, quota.status,
    amount.limit and ("%s of %s left"):format(amount.remaining or "?", amount.limit) or "no limit"))
end
