/*
** packing.c: whatever batch is handed in, it is packed, or refused by the name of a field: every prompt and every block is
** in the turn once, in its order, under its sender's envelope; the spans tell whose a block is; a name cannot close the
** envelope it stands in; the same batch packs to the same bytes. Build as tools/fuzz.sh does.
*/
#include "lua_value.h"

static const char CHECKS[] =
  "local core = require 'koine.core'\n"
  "local errors = require 'koine.data.errors'\n"
  "local packing = require 'koine.dispatch.packing'\n"
  "local OPEN, CLOSE = '<sender_context>\\n', '\\n</sender_context>'\n"
  "local function try(f, ...)\n"
  "  local r = table.pack(pcall(f, ...))\n"
  "  if r[1] then return table.unpack(r, 2, r.n) end\n"
  "  assert(errors.is_error(r[2]) and r[2].class == 'ArgumentError' and type(r[2].field) == 'string', tostring(r[2]))\n"
  "end\n"
  /* the line of a sender is one line of JSON that says what the sender's table says, and holds no bracket */
  "local function check_line(sender, line)\n"
  "  assert(not line:find '[<>\\r\\n]', 'the envelope can be left')\n"
  "  local said = assert(core.decode(line))\n"
  "  local is_text = utf8.len(sender.sender_id)\n"
  "  assert(not is_text or said.sender_id == sender.sender_id, 'another sender')\n"
  "  assert(said.schema == 'openab.sender.v1' and said.is_bot == sender.is_bot)\n"
  "end\n"
  "local function check_event(event, blocks, first, last, layout)\n"
  "  local prompt = event.prompt or ''\n"
  "  local head = blocks[first].text\n"
  "  local envelope = packing.envelope(event)\n"
  "  assert(blocks[first].type == 'text' and head:sub(1, #envelope) == envelope, 'no envelope')\n"
  "  if event.sender_json == nil then check_line(event.sender, envelope:sub(#OPEN + 1, -#CLOSE - 1)) end\n"
  "  local left, prompts = {}, 0\n"
  "  for _, extra in ipairs(event.extras or {}) do left[#left + 1] = extra end\n"
  "  assert(last - first == #left + (layout == 'combined' and 0 or prompt ~= '' and 1 or 0), 'blocks')\n"
  "  if layout == 'combined' then assert(head == envelope .. '\\n\\n' .. prompt, 'prompt') end\n"
  "  for i = first + 1, last do\n"
  "    local found\n"
  "    for k, extra in ipairs(left) do\n"
  "      if rawequal(extra, blocks[i]) then found = k break end\n"
  "    end\n"
  "    if found then table.remove(left, found) else\n"
  "      prompts = prompts + 1\n"
  "      assert(blocks[i].type == 'text' and blocks[i].text == prompt, 'a stranger')\n"
  "    end\n"
  "  end\n"
  "  assert(#left == 0 and prompts == (layout ~= 'combined' and prompt ~= '' and 1 or 0), 'lost')\n"
  "  assert(packing.estimate(event) >= 1 and packing.envelope_tokens(event) > #OPEN // 4)\n"
  "end\n"
  "return function(batch, opts)\n"
  "  local blocks, spans = try(packing.pack, batch, opts)\n"
  "  if not blocks then return end\n"
  "  local again = packing.pack(batch, opts)\n"
  "  local at, layout = 0, type(opts) == 'table' and opts.layout or 'split'\n"
  "  assert(#spans == #batch and #again == #blocks)\n"
  "  for i, span in ipairs(spans) do\n"
  "    assert(span[1] == at + 1 and span[2] >= span[1], 'spans')\n"
  "    assert(blocks[span[1]].text == again[span[1]].text, 'not the same bytes')\n"
  "    check_event(batch[i], blocks, span[1], span[2], layout)\n"
  "    at = span[2]\n"
  "  end\n"
  "  assert(at == #blocks)\n"
  "  if #blocks > 0 then\n"
  "    try(core.check, { model = 'm', messages = { { role = 'user', content = blocks } } })\n"
  "  end\n"
  "end\n";

/* A sender that is whole but for what the bytes say otherwise. */
static void push_sender(lua_State *L, struct bytes *b) {
  static const char *const NAMES[] = { "sender_id", "sender_name", "display_name", "channel", "channel_id" };
  lua_newtable(L);
  for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
    push_word(L, b);
    lua_setfield(L, -2, NAMES[i]);
  }
  lua_pushboolean(L, take(b) & 1);
  lua_setfield(L, -2, "is_bot");
  for (unsigned n = take(b) % 4; n > 0; n--) {
    push_word(L, b);
    push_any(L, b);
    lua_rawset(L, -3);
  }
}

static void push_extras(lua_State *L, struct bytes *b) {
  lua_newtable(L);
  for (unsigned i = 1, n = take(b) % 4; i <= n; i++) {
    lua_newtable(L);
    lua_pushstring(L, take(b) & 1 ? "text" : "image");
    lua_setfield(L, -2, "type");
    push_word(L, b);
    lua_setfield(L, -2, take(b) & 15 ? "text" : "source");
    lua_rawseti(L, -2, i);
  }
}

/* An event, or anything. */
static void push_event(lua_State *L, struct bytes *b) {
  unsigned how = take(b);
  if (how < 8) {
    push_any(L, b);
    return;
  }
  lua_newtable(L);
  if (how & 1) push_word(L, b);
  else push_sender(L, b);
  lua_setfield(L, -2, how & 1 ? "sender_json" : "sender");
  push_word(L, b);
  lua_setfield(L, -2, "prompt");
  if (how & 2) push_extras(L, b);
  else lua_pushnil(L);
  lua_setfield(L, -2, "extras");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static lua_State *L;
  struct bytes b = { data, data + size, 0, 0 };
  unsigned pick = take(&b);
  if (L == NULL) {
    L = new_state();
    load_checks(L, CHECKS);
  }
  lua_newtable(L);
  for (lua_Integer i = 1; i <= (lua_Integer)(pick >> 4) && !is_empty(&b); i++) {
    push_event(L, &b);
    lua_rawseti(L, -2, i);
  }
  if ((pick & 3) == 0) {
    lua_pushnil(L);
  } else if ((pick & 3) == 1) {
    push_any(L, &b);
  } else {
    lua_newtable(L);
    lua_pushstring(L, (pick & 3) == 2 ? "combined" : "split");
    lua_setfield(L, -2, "layout");
  }
  run_checks(L, 2);
  return 0;
}
