/*
** message.c: parts in, deltas out. Owns copies of all it keeps (one buf per field of a block).
** Fails with -1 and an err; a failed message only frees.
*/
#include "block.h"

#include <stdio.h>

void message_init(struct message *msg, const struct mem *m, const struct limits *l, const struct origin *from,
                  size_t request_messages) {
  memset(msg, 0, sizeof *msg);
  msg->m = m;
  msg->limits = l;
  msg->origin = *from;
  msg->request_messages = request_messages;
  msg->open = msg->last = -1;
  usage_clear(&msg->usage);
  buf_init(&msg->id, m);
  buf_init(&msg->reported_model, m);
  buf_init(&msg->raw_stop, m);
  buf_init(&msg->stop_sequence, m);
  buf_init(&msg->container, m);
  buf_init(&msg->warnings, m);
  buf_init(&msg->scratch, m);
}

static void block_free(struct block *b) {
  buf_free(&b->text);
  buf_free(&b->id);
  buf_free(&b->name);
  buf_free(&b->signature);
  buf_free(&b->raw);
}

void message_free(struct message *msg) {
  for (size_t i = 0; i < msg->n; i++) block_free(&msg->blocks[i]);
  mem_free(msg->m, msg->blocks, msg->cap * sizeof *msg->blocks);
  msg->blocks = NULL;
  msg->n = msg->cap = 0;
  buf_free(&msg->id);
  buf_free(&msg->reported_model);
  buf_free(&msg->raw_stop);
  buf_free(&msg->stop_sequence);
  buf_free(&msg->container);
  buf_free(&msg->warnings);
  buf_free(&msg->scratch);
}

size_t message_held(const struct message *msg) {
  size_t n = msg->cap * sizeof *msg->blocks + msg->id.cap + msg->reported_model.cap + msg->raw_stop.cap +
             msg->stop_sequence.cap + msg->container.cap + msg->warnings.cap + msg->scratch.cap;
  for (size_t i = 0; i < msg->n; i++) {
    const struct block *b = &msg->blocks[i];
    n += b->text.cap + b->id.cap + b->name.cap + b->signature.cap + b->raw.cap;
  }
  return n;
}

/* {{{ blocks */

/* A new block at the end, or NULL: over the limits or out of memory. */
static struct block *block_new(struct message *msg, enum block_type type, int32_t key, struct err *e) {
  struct block *b;
  if (msg->n >= (size_t)msg->limits->blocks) {
    err_set(e, KIND_LIMIT, "the answer has more than %d blocks (limits.blocks)", msg->limits->blocks);
    return NULL;
  }
  if (type == BLOCK_TOOL && msg->tools++ >= msg->limits->tool_calls) {
    err_set(e, KIND_LIMIT, "the answer has more than %d tool calls (limits.tool_calls)", msg->limits->tool_calls);
    return NULL;
  }
  if (msg->n == msg->cap) {
    size_t cap = msg->cap ? msg->cap * 2 : 4;
    struct block *v = mem_realloc(msg->m, msg->blocks, msg->cap * sizeof *v, cap * sizeof *v);
    if (v == NULL) { err_memory(e); return NULL; }
    msg->blocks = v;
    msg->cap = cap;
  }
  b = &msg->blocks[msg->n++];
  memset(b, 0, sizeof *b);
  b->type = type;
  b->key = key;
  buf_init(&b->text, msg->m);
  buf_init(&b->id, msg->m);
  buf_init(&b->name, msg->m);
  buf_init(&b->signature, msg->m);
  buf_init(&b->raw, msg->m);
  msg->last = (int)msg->n - 1;
  return b;
}

/* The newest block with that key, or NULL. Most parts go where the last one went. */
static struct block *block_find(struct message *msg, int32_t key) {
  if (msg->last >= 0 && msg->blocks[msg->last].key == key) return &msg->blocks[msg->last];
  for (size_t i = msg->n; i-- > 0;)
    if (msg->blocks[i].key == key) { msg->last = (int)i; return &msg->blocks[i]; }
  return NULL;
}

static int keep(struct buf *b, struct str s, struct err *e) {
  return buf_addstr(b, s) == 0 ? 0 : err_memory(e);
}

/* Replaces what b holds. */
static int replace(struct buf *b, struct str s, struct err *e) {
  b->n = 0;
  return keep(b, s, e);
}

static int push(struct events *deltas, enum event_type type, struct str id, struct str name, struct str text,
                struct err *e) {
  struct event *d = events_push(deltas, type, 0);
  if (d == NULL) return err_memory(e);
  d->id = id;
  d->name = name;
  d->text = text;
  return 0;
}

/* }}} */

/* {{{ text, thinking, refusal: one open at a time. While a tool call is open their deltas are held back, as nothing may stand
** between its start and its end; they follow it. */

static const struct { enum event_type start, delta, end; } RUN[] = {
  [BLOCK_TEXT] = { EV_TEXT_START, EV_TEXT_DELTA, EV_TEXT_END },
  [BLOCK_THINKING] = { EV_THINKING_START, EV_THINKING_DELTA, EV_THINKING_END },
  [BLOCK_REFUSAL] = { EV_NONE, EV_NONE, EV_NONE } /* refusals emit nothing */
};

static int is_run(const struct block *b) {
  return b->type == BLOCK_TEXT || b->type == BLOCK_THINKING || b->type == BLOCK_REFUSAL;
}

static const struct str REPLACEMENT = { "\xEF\xBF\xBD", 3 };

static int run_append(struct block *b, struct str s, struct events *deltas, struct err *e) {
  if (s.n == 0) return 0;
  if (keep(&b->text, s, e) != 0) return -1;
  if (RUN[b->type].delta == EV_NONE || !b->started) return 0;
  return push(deltas, RUN[b->type].delta, STR_NONE, STR_NONE, s, e);
}

static int run_start(struct block *b, struct events *deltas, struct err *e) {
  b->started = 1;
  if (RUN[b->type].start == EV_NONE) return 0;
  return push(deltas, RUN[b->type].start, STR_NONE, STR_NONE, STR_NONE, e);
}

/* Ends the open text, thinking or refusal block, if there is one. */
static int run_close(struct message *msg, struct events *deltas, struct err *e) {
  struct block *b;
  if (msg->open < 0) return 0;
  b = &msg->blocks[msg->open];
  if (b->has_high) {
    b->has_high = 0;
    if (run_append(b, REPLACEMENT, deltas, e) != 0) return -1;
  }
  msg->open = -1;
  b->ended = 1;
  if (RUN[b->type].end == EV_NONE || !b->started) return 0;
  return push(deltas, RUN[b->type].end, STR_NONE, STR_NONE, STR_NONE, e);
}

/* The block that a part of this kind and key goes to, opened if need be; others of the three kinds are ended first. */
static struct block *run_open(struct message *msg, enum block_type type, int32_t key, struct events *deltas,
                              struct err *e) {
  struct block *b = block_find(msg, key);
  if (b != NULL && b->type == type && !b->ended) return b;
  if (run_close(msg, deltas, e) != 0 || (b = block_new(msg, type, key, e)) == NULL) return NULL;
  msg->open = (int)msg->n - 1;
  if (msg->tools_open == 0 && run_start(b, deltas, e) != 0) return NULL;
  return b;
}

/* The last open tool call has ended: what was held back comes out. */
static int run_release(struct message *msg, struct events *deltas, struct err *e) {
  for (size_t i = 0; i < msg->n; i++) {
    struct block *b = &msg->blocks[i];
    if (!is_run(b) || b->started) continue;
    if (run_start(b, deltas, e) != 0) return -1;
    if (RUN[b->type].delta == EV_NONE) continue;
    if (b->text.n > 0 && push(deltas, RUN[b->type].delta, STR_NONE, STR_NONE, buf_str(&b->text), e) != 0) return -1;
    if (b->ended && push(deltas, RUN[b->type].end, STR_NONE, STR_NONE, STR_NONE, e) != 0) return -1;
  }
  return 0;
}

static int ends_high(const struct buf *b) {
  return b->n >= 3 && (unsigned char)b->p[b->n - 3] == 0xED && ((unsigned char)b->p[b->n - 2] & 0xF0) == 0xA0;
}

/* Rewrites s (WTF-8) into msg->scratch as UTF-8, behind the half that was held from the last part; a high surrogate at the
** very end is held for the next one. */
static int join_surrogates(struct message *msg, struct block *b, struct str *s, struct err *e) {
  struct buf *out = &msg->scratch;
  out->n = 0;
  if ((b->has_high && buf_add(out, b->high, 3) != 0) || buf_addstr(out, *s) != 0) return err_memory(e);
  b->has_high = 0;
  if (ends_high(out)) {
    out->n -= 3;
    memcpy(b->high, out->p + out->n, 3);
    b->has_high = 1;
  }
  out->n = json_join_surrogates(out->p, out->n);
  *s = buf_str(out);
  return 0;
}

/* The block whose text the part replaces, or NULL: it appends. */
static struct block *corrected(struct message *msg, const struct event *part, enum block_type type) {
  struct block *b = part->flags & EVENT_REPLACE ? block_find(msg, part->key) : NULL;
  return b != NULL && b->type == type ? b : NULL;
}

static int add_run(struct message *msg, const struct event *part, enum block_type type, struct events *deltas,
                   struct err *e) {
  struct str s = part->text;
  struct block *b = corrected(msg, part, type);
  if (b != NULL) {
    b->has_high = 0;
    return replace(&b->text, s, e);
  }
  if (s.n == 0) return 0;
  b = run_open(msg, type, part->key, deltas, e);
  if (b == NULL) return -1;
  if (((part->flags & EVENT_SURROGATE) || b->has_high) && join_surrogates(msg, b, &s, e) != 0) return -1;
  return run_append(b, s, deltas, e);
}

/* }}} */

/* {{{ tool calls */

static int blank(struct str s) {
  for (size_t i = 0; i < s.n; i++)
    if (strchr(" \t\r\n", s.p[i]) == NULL || s.p[i] == '\0') return 0;
  return 1;
}

/* 64-bit FNV-1a from a seed: ids only need to differ, not to be secret. */
static uint64_t hash(uint64_t h, const void *p, size_t n) {
  const unsigned char *s = p;
  /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): clang 14 loses the bytes of integers */
  for (size_t i = 0; i < n; i++) h = (h ^ s[i]) * 0x100000001B3u;
  return h ^ (h >> 29);
}

/* An id for a call that came without one: call_ and 24 hex digits over response id, length of the request, ordinal. */
static int synthesise_id(struct message *msg, struct block *b, struct err *e) {
  uint64_t v[2] = { msg->request_messages, (uint64_t)(b - msg->blocks) };
  uint64_t h1 = hash(hash(0xCBF29CE484222325u, msg->id.p, msg->id.n), v, sizeof v);
  uint64_t h2 = hash(hash(0x9E3779B97F4A7C15u, msg->id.p, msg->id.n), v, sizeof v);
  char id[32];
  int n = snprintf(id, sizeof id, "call_%016llx%08llx", (unsigned long long)h1, (unsigned long long)(h2 & 0xFFFFFFFFu));
  return replace(&b->id, (struct str){ id, (size_t)n }, e);
}

static uint64_t id_hash(const struct buf *id) { return hash(0xCBF29CE484222325u, id->p, id->n); }

/* True when a call that has started has b's id. */
static int id_taken(const struct message *msg, const struct block *b) {
  for (size_t i = 0; i < msg->n; i++) {
    const struct block *c = &msg->blocks[i];
    if (c != b && c->type == BLOCK_TOOL && c->started && c->hash == b->hash &&
        str_same(buf_str(&c->id), buf_str(&b->id))) return 1;
  }
  return 0;
}

/* Two calls of one message may not share an id: the later one gets _2, _3, … Hashes are compared first, so that equal ids,
** however long, cost little more than others. */
static int unique_id(struct message *msg, struct block *b, struct err *e) {
  size_t n = b->id.n;
  b->hash = id_hash(&b->id);
  for (int k = 2; id_taken(msg, b); k++) {
    char suffix[16];
    int len = snprintf(suffix, sizeof suffix, "_%d", k);
    b->id.n = n;
    if (buf_add(&b->id, suffix, (size_t)len) != 0) return err_memory(e);
    b->hash = id_hash(&b->id);
  }
  return 0;
}

/* Pushes TOOL_START once the name and (an id or the first argument byte, or `now`) are there. */
static int tool_start(struct message *msg, struct block *b, int now, struct events *deltas, struct err *e) {
  if (b->started || b->name.n == 0 || (b->id.n == 0 && b->text.n == 0 && !now)) return 0;
  if (run_close(msg, deltas, e) != 0) return -1;
  if (b->id.n == 0 && synthesise_id(msg, b, e) != 0) return -1;
  if (unique_id(msg, b, e) != 0) return -1;
  b->started = 1;
  msg->tools_open++;
  if (push(deltas, EV_TOOL_START, buf_str(&b->id), buf_str(&b->name), STR_NONE, e) != 0) return -1;
  if (b->text.n == 0) return 0;
  return push(deltas, EV_TOOL_DELTA, buf_str(&b->id), STR_NONE, buf_str(&b->text), e);
}

/* Appends argument bytes; they are handed on once the call has started. */
static int tool_append(struct message *msg, struct block *b, struct str s, struct events *deltas, struct err *e) {
  if (s.n == 0) return 0;
  if (limits_check_arguments(msg->limits, b->text.n + s.n, e) != 0) return -1;
  if (keep(&b->text, s, e) != 0) return -1;
  if (!b->started) return tool_start(msg, b, 0, deltas, e);
  return push(deltas, EV_TOOL_DELTA, buf_str(&b->id), STR_NONE, s, e);
}

static int tool_end(struct message *msg, struct block *b, struct events *deltas, struct err *e) {
  if (b->ended) return 0;
  if (b->has_high) {
    b->has_high = 0;
    if (tool_append(msg, b, REPLACEMENT, deltas, e) != 0) return -1;
  }
  if (b->name.n == 0) {
    return err_set(e, KIND_PROTOCOL, "the provider sent a tool call without a name");
  }
  if (tool_start(msg, b, 1, deltas, e) != 0) return -1;
  b->ended = 1;
  if (push(deltas, EV_TOOL_END, buf_str(&b->id), STR_NONE, STR_NONE, e) != 0) return -1;
  return --msg->tools_open == 0 ? run_release(msg, deltas, e) : 0;
}

static struct block *tool_open(struct message *msg, int32_t key, struct events *deltas, struct err *e) {
  struct block *b = block_find(msg, key);
  if (b != NULL && b->type == BLOCK_TOOL && !b->ended) return b;
  if (run_close(msg, deltas, e) != 0) return NULL;
  return block_new(msg, BLOCK_TOOL, key, e);
}

/* Keeps what a call goes by, of `max` bytes at most. */
static int keep_label(struct buf *b, struct str s, const char *what, int max, struct err *e) {
  if (s.n > (size_t)max) return err_set(e, KIND_LIMIT, "a tool call's %s exceeds %d bytes", what, max);
  return keep(b, s, e);
}

static int add_tool(struct message *msg, const struct event *part, struct events *deltas, struct err *e) {
  struct block *b = tool_open(msg, part->key, deltas, e);
  if (b == NULL) return -1;
  if (b->id.n == 0 && !blank(part->id) && keep_label(&b->id, part->id, "id", TOOL_CALL_ID_MAX, e) != 0) return -1;
  if (b->name.n == 0 && keep_label(&b->name, part->name, "name", TOOL_CALL_NAME_MAX, e) != 0) return -1;
  return tool_start(msg, b, 0, deltas, e);
}

static int add_args(struct message *msg, const struct event *part, struct events *deltas, struct err *e) {
  struct str s = part->text;
  struct block *b = corrected(msg, part, BLOCK_TOOL);
  if (b != NULL) {
    b->has_high = 0;
    return limits_check_arguments(msg->limits, s.n, e) == 0 ? replace(&b->text, s, e) : -1;
  }
  if (s.n == 0) return 0;
  b = tool_open(msg, part->key, deltas, e);
  if (b == NULL) return -1;
  if (((part->flags & EVENT_SURROGATE) || b->has_high) && join_surrogates(msg, b, &s, e) != 0) return -1;
  return tool_append(msg, b, s, deltas, e);
}

/* }}} */

/* {{{ everything else */

static int add_whole(struct message *msg, const struct event *part, enum block_type type, struct events *deltas,
                     struct err *e) {
  struct block *b;
  if (run_close(msg, deltas, e) != 0 || (b = block_new(msg, type, part->key, e)) == NULL) return -1;
  b->started = b->ended = 1;
  if (keep(&b->name, part->name, e) != 0) return -1;
  return keep(&b->text, part->text, e);
}

static int add_signature(struct message *msg, const struct event *part, struct events *deltas, struct err *e) {
  struct block *b = block_find(msg, part->key);
  if (part->text.n == 0) return 0;
  if (b == NULL || b->type != BLOCK_THINKING) b = run_open(msg, BLOCK_THINKING, part->key, deltas, e);
  return b == NULL ? -1 : replace(&b->signature, part->text, e);
}

/* Fields without a canonical name; those of reasoning that shows no text open its block. */
static int add_raw(struct message *msg, const struct event *part, struct events *deltas, struct err *e) {
  struct block *b = block_find(msg, part->key);
  if (b == NULL && !str_eq(part->name, "thinking")) return 0;
  if (b == NULL && (b = run_open(msg, BLOCK_THINKING, part->key, deltas, e)) == NULL) return -1;
  return replace(&b->raw, part->text, e);
}

static int add_container(struct message *msg, const struct event *part, struct err *e) {
  if (part->text.n > CONTAINER_MAX) return err_set(e, KIND_LIMIT, "the container exceeds %d bytes", CONTAINER_MAX);
  return replace(&msg->container, part->text, e);
}

static int add_meta(struct message *msg, const struct event *part, struct err *e) {
  if (msg->id.n == 0 && keep(&msg->id, part->id, e) != 0) return -1;
  if (msg->reported_model.n == 0 && keep(&msg->reported_model, part->name, e) != 0) return -1;
  return 0;
}

static int add_end(struct message *msg, const struct event *part, struct events *deltas, struct err *e) {
  struct block *b = block_find(msg, part->key);
  if (b == NULL) return 0;
  if (b->type == BLOCK_TOOL) return tool_end(msg, b, deltas, e);
  return msg->open == msg->last ? run_close(msg, deltas, e) : 0;
}

static void add_usage(struct usage *to, const struct usage *from) {
  if (from->input >= 0) to->input = from->input;
  if (from->output >= 0) to->output = from->output;
  if (from->cache_read >= 0) to->cache_read = from->cache_read;
  if (from->cache_creation >= 0) to->cache_creation = from->cache_creation;
  if (from->reasoning >= 0) to->reasoning = from->reasoning;
  if (from->cache_hour >= 0) to->cache_hour = from->cache_hour;
  if (from->cost >= 0) to->cost = from->cost;
  if (from->unpriced != NULL) to->unpriced = from->unpriced;
}

static int add_stop(struct message *msg, const struct event *part, struct err *e) {
  if (part->stop != STOP_NONE) msg->stop = part->stop;
  if (part->text.n > 0 && replace(&msg->raw_stop, part->text, e) != 0) return -1;
  if (part->name.n > 0 && replace(&msg->stop_sequence, part->name, e) != 0) return -1;
  return 0;
}

static int warn(struct message *msg, struct str code, struct str field, struct str text) {
  struct buf *w = &msg->warnings;
  struct str v[3] = { code, field, text };
  size_t n = w->n;
  for (int i = 0; i < 3; i++) {
    if (buf_add(w, v[i].p, v[i].n == 0 ? 0 : strnlen(v[i].p, v[i].n)) == 0 && buf_addc(w, '\0') == 0) continue;
    w->n = n;
    return -1;
  }
  msg->warning_count++;
  return 0;
}

int message_warn(struct message *msg, const char *code, const char *field, const char *text) {
  return warn(msg, (struct str){ code, strlen(code) }, (struct str){ field, strlen(field) },
              (struct str){ text, strlen(text) });
}

/* }}} */

int message_add(struct message *msg, const struct event *part, struct events *deltas, struct err *e) {
  switch (part->type) {
    case PART_TEXT: return add_run(msg, part, BLOCK_TEXT, deltas, e);
    case PART_THINKING: return add_run(msg, part, BLOCK_THINKING, deltas, e);
    case PART_REFUSAL: return add_run(msg, part, BLOCK_REFUSAL, deltas, e);
    case PART_TOOL: return add_tool(msg, part, deltas, e);
    case PART_ARGS: return add_args(msg, part, deltas, e);
    case PART_SIGNATURE: return add_signature(msg, part, deltas, e);
    case PART_REDACTED: return add_whole(msg, part, BLOCK_REDACTED, deltas, e);
    case PART_OPAQUE: return add_whole(msg, part, BLOCK_OPAQUE, deltas, e);
    case PART_META: return add_meta(msg, part, e);
    case PART_END: return add_end(msg, part, deltas, e);
    case PART_STOP: return add_stop(msg, part, e);
    case PART_USAGE: add_usage(&msg->usage, &part->usage); return 0;
    case PART_CONTAINER: return add_container(msg, part, e);
    case PART_RAW: return add_raw(msg, part, deltas, e);
    case PART_WARNING: return warn(msg, part->id, part->name, part->text) == 0 ? 0 : err_memory(e);
    default: return 0; /* PART_DONE is the exchange's */
  }
}

/* Fails when the arguments of all calls hold too many values. No value is shorter than a byte, so few are looked at. */
static int check_values(const struct message *msg, struct err *e) {
  struct arena a;
  size_t bytes = 0, values = 0;
  int r = 0;
  for (size_t i = 0; i < msg->n; i++)
    if (msg->blocks[i].type == BLOCK_TOOL) bytes += msg->blocks[i].text.n;
  if (bytes <= JSON_VALUES_MAX) return 0;
  arena_init(&a, msg->m);
  for (size_t i = 0; i < msg->n && r == 0; i++) {
    struct node *arguments;
    struct str json;
    const char *problem;
    if (msg->blocks[i].type != BLOCK_TOOL) continue;
    arena_reset(&a);
    if (normalise_read_arguments_within(&a, buf_str(&msg->blocks[i].text), msg->limits->depth, &values, &arguments, &json,
                                        &problem) != 0) r = err_memory(e);
    else if (values > JSON_VALUES_MAX)
      r = err_set(e, KIND_LIMIT, "the arguments of the answer's tool calls hold more than %d values", JSON_VALUES_MAX);
  }
  arena_free(&a);
  return r;
}

int message_end(struct message *msg, struct events *deltas, struct err *e) {
  if (run_close(msg, deltas, e) != 0) return -1;
  for (size_t i = 0; i < msg->n; i++)
    if (msg->blocks[i].type == BLOCK_TOOL && tool_end(msg, &msg->blocks[i], deltas, e) != 0) return -1;
  if (msg->stop == STOP_NONE || msg->stop == STOP_END_TURN || msg->stop == STOP_TOOL_USE)
    msg->stop = msg->tools > 0 ? STOP_TOOL_USE : STOP_END_TURN;
  return check_values(msg, e);
}
