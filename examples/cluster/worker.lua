-- worker.lua STORE PROVIDER NAME FOLDER: one process of the cluster (cluster.lua starts three). STORE is a URL of
-- Redis, or a directory of the file engine. It plays the turns of threads until it is ended, and posts answers into
-- files, one for each process: a real one would post them to a chat platform.
local koine = require "koine"

local where, url, name, folder = table.unpack(arg)
local store = assert(where:find "^unix:" and koine.store.redis { url = where } or koine.store.file { dir = where })
local claude = koine.anthropic { model = "claude-sonnet-4-5", key = "loopback", base_url = url }

local function post(file, text)
  local log <close> = assert(io.open(("%s/%s.%s"):format(folder, file, name), "a"))
  log:write((text:gsub("\n", " ")), "\n")
end

koine.dispatcher.shared({
  store = store, owner = name, mode = "per-thread", max_buffered_messages = 2, max_threads = 2,
  ttl = 1, -- so long the threads of a process that was killed wait; more where turns may block
  target = koine.dispatcher.agents(function(_, ctx)
    if ctx.tries > 1 then post("again", ctx.messages[1].prompt) end
    koine.sleep(0.03) -- real models take longer
    return koine.agent { adapter = claude, system = "Be brief." }
  end),
  on_done = function(_, _, result) post("answers", result.text) end,
  on_warning = function(text) post("warnings", text) end,
}):run()
