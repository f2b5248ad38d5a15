-- contents.lua: in which order the reference and the guide are listed, and which of their pages belong together. A page
-- of docs/ that is not named here stands at the end of the guide.

return {
  -- Title, and page = file below types/koine without its ending.
  reference = {
    { "Calls", { basics = "init", providers = "providers", adapter = "chat/adapter", options = "chat/options",
      messages = "chat/messages", response = "chat/response", errors = "chat/errors", usage = "chat/usage",
      conversation = "chat/conversation" },
      "basics", "providers", "adapter", "options", "messages", "response", "errors", "usage", "conversation" },
    { "Agents and tools", { agent = "agent/agent", tool = "agent/tool", executor = "system/executor",
      session = "system/session", task = "task" }, "agent", "tool", "executor", "session", "task" },
    { "Services", { dispatcher = "service/dispatcher", packing = "service/packing", store = "service/store",
      mcp = "protocol/mcp", acp = "protocol/acp", observe = "observe" },
      "dispatcher", "packing", "store", "mcp", "acp", "observe" },
    { "Tests", { testing = "testing/loopback", cassette = "testing/cassette" }, "testing", "cassette" },
  },
  -- Page of the reference → pages of the guide about the same.
  about = {
    providers = { "adapter", "providers" }, adapter = { "adapter", "embeddings", "custom_adapters" },
    options = { "adapter", "structured_output" }, messages = { "messages" }, response = { "response", "stream" },
    errors = { "errors" }, usage = { "response", "copilot" }, conversation = { "conversation" }, agent = { "agents" },
    tool = { "tools" }, executor = { "executor", "process" }, session = { "sessions" },
    task = { "concurrency", "embedding" }, dispatcher = { "dispatcher", "scaling" }, packing = { "turns" },
    store = { "stores", "rate_limiting" }, mcp = { "mcp" }, acp = { "acp", "acp-agent" }, observe = { "observing" },
    testing = { "testing" }, cassette = { "cassettes" },
  },
  -- Title, and names of pages below docs/ without their ending.
  guide = {
    { "Start", "README", "getting-started", "cookbook", "adapter", "messages", "response", "stream", "errors",
      "troubleshooting", "cli", "editors" },
    { "Build", "conversation", "tools", "structured_output", "agents", "embeddings", "extra_fields", "mcp", "acp",
      "acp-agent", "sessions", "executor", "process" },
    { "Run in production", "concurrency", "embedding", "rate_limiting", "dispatcher", "turns", "scaling", "stores",
      "observing", "testing", "cassettes", "security", "performance" },
    { "Providers", "providers", "gemini", "vertex", "bedrock", "ollama", "copilot" },
    { "Extend", "custom_adapters", "normalisation", "interop", "architecture" },
  },
}
