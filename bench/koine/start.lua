-- start.lua LABEL: the library loaded, an adapter made and libcurl ready: CPU of the whole process.
local koine = require "koine"
assert(koine.anthropic { model = "bench-1" })
require("koine.core").engine():pollfd()
print(("%s %.4g ms"):format(arg[1], os.clock() * 1e3))
