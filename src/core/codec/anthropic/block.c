/*
** block.c: content blocks of the Anthropic Messages format, from their beginning to their stop. A
** stream and a plain answer go through the same two functions, so that both give the same message.
** An open block owns its buffers until it stops; parts borrow from the arena and the event's bytes. Failure: -1 and an
** err.
*/
#include "anthropic.h"

/* {{{ beginning */

/* The members of a block when it begins; strings are decoded, input and citations raw. */
struct start {
  struct str type, text, thinking, signature, data, id, name, input, citations;
  int extras; /* there are members besides these */
};

static int read_start(struct anthropic *s, struct str json, struct start *st, struct err *e) {
  struct arena *a = s->p->a;
  struct json j;
  json_open(&j, json, s->p->limits->depth, e);
  if (json_next(&j) == J_ERROR) return -1;
  if (j.tok != J_OBJECT) return err_set(e, KIND_PROTOCOL, "a content block is no object");
  while (json_next(&j) == J_KEY) {
    struct str *text = json_is(&j, "type") ? &st->type : json_is(&j, "text") ? &st->text
                     : json_is(&j, "thinking") ? &st->thinking : json_is(&j, "signature") ? &st->signature
                     : json_is(&j, "data") ? &st->data : json_is(&j, "id") ? &st->id
                     : json_is(&j, "name") ? &st->name : NULL;
    struct str *raw = json_is(&j, "input") ? &st->input : json_is(&j, "citations") ? &st->citations : NULL;
    if (text == NULL && raw == NULL) st->extras = 1;
    if ((text != NULL ? codec_string(&j, a, text) : raw != NULL ? json_raw(&j, raw) : json_skip(&j)) != 0) return -1;
  }
  return j.tok == J_OBJECT_END ? 0 : -1;
}

/* Keeps the members that have no canonical name. */
static int keep_extras(struct anthropic *s, struct open_block *b, struct str json, struct err *e) {
  struct json j;
  json_open(&j, json, s->p->limits->depth, e);
  json_next(&j);
  while (json_next(&j) == J_KEY) {
    int known = json_is(&j, "type") || (b->kind == ANTHROPIC_TEXT ? json_is(&j, "text") || json_is(&j, "citations")
                                        : json_is(&j, "id") || json_is(&j, "name") || json_is(&j, "input"));
    if ((known ? json_skip(&j) : codec_extra(&b->raw, &j)) != 0) return -1;
  }
  return 0;
}

/* True for an input that says nothing: absent, null, "" or an empty object. */
static int no_input(struct str json) {
  size_t i = 1;
  if (json.n == 0 || str_eq(json, "null") || str_eq(json, "\"\"")) return 1;
  while (i < json.n && (json.p[i] == ' ' || json.p[i] == '\t' || json.p[i] == '\r' || json.p[i] == '\n')) i++;
  return json.p[0] == '{' && i < json.n && json.p[i] == '}';
}

static int begin_tool(struct anthropic *s, struct open_block *b, const struct start *st, struct events *out,
                      struct err *e) {
  struct event *ev = events_push(out, PART_TOOL, b->key);
  if (ev == NULL) return err_memory(e);
  ev->id = st->id;
  ev->name = st->name;
  s->tools++;
  if (!no_input(st->input) && buf_addstr(&b->more, st->input) != 0) return err_memory(e);
  return 0;
}

/* True for a call of a tool that runs at the provider and costs more than its tokens, as far as is known. */
static int is_hosted(const struct start *st) {
  static const struct str FREE[] = { { "web_fetch", 9 }, { "tool_search", 11 } };
  if (!str_eq(st->type, "server_tool_use")) return 0;
  for (size_t i = 0; i < sizeof FREE / sizeof FREE[0]; i++)
    if (str_starts(st->name, FREE[i].p, FREE[i].n)) return 0;
  return 1;
}

static enum anthropic_kind kind_of(struct str type) {
  if (str_eq(type, "text")) return ANTHROPIC_TEXT;
  if (str_eq(type, "thinking")) return ANTHROPIC_THINKING;
  if (str_eq(type, "redacted_thinking")) return ANTHROPIC_REDACTED;
  return str_eq(type, "tool_use") ? ANTHROPIC_TOOL : ANTHROPIC_OTHER;
}

/* Pushes what the block says at once, keeps what waits for its stop. */
static int begin(struct anthropic *s, struct open_block *b, const struct start *st, struct str json,
                 struct events *out, struct err *e) {
  switch ((enum anthropic_kind)b->kind) {
    case ANTHROPIC_TEXT:
      if (anthropic_push(out, PART_TEXT, b->key, st->text, 0, e) != 0 ||
          codec_join_all(s->p, &b->more, st->citations, e) != 0)
        return -1;
      return st->extras || st->input.n > 0 ? keep_extras(s, b, json, e) : 0;
    case ANTHROPIC_THINKING:
      if (anthropic_push(out, PART_THINKING, b->key, st->thinking, 0, e) != 0) return -1;
      return st->signature.n == 0 ? 0 : anthropic_push(out, PART_SIGNATURE, b->key, st->signature, 0, e);
    case ANTHROPIC_REDACTED: return anthropic_push(out, PART_REDACTED, b->key, st->data, 0, e);
    case ANTHROPIC_TOOL:
      if (begin_tool(s, b, st, out, e) != 0) return -1;
      return st->extras ? keep_extras(s, b, json, e) : 0;
    case ANTHROPIC_OTHER: s->hosted |= is_hosted(st); break;
  }
  return buf_addstr(&b->raw, json) == 0 ? 0 : err_memory(e);
}

int anthropic_begin(struct anthropic *s, int64_t index, struct str json, struct events *out, struct err *e) {
  struct start st = { 0 };
  struct open_block *b = blocks_find(&s->blocks, index);
  if (b != NULL && anthropic_stop(s, b, out, e) != 0) return -1;
  if (read_start(s, json, &st, e) != 0) return -1;
  if ((b = blocks_add(&s->blocks, index, (int)kind_of(st.type), e)) == NULL) return -1;
  return begin(s, b, &st, json, out, e);
}

/* }}} */

/* {{{ stopping */

/* {members, "citations":[…]}: what a text or tool block carries beyond its canonical fields. */
static int stop_extras(struct anthropic *s, struct open_block *b, struct events *out, struct err *e) {
  struct str raw;
  if (b->kind == ANTHROPIC_TEXT && b->more.n > 0 && codec_list(&b->raw, STR("citations"), &b->more, e) != 0) return -1;
  if (codec_extra_end(s->p, &b->raw, &raw, e) != 0) return -1;
  return raw.n == 0 ? 0 : anthropic_push(out, PART_RAW, b->key, raw, 0, e);
}

/* The block as it began, with the member that deltas brought in its place, or appended. Input that is no object (cut by
** a limit, say) is wrapped in one. */
static int merge(struct anthropic *s, const struct open_block *b, struct buf *members, struct err *e) {
  struct str value = buf_str(&b->more);
  int merged = 0;
  struct json j;
  json_open(&j, buf_str(&b->raw), s->p->limits->depth, e);
  json_next(&j);
  while (json_next(&j) == J_KEY) {
    struct str key = j.text, raw;
    if (json_raw(&j, &raw) != 0) return -1;
    if (str_same(key, b->name)) { raw = value; merged = 1; }
    if (codec_member(members, key, raw, e) != 0) return -1;
  }
  return merged ? 0 : codec_member(members, b->name, value, e);
}

/* Makes the streamed input, if that is what it is, an object. */
static int wrap_input(struct anthropic *s, struct open_block *b, struct err *e) {
  struct buf text = b->more;
  int bad;
  if (!str_eq(b->name, "input") || codec_is_object(s->p, buf_str(&text))) return 0;
  buf_init(&b->more, s->p->m);
  bad = buf_adds(&b->more, "{\"INVALID_JSON\":") != 0 || json_write_string(&b->more, buf_str(&text)) != 0 ||
        buf_addc(&b->more, '}') != 0;
  buf_free(&text);
  return bad ? err_memory(e) : 0;
}

/* The type of a block's JSON, which lives in the arena. */
static int read_type(struct anthropic *s, struct str json, struct str *type, struct err *e) {
  struct start st = { 0 };
  if (read_start(s, json, &st, e) != 0) return -1;
  *type = st.type;
  return 0;
}

/* The whole block, in the arena. 0 or -1. */
static int whole(struct anthropic *s, struct open_block *b, struct str *json, struct err *e) {
  struct buf members;
  int bad;
  if (b->name.n == 0) {
    *json = arena_dup(s->p->a, buf_str(&b->raw));
    return json->p == NULL ? err_memory(e) : 0;
  }
  buf_init(&members, s->p->m);
  bad = wrap_input(s, b, e) != 0 || merge(s, b, &members, e) != 0 || codec_extra_end(s->p, &members, json, e) != 0;
  buf_free(&members);
  return bad ? -1 : 0;
}

static int stop_other(struct anthropic *s, struct open_block *b, struct events *out, struct err *e) {
  struct str json, type;
  struct event *ev;
  if (whole(s, b, &json, e) != 0 || read_type(s, json, &type, e) != 0) return -1;
  if ((ev = events_push(out, PART_OPAQUE, b->key)) == NULL) return err_memory(e);
  ev->name = type;
  ev->text = json;
  return 0;
}

/* Pushes what the block held back. */
static int stop(struct anthropic *s, struct open_block *b, struct events *out, struct err *e) {
  if (b->kind == ANTHROPIC_OTHER) return stop_other(s, b, out, e);
  if (b->kind == ANTHROPIC_REDACTED) return 0;
  if (b->kind == ANTHROPIC_TOOL && b->pieces == 0 && b->more.n > 0) {
    struct str input = arena_dup(s->p->a, buf_str(&b->more));
    if (input.p == NULL) return err_memory(e);
    if (anthropic_push(out, PART_ARGS, b->key, input, 0, e) != 0) return -1;
  }
  if (stop_extras(s, b, out, e) != 0) return -1;
  return anthropic_push(out, PART_END, b->key, STR_NONE, 0, e);
}

int anthropic_stop(struct anthropic *s, struct open_block *b, struct events *out, struct err *e) {
  int r = stop(s, b, out, e);
  blocks_drop(&s->blocks, b);
  return r;
}

/* }}} */
