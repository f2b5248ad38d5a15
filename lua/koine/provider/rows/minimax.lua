-- MiniMax, which speaks Anthropic's Messages; in China at https://api.minimaxi.com/anthropic. Stop sequences are not
-- heeded. Only M3 sees images, and can be told not to think.

local anthropic = require "koine.provider.rows.anthropic"

return {
  name = "minimax",
  title = "MiniMax",
  codec = "anthropic",
  base_url = "https://api.minimax.io/anthropic",
  list = "/v1/models",
  env = { "MINIMAX_API_KEY" },
  default_model = "MiniMax-M3",
  auth = "x-api-key",
  headers = anthropic.headers,
  quirks = { no_stop = true, no_documents = true, structured = "none" },
  models = {
    { prefix = "MiniMax-M3", context = 1000000, thinking = "budget", vision = true,
      quirks = { thinking_default = true } },
    { prefix = "MiniMax-M2", context = 204800, thinking = "budget", quirks = { no_images = true } },
  },
  models_checked = "2026-11-22",
  source = "documentation",
}
