-- foreign.lua: starts the loopback provider, and itself again by the command in KOINE_FOREIGN, which runs the Lua of
-- another machine: that one chats and streams on several wire formats, runs tasks, and reads and writes JSON.

local koine = require "koine"

local function serve(command)
  local server <close> = assert(koine.testing.start())
  assert(server:script "echo")
  local ok = os.execute(("KOINE_URL=%s %s tools/foreign.lua"):format(server.url, command))
  os.exit(ok == true, true)
end

local function work(url)
  local core = require "koine.core"
  local makers = {
    function() return koine.anthropic { model = "claude-sonnet-4-5", key = "k", base_url = url } end,
    function() return koine.openai { model = "gpt-4.1", key = "k", base_url = url .. "/v1" } end,
    function() return koine.groq { model = "llama-3.3-70b-versatile", key = "k", base_url = url .. "/v1" } end,
    function() return koine.gemini { model = "gemini-2.5-pro", key = "k", base_url = url .. "/v1beta" } end,
    function() return koine.ollama { model = "llama3.2", base_url = url } end,
  }
  local questions = {}
  for i, make in ipairs(makers) do
    local adapter = make()
    assert(assert(adapter:chat "Grüße"):text() == "You said: Grüße")
    local text = ""
    for delta in adapter:stream "Strömung" do text = text .. (delta.text or "") end
    assert(text == "You said: Strömung", text)
    questions[i] = function() return assert(adapter:chat(tostring(i))):text() end
  end
  for i, text in ipairs(koine.gather(questions)) do assert(text == "You said: " .. i, text) end
  local json = '{"a":[1,2.5,9007199254740993,1e300,-0.0],"b":null,"ü":"\\u001f"}'
  assert(core.encode(core.decode(json)) == json, core.encode(core.decode(json)))
  assert(core.encode(core.decode "[1,256,65536]") == "[1,256,65536]")
end

local url = os.getenv "KOINE_URL"
if url then work(url)
else serve(assert(os.getenv "KOINE_FOREIGN")) end
