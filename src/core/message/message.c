/*
** message.c: parts in, deltas out. Owns copies of all it keeps.
** Fails with -1 and an err; a failed message only frees.
*/
#include "block.h"

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
  buf_init(&msg->logprobs, m);
  buf_init(&msg->warnings, m);
  buf_init(&msg->scratch, m);
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
  buf_free(&msg->logprobs);
  buf_free(&msg->warnings);
  buf_free(&msg->scratch);
}

size_t message_held(const struct message *msg) {
  size_t n = msg->cap * sizeof *msg->blocks + msg->id.cap + msg->reported_model.cap + msg->raw_stop.cap +
             msg->stop_sequence.cap + msg->container.cap + msg->logprobs.cap + msg->warnings.cap + msg->scratch.cap;
  for (size_t i = 0; i < msg->n; i++) {
    const struct block *b = &msg->blocks[i];
    n += b->text.cap + b->id.cap + b->name.cap + b->signature.cap + b->raw.cap;
  }
  return n;
}

static int add_whole(struct message *msg, const struct event *part, enum block_type type, struct events *deltas,
                     struct err *e) {
  struct block *b;
  if (run_close(msg, deltas, e) != 0 || (b = block_new(msg, type, part->key, e)) == NULL) return -1;
  b->started = b->ended = 1;
  if (block_keep(&b->name, part->name, e) != 0) return -1;
  return block_keep(&b->text, part->text, e);
}

static int add_signature(struct message *msg, const struct event *part, struct events *deltas, struct err *e) {
  struct block *b = block_find(msg, part->key);
  if (part->text.n == 0) return 0;
  if (b == NULL || b->type != BLOCK_THINKING) b = run_open(msg, BLOCK_THINKING, part->key, deltas, e);
  return b == NULL ? -1 : block_replace(&b->signature, part->text, e);
}

/* A block that holds nothing but fields without a canonical name. */
static int add_silent(struct message *msg, const struct event *part, struct events *deltas, struct err *e) {
  enum block_type type = str_eq(part->name, "thinking") ? BLOCK_THINKING : BLOCK_TEXT;
  struct block *b;
  if (run_close(msg, deltas, e) != 0 || (b = block_new(msg, type, part->key, e)) == NULL) return -1;
  b->started = b->ended = 1;
  return block_keep(&b->raw, part->text, e);
}

/* Fields without a canonical name; those of reasoning that shows no text open its block. */
static int add_raw(struct message *msg, const struct event *part, struct events *deltas, struct err *e) {
  struct block *b = part->flags & EVENT_SILENT ? NULL : block_find(msg, part->key);
  if (part->flags & EVENT_SILENT) return add_silent(msg, part, deltas, e);
  if (b == NULL && !str_eq(part->name, "thinking")) return 0;
  if (b == NULL && (b = run_open(msg, BLOCK_THINKING, part->key, deltas, e)) == NULL) return -1;
  return block_replace(&b->raw, part->text, e);
}

static int add_container(struct message *msg, const struct event *part, struct err *e) {
  if (part->text.n > CONTAINER_MAX) return err_set(e, KIND_LIMIT, "the container exceeds %d bytes", CONTAINER_MAX);
  return block_replace(&msg->container, part->text, e);
}

static int add_logprobs(struct message *msg, const struct event *part, struct err *e) {
  if (part->text.n > LOGPROBS_MAX - msg->logprobs.n)
    return err_set(e, KIND_LIMIT, "the answer's logprobs exceed %d bytes", LOGPROBS_MAX);
  return block_keep(&msg->logprobs, part->text, e);
}

static int add_meta(struct message *msg, const struct event *part, struct err *e) {
  if (msg->id.n == 0 && block_keep(&msg->id, part->id, e) != 0) return -1;
  if (msg->reported_model.n == 0 && block_keep(&msg->reported_model, part->name, e) != 0) return -1;
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
  if (part->text.n > 0 && block_replace(&msg->raw_stop, part->text, e) != 0) return -1;
  if (part->name.n > 0 && block_replace(&msg->stop_sequence, part->name, e) != 0) return -1;
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

int message_add(struct message *msg, const struct event *part, struct events *deltas, struct err *e) {
  switch (part->type) {
    case PART_TEXT: return run_add(msg, part, BLOCK_TEXT, deltas, e);
    case PART_THINKING: return run_add(msg, part, BLOCK_THINKING, deltas, e);
    case PART_REFUSAL: return run_add(msg, part, BLOCK_REFUSAL, deltas, e);
    case PART_TOOL: return tool_add(msg, part, deltas, e);
    case PART_ARGS: return tool_add_arguments(msg, part, deltas, e);
    case PART_SIGNATURE: return add_signature(msg, part, deltas, e);
    case PART_REDACTED: return add_whole(msg, part, BLOCK_REDACTED, deltas, e);
    case PART_OPAQUE: return add_whole(msg, part, BLOCK_OPAQUE, deltas, e);
    case PART_META: return add_meta(msg, part, e);
    case PART_END: return add_end(msg, part, deltas, e);
    case PART_STOP: return add_stop(msg, part, e);
    case PART_USAGE: add_usage(&msg->usage, &part->usage); return 0;
    case PART_CONTAINER: return add_container(msg, part, e);
    case PART_LOGPROBS: return add_logprobs(msg, part, e);
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
  int output = 0;
  if (run_close(msg, deltas, e) != 0) return -1;
  for (size_t i = 0; i < msg->n; i++) {
    if (msg->blocks[i].type == BLOCK_TOOL && tool_end(msg, &msg->blocks[i], deltas, e) != 0) return -1;
    output |= is_output(msg, &msg->blocks[i]);
  }
  if (msg->stop == STOP_NONE || msg->stop == STOP_END_TURN || msg->stop == STOP_TOOL_USE)
    msg->stop = msg->tools > 0 && !output ? STOP_TOOL_USE : STOP_END_TURN;
  return check_values(msg, e);
}
