--- Cassettes for judges: what is asked of a server is recorded, then played, and both must say the same.

local core = require "koine.core"
local koine = require "koine"
local luassert = require "luassert"
local program = require "spec.interop.support.program"

local cassette = {}

--- What a Response or an error says, without the headers, of which a cassette keeps a few.
function cassette.told(response, err)
  if not response then return { err.kind, err.status_code, err.message, err.partial and err.partial:text() } end
  local told = response:to_table()
  told.headers = nil
  return told
end

--- Calls ask(tape), which returns what was said, with a tape that records and with one that plays, and asserts that
-- both say the same. Returns the path of the cassette, whose folder the caller removes by cassette.remove, and what was
-- said.
function cassette.judge(ask)
  local path = program.folder() .. "/tape.json"
  local tape = koine.testing.cassette.open(path, { mode = "record" })
  local live = ask(tape)
  luassert(tape:finish())
  tape = koine.testing.cassette.open(path, { mode = "replay" })
  local played = ask(tape)
  luassert(tape:finish())
  luassert.are.same(live, played)
  return path, played
end

--- The cassette, decoded.
function cassette.read(path) return assert(core.decode(program.read(path))) end

--- Removes it, and its folder.
function cassette.remove(path) os.execute("rm -rf " .. program.quote((path:gsub("/[^/]*$", "")))) end

return cassette
