-- cqueues_loop.lua: three concurrent questions in a cqueues controller, beside its other coroutines.
-- Usage: lua5.4 examples/cqueues_loop.lua [provider/model]
local koine = require "koine"
local cqueues = require "cqueues"

local adapter = koine.adapter(arg[1] or "anthropic/claude-sonnet-4-5", { base_url = os.getenv "KOINE_BASE_URL" })

koine.hosts.cqueues.install()

local controller, left = cqueues.new(), 0

for _, question in ipairs { "Name a river.", "Name a mountain.", "Name a sea." } do
  left = left + 1
  controller:wrap(function()
    print(question, assert(adapter:chat(question)):text()) -- waits here; the others run
    left = left - 1
  end)
end

controller:wrap(function()
  while left > 0 do
    cqueues.sleep(0.5)
    io.stderr:write "."
  end
end)

assert(controller:loop())
