-- luv_loop.lua: three concurrent questions in libuv's event loop, beside its other handles.
-- Usage: lua5.4 examples/luv_loop.lua [provider/model]
local koine = require "koine"
local uv = require "luv"

local adapter = koine.adapter(arg[1] or "anthropic/claude-sonnet-4-5", { base_url = os.getenv "KOINE_BASE_URL" })

koine.hosts.luv.install()

local ticker, left = uv.new_timer(), 0
ticker:start(500, 500, function() io.stderr:write "." end)

for _, question in ipairs { "Name a river.", "Name a mountain.", "Name a sea." } do
  left = left + 1
  coroutine.wrap(function()
    print(question, assert(adapter:chat(question)):text()) -- waits here; the others run
    left = left - 1
    if left == 0 then ticker:close() end
  end)()
end

uv.run()
