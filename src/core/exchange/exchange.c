/*
** exchange.c: one request and its answer as a state machine over bytes: what goes in, what comes out, how it fails. See
** exchange.h. Owns everything; trees it hands out live in its arena.
*/
#include "private.h"
#include "core/base/clock.h"

/* {{{ birth and death */

/* Copies what the spec lends and is needed until the end: 0, or -1 (memory). */
static int own_strings(struct exchange *x, const struct exchange_spec *spec) {
  struct arena *a = &x->arena;
  struct secrets *k = arena_alloc(a, offsetof(struct secrets, v) + spec->secrets.n * sizeof *k->v);
  if (k == NULL) return -1;
  x->secrets = k;
  for (k->n = 0; k->n < spec->secrets.n; k->n++)
    if ((k->v[k->n] = arena_dup(a, spec->secrets.v[k->n])).p == NULL) return -1;
  x->id_header = arena_dup(a, spec->id_header);
  x->message.origin.provider = arena_dup(a, spec->provider);
  x->message.origin.model = arena_dup(a, spec->model);
  x->message.output_tool = arena_dup(a, spec->output_tool);
  return x->id_header.p == NULL || x->message.origin.provider.p == NULL || x->message.origin.model.p == NULL ||
         x->message.output_tool.p == NULL ? -1 : 0;
}

/* Copies the names of the tools to where the codec looks for them. */
static int own_tool_names(struct exchange *x, const struct node *names) {
  void *block;
  if (names == NULL) return 0;
  block = arena_alloc(&x->arena, node_size(names));
  if (block == NULL) return -1;
  x->parse.tool_names = node_pack(block, names);
  return 0;
}

/* Takes the render's warnings into the message. */
static int adopt_warnings(struct exchange *x, const struct node *list) {
  for (const struct node *w = list ? list->child : NULL; w != NULL; w = w->next) {
    struct event part = { .type = PART_WARNING };
    part.id = node_str(node_get(w, "code"));
    part.name = node_str(node_get(w, "field"));
    part.text = node_str(node_get(w, "message"));
    if (message_add(&x->message, &part, &x->deltas, x->err) != 0) return -1;
  }
  return 0;
}

struct exchange *exchange_new(const struct mem *m, const struct exchange_spec *spec, struct err *e) {
  struct origin from = { spec->provider, spec->model, { spec->codec->name, strlen(spec->codec->name) } };
  struct exchange *x = mem_alloc(m, sizeof *x);
  err_clear(e);
  if (x == NULL) { err_memory(e); return NULL; }
  memset(x, 0, sizeof *x);
  x->m = m;
  x->codec = spec->codec;
  x->framing = spec->framing != NULL ? spec->framing : spec->codec->framing;
  x->quirks = spec->quirks;
  x->limits = spec->limits;
  x->asked_stream = spec->stream;
  x->keep_raw = spec->keep_raw;
  x->err = e;
  buf_init(&x->body, m);
  arena_init(&x->scratch, m);
  arena_init(&x->arena, m);
  events_init(&x->parts, m);
  events_init(&x->deltas, m);
  shape_init(&x->shape, m);
  x->parse = (struct parse){ .m = m, .a = &x->scratch, .quirks = x->quirks, .limits = &x->limits,
                             .max_tokens = spec->max_tokens, .events = &x->count, .request = spec->request };
  x->head.retry_after = -1;
  x->head.should_retry = -1;
  message_init(&x->message, m, &x->limits, &from, spec->request_messages);
  x->state = own_tool_names(x, spec->tool_names) == 0 ? mem_alloc(m, x->codec->state_size) : NULL;
  if (x->state != NULL) {
    memset(x->state, 0, x->codec->state_size);
    x->codec->init(x->state, &x->parse);
    x->parse.request = STR_NONE;
  }
  if (x->state == NULL || own_strings(x, spec) != 0 || adopt_warnings(x, spec->warnings) != 0) {
    err_memory(e);
    exchange_free(x);
    return NULL;
  }
  x->err = NULL;
  return x;
}

void exchange_free(struct exchange *x) {
  if (x == NULL) return;
  if (x->state != NULL) {
    x->codec->free(x->state);
    mem_free(x->m, x->state, x->codec->state_size);
  }
  if (x->records != NULL) {
    x->framing->free(x->records);
    mem_free(x->m, x->records, x->framing->state_size);
  }
  message_free(&x->message);
  events_free(&x->parts);
  events_free(&x->deltas);
  shape_free(&x->shape);
  arena_free(&x->scratch);
  arena_free(&x->arena);
  buf_free(&x->body);
  mem_free(x->m, x, sizeof *x);
}

/* }}} */

/* {{{ the err of a call from outside */

static const struct err NO_MEMORY = { .kind = KIND_MEMORY, .retryable = -1, .retry_after = -1 };

/* Where what such a call finds wrong is written: *e, unless something was found wrong before. */
static void enter(struct exchange *x, struct err *e) {
  if (x->failure != NULL) return;
  err_clear(e);
  x->err = e;
}

/* Keeps what was found wrong: an open stream mostly has nothing to keep. */
static void leave(struct exchange *x) {
  const struct err *found = x->err;
  if (x->failure != NULL) return;
  x->err = NULL;
  if (found->kind == KIND_NONE) return;
  x->failure = arena_alloc(&x->arena, sizeof *x->failure);
  if (x->failure != NULL) {
    *x->failure = *found;
    x->err = x->failure;
    return;
  }
  x->stage = FAILED;
  events_clear(&x->parts);
  events_clear(&x->deltas);
}

/* }}} */

/* {{{ in */

static int take_head(struct exchange *x, int status, const struct header *h, size_t n) {
  struct head head;
  x->status = status;
  x->mode = status >= 200 && status < 300 ? SNIFF : REFUSED;
  if (head_check(n, x->err) != 0) return exchange_fail(x);
  head_read(&head, status, h, n, x->id_header, clock_wall());
  x->typed = head_is_type(h, n, x->framing->media_type);
  head.request_id = arena_dup(&x->arena, head.request_id);
  x->error_type = arena_dup(&x->arena, head_find(h, n, codec_of_refusals(x->codec, x->quirks)->error_header));
  x->head = head;
  x->headers = head_text(&x->arena, h, n);
  if (x->headers.p != NULL && head.request_id.p != NULL && x->error_type.p != NULL) return 0;
  x->head.request_id = STR_NONE;
  err_memory(x->err);
  return exchange_fail(x);
}

int exchange_head(struct exchange *x, int status, const struct header *h, size_t n) {
  struct err e;
  int r;
  if (x->mode != WAITING || x->stage != READING) return 0;
  enter(x, &e);
  r = take_head(x, status, h, n);
  leave(x);
  return r;
}

/* Adds to the raw copy of a stream's body, where there is one: 0 or -1. */
static int keep_raw(struct exchange *x, const char *p, size_t n) {
  if (!x->keep_raw || x->body.n >= RAW_MAX) return 0;
  return buf_add(&x->body, p, n < RAW_MAX - x->body.n ? n : RAW_MAX - x->body.n);
}

static int take_copy(struct exchange *x, const char *p, size_t n) {
  if (x->mode == STREAM ? keep_raw(x, p, n) != 0 : buf_add(&x->body, p, n) != 0) {
    err_memory(x->err);
    return exchange_fail(x);
  }
  return x->mode != STREAM || x->framing->feed_copy(x->records, p, n, x->err) == 0 ? 0 : exchange_fail(x);
}

static int take_bytes(struct exchange *x, struct buf *b) {
  if (x->mode == STREAM && !x->keep_raw)
    return x->framing->feed(x->records, b, x->err) == 0 ? 0 : exchange_fail(x);
  if (x->mode == STREAM || x->body.n > 0) return take_copy(x, b->p, b->n);
  buf_swap(&x->body, b);
  return 0;
}

int exchange_feed_copy(struct exchange *x, const char *p, size_t n) {
  struct err e;
  int r;
  if (x->stage != READING || x->stop_reading) return 0;
  enter(x, &e);
  r = take_copy(x, p, n);
  leave(x);
  return r;
}

int exchange_feed(struct exchange *x, struct buf *b) {
  struct err e;
  int r = 0;
  if (x->stage == READING && !x->stop_reading) {
    enter(x, &e);
    r = take_bytes(x, b);
    leave(x);
  }
  b->n = 0;
  return r;
}

void exchange_eof(struct exchange *x, const struct err *transport) {
  if (x->eof) return;
  x->eof = 1;
  if (transport == NULL) return;
  x->transport = arena_alloc(&x->arena, sizeof *x->transport);
  if (x->transport != NULL) {
    *x->transport = *transport;
  } else if (x->stage == READING) {
    struct err e;
    enter(x, &e);
    err_memory(x->err);
    exchange_fail(x);
    leave(x);
  }
}

/* }}} */

/* {{{ out */

/* The stage's next step: 1 progress, 0 more bytes needed, -1 failed. */
static int advance(struct exchange *x) {
  switch (x->stage) {
    case READING:
      switch (x->mode) {
        case WAITING:
          if (!x->eof) return 0;
          if (x->transport != NULL) *x->err = *x->transport;
          else err_set(x->err, KIND_CONNECT, "the connection closed before an answer came");
          return exchange_fail(x);
        case SNIFF: return body_sniff(x);
        case STREAM: return body_read_stream(x);
        case PLAIN: return body_read_plain(x);
        case REFUSED: return body_read_refusal(x);
      }
      return 0;
    case ENDING:
      if (message_end(&x->message, &x->deltas, x->err) != 0) return exchange_fail(x);
      x->stage = CLOSING;
      return 1;
    case CLOSING:
      x->stage = DONE;
      return 1;
    case FAILING:
      return exchange_fail(x);
    default:
      return 0;
  }
}

/* What exchange_next returns. */
static enum progress next(struct exchange *x, struct event *delta) {
  for (;;) {
    const struct event *ev = events_take(&x->deltas);
    if (ev != NULL) {
      *delta = *ev;
      return EXCHANGE_DELTA;
    }
    if (x->stage == DONE) return EXCHANGE_DONE;
    if (x->stage == FAILED) return EXCHANGE_FAILED;
    ev = events_take(&x->parts);
    if (ev != NULL) {
      if (ev->type == PART_DONE) x->stop_reading = 1;
      else if (message_add(&x->message, ev, &x->deltas, x->err) != 0) return exchange_fail(x), EXCHANGE_FAILED;
      continue;
    }
    if (advance(x) == 0) return EXCHANGE_MORE;
  }
}

enum progress exchange_next(struct exchange *x, struct event *delta) {
  struct err e;
  enum progress r;
  enter(x, &e);
  r = next(x, delta);
  leave(x);
  return r == EXCHANGE_FAILED || x->stage != FAILED ? r : EXCHANGE_FAILED;
}

int exchange_ended(const struct exchange *x) {
  return x->mode == STREAM && x->stage == READING && x->codec->ended(x->state) == ENDED_FOR_GOOD;
}

unsigned long exchange_event_count(const struct exchange *x) { return x->count; }

size_t exchange_retained(const struct exchange *x) {
  const struct framing *framing = x->framing;
  size_t records = x->records != NULL ? framing->state_size + framing->held(x->records) : 0;
  return sizeof *x + x->codec->state_size + records + x->shape.bytes.cap + x->body.cap + x->scratch.total +
         x->arena.total + (x->parts.cap + x->deltas.cap) * sizeof *x->parts.v + message_held(&x->message);
}

static int keep_header(struct exchange *x, struct node *o, struct str name, struct str value) {
  value = arena_dup(&x->arena, value);
  return value.p == NULL ? -1 : node_set(o, name, node_string(&x->arena, value));
}

/* The headers as an object, one member per name; NULL: memory. */
static struct node *header_tree(struct exchange *x) {
  struct node *o = node_new(&x->arena, NODE_OBJECT);
  size_t n = head_count(x->headers);
  struct header *h = arena_alloc(&x->arena, (n + 1) * sizeof *h);
  struct buf joined;
  int bad = o == NULL || h == NULL ? -1 : 0;
  if (bad == 0) head_list(x->headers, h);
  buf_init(&joined, x->m);
  for (size_t i = 0; bad == 0 && i < n; i++) {
    if (node_get_(o, h[i].name.p, h[i].name.n) != NULL) continue;
    bad = head_join(h + i, n - i, &joined);
    if (bad == 0) bad = keep_header(x, o, h[i].name, buf_str(&joined));
  }
  buf_free(&joined);
  return bad == 0 ? o : NULL;
}

/* The headers: those of a failed answer as an object, which the secrets are kept out of. NULL: memory. */
static struct node *headers(struct exchange *x) {
  return x->stage == FAILED ? header_tree(x) : node_string(&x->arena, x->headers);
}

/* Adds what the exchange knows to the message's tree; 0 or -1. */
static int add_fields(struct exchange *x, struct node *o) {
  struct arena *a = &x->arena;
  struct str raw = exchange_raw(x);
  int bad = node_set(o, STR("provider"), node_string(a, x->message.origin.provider));
  if (x->status != 0) bad |= node_set(o, STR("status_code"), node_int(a, x->status));
  if (x->head.request_id.n > 0) bad |= node_set(o, STR("request_id"), node_string(a, x->head.request_id));
  if (x->head.request_id.n > 0 && x->codec->id_in_header && node_get(o, "id") == NULL)
    bad |= node_set(o, STR("id"), node_string(a, x->head.request_id));
  if (x->headers.p != NULL) bad |= node_set(o, STR("headers"), headers(x));
  if (raw.n > 0 && x->stage == DONE) bad |= node_set(o, STR("raw"), node_string(a, raw));
  return bad;
}

/* Keeps the secrets out of the names of a failed answer's headers, which are lower case. 0 or -1. */
static int redact_names(struct exchange *x, const struct node *headers) {
  for (struct node *h = headers != NULL ? headers->child : NULL; h != NULL; h = h->next) {
    h->key = redact_name(x->secrets, &x->arena, h->key);
    if (h->key.p == NULL) return -1;
  }
  return 0;
}

/* Keeps the secrets out of all of a message that failed. Of one that succeeded out of our own warnings, which may quote: what
** the answer says is left as it came. 0 or -1. */
static int keep_secrets(struct exchange *x, struct node *o) {
  if (x->stage != FAILED)
    return x->message.warning_count == 0 ? 0 : redact_node(x->secrets, &x->arena, node_get(o, "warnings"));
  return redact_names(x, node_get(o, "headers")) < 0 ? -1 : redact_node(x->secrets, &x->arena, o);
}

/* True when the answer had begun to say something: a failure then carries it as `partial`. */
static int anything(const struct exchange *x) {
  return x->message.n > 0 || x->message.id.n > 0 || x->message.usage.input >= 0 || x->message.usage.output >= 0;
}

struct node *exchange_message(struct exchange *x) {
  if (x->tree != NULL) return x->tree;
  if (x->stage != DONE && (x->stage != FAILED || !anything(x))) return NULL;
  x->tree = message_node(&x->message, &x->arena, x->stage == FAILED);
  if (x->tree != NULL && (add_fields(x, x->tree) != 0 || keep_secrets(x, x->tree) != 0)) x->tree = NULL;
  return x->tree;
}

const struct err *exchange_error(const struct exchange *x) { return x->failure != NULL ? x->failure : &NO_MEMORY; }

struct str exchange_raw(struct exchange *x) {
  struct str raw = { x->body.p, x->body.n < RAW_MAX ? x->body.n : RAW_MAX };
  if (x->stage != DONE && x->stage != FAILED) return STR_NONE;
  if (x->stage == DONE) return raw;
  if (x->raw.p == NULL && raw.n > 0) x->raw = redact(x->secrets, &x->arena, raw);
  return x->raw;
}

struct str exchange_request_id(const struct exchange *x) { return x->head.request_id; }

/* }}} */
