--- Helpers of the turns of memory_work.c. init.lua sets `base` and `folder` before a turn is made.

local kit = {
  base = nil,             -- the provider's address
  folder = nil,           -- a directory for files
  TEXT = "Hello, héllo!", -- what the provider says
  OLD = ("old\n"):rep(1000),
  NEW = ("new\n"):rep(1200),
}

--- The path of a file in the directory.
function kit.path(name) return kit.folder .. "/" .. name end

--- Raises unless the two are equal.
function kit.same(got, expected)
  if got ~= expected then error(("wrong answer: %s expected, got %s"):format(expected, got), 2) end
end

--- Writes a file.
function kit.put(name, bytes)
  local file <close> = assert(io.open(kit.path(name), "wb"))
  assert(file:write(bytes))
end

--- The bytes of a file.
function kit.get(name)
  local file <close> = assert(io.open(kit.path(name), "rb"))
  return file:read "a"
end

--- Raises unless the file is what it was or what it was to be.
function kit.check_whole(name, old, new)
  local bytes = kit.get(name)
  if bytes ~= old and bytes ~= new then error(("half a file: %d bytes"):format(#bytes), 2) end
end

--- Whether words tell of a lack of memory.
function kit.tells(words) return type(words) == "string" and words:find("not enough memory", 1, true) ~= nil end

--- Calls f until it does not run out of memory, but not for ever.
function kit.patient(f, ...)
  for left = 100, 0, -1 do
    local results = table.pack(pcall(f, ...))
    if results[1] then return table.unpack(results, 2, results.n) end
    if left == 0 or not kit.tells(tostring(results[2])) then error(results[2], 0) end
  end
end

--- Calls f in a coroutine of its own, which has room for few calls.
function kit.in_coroutine(f, ...)
  local ok, err = coroutine.resume(coroutine.create(f), ...)
  if not ok then error(err, 0) end
end

--- The options of an adapter that is answered `what`.
function kit.options(what)
  return { model = "some-model", key = "a-secret-key", base_url = kit.base .. what, retry = false }
end

return kit
