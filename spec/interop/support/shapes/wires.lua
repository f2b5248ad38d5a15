--- Adapters for the loopback provider, one for each wire that has a field of its own for the shape of an answer.

local koine = require "koine"

local wires = {}

local KEY = "interop-key"

local MAKERS = {
  chat = function(url) return koine.openai { model = "gpt-5", api = "chat", key = KEY, base_url = url .. "/v1" } end,
  responses = function(url)
    return koine.openai { model = "gpt-5", api = "responses", key = KEY, base_url = url .. "/v1" }
  end,
  messages = function(url) return koine.anthropic { model = "claude-sonnet-4-5", key = KEY, base_url = url } end,
  gemini = function(url)
    return koine.gemini { model = "gemini-3.5-flash", key = KEY, base_url = url .. "/v1beta" }
  end,
  ollama = function(url) return koine.ollama { model = "qwen3", base_url = url } end,
  converse = function(url)
    return koine.bedrock { model = "anthropic.claude-sonnet-4-6", key = KEY, region = "us-east-1", base_url = url }
  end,
  llamacpp = function(url) return koine.llamacpp { model = "m", base_url = url .. "/v1" } end,
  plain = function(url)
    return koine.compatible { model = "m", key = KEY, api = "chat", base_url = url .. "/v1",
      quirks = { structured = "schema", structured_tools = true } }
  end,
}

wires.NAMES = { "chat", "responses", "messages", "gemini", "ollama", "converse", "llamacpp", "plain" }

--- An adapter for the wire `name`, whose provider is at `url`.
function wires.adapter(name, url) return MAKERS[name](url) end

return wires
