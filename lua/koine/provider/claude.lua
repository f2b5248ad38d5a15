--- The models of Claude on other providers' servers: what Anthropic's row knows of them, but for the prices, which are
-- not Anthropic's there.

local anthropic = require "koine.provider.rows.anthropic"

local models = {}
for i, known in ipairs(anthropic.models) do
  models[i] = {}
  for name, value in pairs(known) do models[i][name] = value end
  models[i].price = nil
end

return models
