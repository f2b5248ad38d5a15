-- start.lua LABEL: the library loaded, an adapter made and libcurl ready, as it is from the first request on: CPU of
-- the whole process.
local koine = require "koine"
local core = require "koine.core"
assert(koine.anthropic { model = "bench-1" })
core.request(core.engine(), { method = "GET", url = "http://127.0.0.1:1/", headers = {} }):close()
print(("%s %.4g ms"):format(arg[1], os.clock() * 1e3))
