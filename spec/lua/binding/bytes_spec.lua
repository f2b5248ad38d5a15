-- Checksums, digests and base64 of the core, against programs that have nothing to do with it.

local core = require "koine.core"

local LENGTHS = 300 -- every length below, then a few beyond it

local function hex(bytes) return (bytes:gsub(".", function(c) return ("%02x"):format(c:byte()) end)) end

-- True where the program can be run.
local function has(program) return (os.execute(("command -v %s >/dev/null 2>&1"):format(program))) == true end

-- Made-up bytes; the same in every run.
local function random(n, seed)
  local bytes, state = {}, seed * 2654435761 + 12345
  for i = 1, n do
    state = (state * 6364136223846793005 + 1442695040888963407)
    bytes[i] = string.char(state >> 33 & 0xFF)
  end
  return table.concat(bytes)
end

-- {key, bytes} of every length.
local function samples()
  local list = {}
  for n = 0, LENGTHS do list[#list + 1] = { random(n % 150, n + 7), random(n, n) } end
  for _, n in ipairs { 1000, 4096, 65537, 1000003 } do list[#list + 1] = { random(64, n), random(n, n) } end
  return list
end

local function with_file(bytes, f)
  local path = os.tmpname()
  local file = assert(io.open(path, "wb"))
  file:write(bytes)
  file:close()
  local ok, err = pcall(f, path)
  os.remove(path)
  if not ok then error(err, 0) end
end

local function output(command)
  local pipe = assert(io.popen(command, "r"))
  local text = pipe:read "a"
  pipe:close()
  return text
end

describe("core.before", function()
  it("orders strings by their bytes", function()
    local sorted = { "", "\0", "\0\0", "A", "B", "a", "a\0", "aa", "\127", "\128", "\255" }
    for i, a in ipairs(sorted) do
      for k, b in ipairs(sorted) do assert.are.equal(i < k, core.before(a, b), i .. " " .. k) end
    end
  end)
end)

describe("digests", function()
  it("are those of the standards", function()
    assert.are.equal("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", hex(core.sha256 "abc"))
    assert.are.equal("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
      hex(core.hmac_sha256("Jefe", "what do ya want for nothing?")))
    assert.are.equal(0xCBF43926, core.crc32 "123456789")
    assert.are.equal("foobar", core.base64_decode "Zm9vYmFy")
    assert.is_nil(core.base64_decode "not base64!")
    for text in ("Zg== Zm8= Zm9v Zm9vYg=="):gmatch "%S+" do
      assert.are.equal(text, core.base64_encode(core.base64_decode(text)))
    end
  end)

  it("take strings alone", function()
    for _, name in ipairs { "sha256", "crc32", "base64_encode", "base64_decode" } do
      assert.has_error(function() core[name]({}) end)
    end
    assert.has_error(function() core.hmac_sha256("key") end)
  end)

  it("are Python's for every length", function()
    if not has "python3" then return pending "python3 is not there" end
    local parts, expected = {}, {}
    for i, sample in ipairs(samples()) do
      parts[i] = ("%s %s\n"):format(hex(sample[1]), hex(sample[2]))
      expected[i] = ("%s %s %d"):format(hex(core.sha256(sample[2])), hex(core.hmac_sha256(sample[1], sample[2])),
        core.crc32(sample[2]))
    end
    with_file(table.concat(parts), function(path)
      local script = "import sys,hashlib,hmac,zlib\n" ..
        "for line in open(sys.argv[1]):\n" ..
        "  k,b=(bytes.fromhex(x) for x in line[:-1].split(' '))\n" ..
        "  print(hashlib.sha256(b).hexdigest(),hmac.new(k,b,'sha256').hexdigest(),zlib.crc32(b))\n"
      local said = output(("python3 -c \"%s\" %s"):format(script, path))
      assert.are.equal(table.concat(expected, "\n") .. "\n", said)
    end)
  end)

  it("are OpenSSL's", function()
    if not has "openssl" then return pending "openssl is not there" end
    for _, n in ipairs { 0, 1, 55, 56, 63, 64, 65, 119, 120, 1000, 100003 } do
      local bytes, key = random(n, n + 1), random(1 + n % 100, n + 2)
      with_file(bytes, function(path)
        assert.are.equal(hex(core.sha256(bytes)), output("openssl dgst -sha256 -r " .. path):match "^%x+")
        local mac = output(("openssl dgst -sha256 -mac HMAC -macopt hexkey:%s -r %s"):format(hex(key), path))
        assert.are.equal(hex(core.hmac_sha256(key, bytes)), mac:match "^%x+")
      end)
    end
  end)
end)

describe("core.random", function()
  it("returns as many bytes as asked for, others each time", function()
    local seen = {}
    for _ = 1, 100 do
      local bytes = core.random(32)
      assert.are.equal(32, #bytes)
      assert.is_nil(seen[bytes])
      seen[bytes] = true
    end
    assert.are.equal(256, #core.random(256))
  end)

  it("takes a number from 1 to 256", function()
    for _, n in ipairs { 0, 257, -1 } do assert.is_false(pcall(core.random, n)) end
    assert.is_false(pcall(core.random, "many"))
  end)

  it("comes in hex, too, from 1 to 128", function()
    local seen = {}
    for _ = 1, 100 do
      local text = core.random_hex(8)
      assert.is_truthy(text:find "^[0-9a-f]+$")
      assert.are.equal(16, #text)
      assert.is_nil(seen[text])
      seen[text] = true
    end
    assert.are.equal(256, #core.random_hex(128))
    for _, n in ipairs { 0, 129, "many" } do assert.is_false(pcall(core.random_hex, n)) end
  end)

  it("comes in several texts at once", function()
    local first, second, none = core.random_hex(16, 8)
    assert.are.equal(32, #first)
    assert.are.equal(16, #second)
    assert.is_nil(none)
    assert.is_nil(first:find(second, 1, true))
    for _, sizes in ipairs { { 1, 0 }, { -1, 2 }, { 64, 65 }, { math.maxinteger, 1 }, { 1, math.maxinteger } } do
      assert.is_false(pcall(core.random_hex, table.unpack(sizes)))
    end
  end)
end)
