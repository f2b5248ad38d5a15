-- Koine's client against Gemini CLI.

describe("gemini --acp", function()
  local spec = { before_each = before_each, after_each = after_each, it = it }
  require "spec.agents.turns" (spec, {
    preset = "gemini", packages = "gemini", name = "gemini-cli", tool = "write_file", kind = "edit",
    forgets = true,
    input = function(directory) return { file_path = directory .. "/a.txt", content = "one\n" } end,
    options = function(world)
      return { auth = "gemini-api-key", env = { GOOGLE_GEMINI_BASE_URL = world.url, GEMINI_API_KEY = "test-key" } }
    end,
  })
end)
