/*
** exchange.c: one request and its answer as a state machine over bytes. See exchange.h.
** Two axes: what the body is (WAITING for the head, SNIFFing, STREAM, PLAIN, REFUSED) and how far the message is (READING,
** ENDING: the codec has said its last parts, CLOSING: the message is complete, then DONE; FAILING: what came with the
** provider's error is still to be told, then FAILED).
** Owns everything; trees it hands out live in its arena.
*/
#include "exchange.h"
#include "core/base/clock.h"

#include <stdio.h>

#define ERROR_BODY_MAX ((size_t)1 << 20) /* of an error answer, read and kept */
#define RAW_MAX ((size_t)64 << 10)       /* of any other body, kept for response:raw() */
#define BLANK_MAX ((size_t)64 << 10)     /* white space before a body that is kept */

enum mode { WAITING, SNIFF, STREAM, PLAIN, REFUSED };
enum stage { READING, ENDING, CLOSING, DONE, FAILING, FAILED };

struct exchange {
  const struct mem *m;
  struct exchange_spec spec;    /* its strings point into `names` */
  struct buf names;
  struct parse parse;
  void *state;                  /* the codec's */
  void *records;                /* the framing's; NULL until the body is a stream */
  struct arena scratch;         /* one record */
  struct arena arena;           /* the message */
  struct buf body;              /* SNIFF, PLAIN, REFUSED: what came; STREAM: the raw copy, if kept */
  size_t blank;                 /* so many bytes of the body before it says something */
  size_t skipped;               /* white space before those */
  struct message message;
  struct events parts, deltas;
  enum mode mode;
  enum stage stage;
  int status;
  struct head head;             /* its strings lie in the arena */
  int typed;                    /* the content type is the framing's */
  struct node *headers;         /* OBJECT in the arena */
  int eof, stop_reading;
  struct err *transport;        /* in the arena: why the body broke off; NULL for a clean end */
  struct err err;
  unsigned long count;          /* events of the stream parsed */
  struct node *tree;
  struct str raw;               /* what exchange_raw gave; p NULL until it is asked for */
};

/* {{{ birth and death */

/* Copies s into names; the caller reserved the room, so earlier copies stay where they are. */
static struct str own(struct exchange *x, struct str s) {
  struct str copy = { x->names.p + x->names.n, s.n };
  (void)buf_addstr(&x->names, s);
  return copy;
}

static int own_strings(struct exchange *x) {
  struct exchange_spec *s = &x->spec;
  size_t n = s->provider.n + s->model.n + s->id_header.n + 1;
  for (size_t i = 0; i < s->secrets.n; i++) n += s->secrets.v[i].n;
  if (buf_reserve(&x->names, n) != 0) return -1;
  s->provider = own(x, s->provider);
  s->model = own(x, s->model);
  s->id_header = own(x, s->id_header);
  for (size_t i = 0; i < s->secrets.n; i++) s->secrets.v[i] = own(x, s->secrets.v[i]);
  return 0;
}

/* Copies the names of the tools to where the codec looks for them. */
static int own_tool_names(struct exchange *x) {
  const struct node *names = x->spec.tool_names;
  void *block;
  x->spec.tool_names = NULL;
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
    if (message_add(&x->message, &part, &x->deltas, &x->err) != 0) return -1;
  }
  return 0;
}

struct exchange *exchange_new(const struct mem *m, const struct exchange_spec *spec, struct err *e) {
  struct origin from = { spec->provider, spec->model, { spec->codec->name, strlen(spec->codec->name) } };
  struct exchange *x = mem_alloc(m, sizeof *x);
  if (x == NULL) { err_memory(e); return NULL; }
  memset(x, 0, sizeof *x);
  x->m = m;
  x->spec = *spec;
  buf_init(&x->names, m);
  buf_init(&x->body, m);
  arena_init(&x->scratch, m);
  arena_init(&x->arena, m);
  events_init(&x->parts, m);
  events_init(&x->deltas, m);
  x->parse = (struct parse){ m, &x->scratch, &x->spec.quirks, &x->spec.limits, NULL, spec->max_tokens,
                              &x->count };
  err_clear(&x->err);
  x->head.retry_after = -1;
  x->head.should_retry = -1;
  message_init(&x->message, m, &x->spec.limits, &from, spec->request_messages);
  if (x->spec.framing == NULL) x->spec.framing = spec->codec->framing;
  x->state = own_tool_names(x) == 0 ? mem_alloc(m, spec->codec->state_size) : NULL;
  if (x->state != NULL) {
    memset(x->state, 0, spec->codec->state_size);
    spec->codec->init(x->state, &x->parse);
  }
  if (x->state == NULL || own_strings(x) != 0 || adopt_warnings(x, spec->warnings) != 0) {
    err_memory(e);
    exchange_free(x);
    return NULL;
  }
  x->spec.warnings = NULL;
  x->message.origin.provider = x->spec.provider;
  x->message.origin.model = x->spec.model;
  return x;
}

void exchange_free(struct exchange *x) {
  if (x == NULL) return;
  if (x->state != NULL) {
    x->spec.codec->free(x->state);
    mem_free(x->m, x->state, x->spec.codec->state_size);
  }
  if (x->records != NULL) {
    x->spec.framing->free(x->records);
    mem_free(x->m, x->records, x->spec.framing->state_size);
  }
  message_free(&x->message);
  events_free(&x->parts);
  events_free(&x->deltas);
  arena_free(&x->scratch);
  arena_free(&x->arena);
  buf_free(&x->body);
  buf_free(&x->names);
  mem_free(x->m, x, sizeof *x);
}

/* }}} */

/* {{{ failing */

/* True when the answer had begun to say something: a failure then carries it as `partial`. */
static int anything(const struct exchange *x) {
  return x->message.n > 0 || x->message.id.n > 0 || x->message.usage.input >= 0 || x->message.usage.output >= 0;
}

/* The exchange failed with x->err: completes it from the head, keeps the secrets out. Returns -1. */
static int fail(struct exchange *x) {
  struct err *e = &x->err;
  if (e->status == 0 && x->status != 0 && x->mode == REFUSED) e->status = x->status;
  if (e->retry_after < 0) e->retry_after = x->head.retry_after;
  if (x->head.should_retry >= 0 && e->kind != KIND_LIMIT) e->retryable = x->head.should_retry;
  redact_err(&x->spec.secrets, e);
  x->head.request_id = redact(&x->spec.secrets, &x->arena, x->head.request_id);
  if (x->head.request_id.n == 0 && e->request_id[0] != '\0')
    x->head.request_id = (struct str){ e->request_id, strlen(e->request_id) };
  x->stage = FAILED;
  events_clear(&x->parts);
  events_clear(&x->deltas);
  return -1;
}

/* The body ended before the message did. */
static int truncated(struct exchange *x) {
  const struct err *t = x->transport;
  if (t != NULL && t->kind != KIND_CONNECT) x->err = *t;
  else if (t != NULL) err_set(&x->err, KIND_STREAM_TRUNCATED, "the answer broke off: %s", t->message);
  else err_set(&x->err, KIND_STREAM_TRUNCATED, "the answer ended before the message was complete");
  return fail(x);
}

/* }}} */

/* {{{ streams */

/* Keeps the record that the provider reported its error with, for err.raw. */
static void keep_record(struct exchange *x, struct str data) {
  if (x->spec.keep_raw) return;
  x->body.n = 0;
  (void)buf_add(&x->body, data.p, data.n < RAW_MAX ? data.n : RAW_MAX);
}

/* No more records: the message is complete, or it was cut. */
static int finish_stream(struct exchange *x) {
  if (!x->spec.codec->ended(x->state)) return truncated(x);
  arena_reset(&x->scratch);
  if (x->spec.codec->parse_end(x->state, &x->parts, &x->err) != 0) return fail(x);
  if (x->transport != NULL && !x->stop_reading &&
      message_warn(&x->message, "unclean_end", "", "the connection broke after the message was complete") != 0) {
    err_memory(&x->err);
    return fail(x);
  }
  x->stage = ENDING;
  return 1;
}

/* Reads one record: 1 progress, 0 more bytes needed, -1 failed. */
static int read_stream(struct exchange *x) {
  const struct framing *framing = x->spec.framing;
  struct record r;
  int got;
  if (x->stop_reading) return finish_stream(x);
  got = framing->next(x->records, &r, &x->err);
  if (got == 0 && !x->eof) return 0;
  if (got == 0) got = framing->eof(x->records, &r, &x->err);
  if (got < 0) return fail(x);
  if (got == 0) return finish_stream(x);
  arena_reset(&x->scratch); /* the parts of all its events wait in the queue together */
  if (x->spec.codec->parse_record(x->state, &r, &x->parts, &x->err) == 0) return 1;
  keep_record(x, r.data);
  x->stage = FAILING;
  return 1;
}

/* }}} */

/* {{{ plain bodies, errors */

/* The first byte of the body that says something; 0 when there is none. No byte is looked at twice. */
static char first_byte(struct exchange *x) {
  struct str s = buf_str(&x->body);
  size_t i = x->blank;
  if (i == 0 && str_begins(s, "\xEF\xBB\xBF")) i = 3;
  while (i < s.n && (s.p[i] == ' ' || s.p[i] == '\t' || s.p[i] == '\r' || s.p[i] == '\n')) i++;
  x->blank = i;
  return i < s.n ? s.p[i] : '\0';
}

static int read_plain(struct exchange *x) {
  char first;
  if (x->body.n > x->spec.limits.body) {
    err_set(&x->err, KIND_LIMIT, "the answer exceeds %zu bytes (limits.body)", x->spec.limits.body);
    return fail(x);
  }
  if (!x->eof) return 0;
  if (x->transport != NULL) return truncated(x);
  first = first_byte(x);
  if (first == '\0' || first == '<') {
    err_set(&x->err, KIND_PROTOCOL, first == '\0' ? "the provider answered %d with an empty body"
                                                : "the provider answered %d with HTML instead of JSON", x->status);
    return fail(x);
  }
  arena_reset(&x->scratch);
  if (x->spec.codec->parse_body(x->state, buf_str(&x->body), &x->parts, &x->err) != 0)
    return x->err.kind == KIND_PROTOCOL && json_is_cut(buf_str(&x->body)) ? truncated(x) : fail(x);
  if (x->spec.codec->ended(x->state) && x->spec.codec->parse_end(x->state, &x->parts, &x->err) != 0) return fail(x);
  x->stage = ENDING;
  return 1;
}

static int read_refusal(struct exchange *x) {
  struct str body;
  if (!x->eof && x->body.n < ERROR_BODY_MAX) return 0;
  if (x->body.n > ERROR_BODY_MAX) x->body.n = ERROR_BODY_MAX;
  arena_reset(&x->scratch);
  body = redact(&x->spec.secrets, &x->scratch, buf_str(&x->body));
  if (x->transport != NULL && x->transport->kind == KIND_MEMORY) x->err = *x->transport;
  else if (body.p == NULL && x->body.n > 0) err_memory(&x->err);
  else codec_error(&x->scratch, x->status, body, &x->err);
  return fail(x);
}

/* White space before the body says nothing: a proxy sends some to keep the connection alive. It is counted, not kept. */
static int skip_blank(struct exchange *x) {
  x->skipped += x->body.n;
  x->body.n = x->blank = 0;
  if (x->skipped <= x->spec.limits.body) return 0;
  err_set(&x->err, KIND_LIMIT, "the answer exceeds %zu bytes (limits.body), all of them white space",
          x->spec.limits.body);
  return fail(x);
}

/* The body is a stream: its framing takes what has come. 1, or -1. */
static int begin_stream(struct exchange *x) {
  const struct framing *framing = x->spec.framing;
  x->mode = STREAM;
  x->records = mem_alloc(x->m, framing->state_size);
  if (x->records == NULL) {
    err_memory(&x->err);
    return fail(x);
  }
  memset(x->records, 0, framing->state_size);
  framing->init(x->records, x->m, &x->spec.limits);
  return (x->spec.keep_raw ? framing->feed_copy(x->records, x->body.p, x->body.n, &x->err)
                           : framing->feed(x->records, &x->body, &x->err)) == 0 ? 1 : fail(x);
}

/* Decides what a 2xx body is: the framing knows from its first byte and the content type. A body that ends before says
** nothing: it is what was asked for. */
static int sniff(struct exchange *x) {
  char first = first_byte(x);
  int stream = x->spec.framing->begins(first, x->typed);
  if (first == '\0' && x->body.n > BLANK_MAX && skip_blank(x) != 0) return -1;
  if ((stream < 0 || (first == '\xEF' && x->body.n < 3)) && !x->eof) return 0;
  if (stream < 0) stream = x->spec.stream;
  if (stream) return begin_stream(x);
  x->mode = PLAIN;
  return 1;
}

/* }}} */

/* {{{ in */

static int keep_header(struct exchange *x, struct str name, struct str value) {
  name = arena_dup(&x->arena, name);
  value = arena_dup(&x->arena, value);
  return name.p == NULL || value.p == NULL ? -1 : node_set(x->headers, name, node_string(&x->arena, value));
}

/* The headers as an object of the arena, one member per name. */
static int keep_headers(struct exchange *x, const struct header *h, size_t n) {
  struct buf joined;
  int bad = 0;
  x->headers = node_new(&x->arena, NODE_OBJECT);
  if (x->headers == NULL) return -1;
  buf_init(&joined, x->m);
  for (size_t i = 0; i < n && bad == 0; i++) {
    if (node_get_(x->headers, h[i].name.p, h[i].name.n) != NULL) continue;
    bad = head_join(h + i, n - i, &joined);
    if (bad == 0) bad = keep_header(x, h[i].name, buf_str(&joined));
  }
  buf_free(&joined);
  return bad;
}

int exchange_head(struct exchange *x, int status, const struct header *h, size_t n) {
  struct head head;
  if (x->mode != WAITING || x->stage != READING) return 0;
  x->status = status;
  x->mode = status >= 200 && status < 300 ? SNIFF : REFUSED;
  if (head_check(n, &x->err) != 0) return fail(x);
  head_read(&head, h, n, x->spec.id_header, clock_wall());
  x->typed = head_is_type(h, n, x->spec.framing->media_type);
  head.request_id = arena_dup(&x->arena, head.request_id);
  x->head = head;
  if (keep_headers(x, h, n) == 0 && head.request_id.p != NULL) return 0;
  x->head.request_id = STR_NONE;
  err_memory(&x->err);
  return fail(x);
}

/* Adds to the raw copy of a stream's body, where there is one: 0 or -1. */
static int keep_raw(struct exchange *x, const char *p, size_t n) {
  if (!x->spec.keep_raw || x->body.n >= RAW_MAX) return 0;
  return buf_add(&x->body, p, n < RAW_MAX - x->body.n ? n : RAW_MAX - x->body.n);
}

int exchange_feed_copy(struct exchange *x, const char *p, size_t n) {
  if (x->stage != READING || x->stop_reading) return 0;
  if (x->mode == STREAM ? keep_raw(x, p, n) != 0 : buf_add(&x->body, p, n) != 0) {
    err_memory(&x->err);
    return fail(x);
  }
  return x->mode != STREAM || x->spec.framing->feed_copy(x->records, p, n, &x->err) == 0 ? 0 : fail(x);
}

int exchange_feed(struct exchange *x, struct buf *b) {
  int r = 0;
  if (x->stage == READING && !x->stop_reading) {
    if (x->mode == STREAM && !x->spec.keep_raw) {
      r = x->spec.framing->feed(x->records, b, &x->err) == 0 ? 0 : fail(x);
    } else if (x->mode != STREAM && x->body.n == 0) {
      buf_swap(&x->body, b);
    } else {
      r = exchange_feed_copy(x, b->p, b->n);
    }
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
    err_memory(&x->err);
    fail(x);
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
          if (x->transport != NULL) x->err = *x->transport;
          else err_set(&x->err, KIND_CONNECT, "the connection closed before an answer came");
          return fail(x);
        case SNIFF: return sniff(x);
        case STREAM: return read_stream(x);
        case PLAIN: return read_plain(x);
        case REFUSED: return read_refusal(x);
      }
      return 0;
    case ENDING:
      if (message_end(&x->message, &x->deltas, &x->err) != 0) return fail(x);
      x->stage = CLOSING;
      return 1;
    case CLOSING:
      x->stage = DONE;
      return 1;
    case FAILING:
      return fail(x);
    default:
      return 0;
  }
}

enum progress exchange_next(struct exchange *x, struct event *delta) {
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
      else if (message_add(&x->message, ev, &x->deltas, &x->err) != 0) return fail(x), EXCHANGE_FAILED;
      continue;
    }
    if (advance(x) == 0) return EXCHANGE_MORE;
  }
}

int exchange_ended(const struct exchange *x) {
  return x->mode == STREAM && x->stage == READING && x->spec.codec->ended(x->state);
}

unsigned long exchange_event_count(const struct exchange *x) { return x->count; }

size_t exchange_retained(const struct exchange *x) {
  const struct framing *framing = x->spec.framing;
  size_t records = x->records != NULL ? framing->state_size + framing->held(x->records) : 0;
  return sizeof *x + x->spec.codec->state_size + records + x->names.cap + x->body.cap + x->scratch.total +
         x->arena.total + (x->parts.cap + x->deltas.cap) * sizeof *x->parts.v + message_held(&x->message);
}

/* Adds what the exchange knows to the message's tree; 0 or -1. */
static int add_fields(struct exchange *x, struct node *o) {
  struct arena *a = &x->arena;
  struct str raw = exchange_raw(x);
  int bad = node_set(o, STR("provider"), node_string(a, x->spec.provider));
  if (x->status != 0) bad |= node_set(o, STR("status_code"), node_int(a, x->status));
  if (x->head.request_id.n > 0) bad |= node_set(o, STR("request_id"), node_string(a, x->head.request_id));
  if (x->headers != NULL) bad |= node_set(o, STR("headers"), x->headers);
  if (raw.n > 0 && x->stage == DONE) bad |= node_set(o, STR("raw"), node_string(a, raw));
  return bad;
}

/* Keeps the secrets out of the names of a failed answer's headers, which are lower case. 0 or -1. */
static int redact_names(struct exchange *x) {
  struct node *h = x->headers != NULL ? x->headers->child : NULL;
  for (; h != NULL; h = h->next) {
    h->key = redact_name(&x->spec.secrets, &x->arena, h->key);
    if (h->key.p == NULL) return -1;
  }
  return 0;
}

/* Keeps the secrets out of all of a message that failed. Of one that succeeded out of our own warnings, which may quote: what
** the answer says is left as it came. 0 or -1. */
static int keep_secrets(struct exchange *x, struct node *o) {
  if (x->stage != FAILED) return redact_node(&x->spec.secrets, &x->arena, node_get(o, "warnings"));
  return redact_names(x) < 0 ? -1 : redact_node(&x->spec.secrets, &x->arena, o);
}

struct node *exchange_message(struct exchange *x) {
  if (x->tree != NULL) return x->tree;
  if (x->stage != DONE && (x->stage != FAILED || !anything(x))) return NULL;
  x->tree = message_node(&x->message, &x->arena, x->stage == FAILED);
  if (x->tree != NULL && (add_fields(x, x->tree) != 0 || keep_secrets(x, x->tree) != 0)) x->tree = NULL;
  return x->tree;
}

const struct err *exchange_error(const struct exchange *x) { return &x->err; }

struct str exchange_raw(struct exchange *x) {
  struct str raw = { x->body.p, x->body.n < RAW_MAX ? x->body.n : RAW_MAX };
  if (x->stage != DONE && x->stage != FAILED) return STR_NONE;
  if (x->stage == DONE) return raw;
  if (x->raw.p == NULL && raw.n > 0) x->raw = redact(&x->spec.secrets, &x->arena, raw);
  return x->raw;
}

struct str exchange_request_id(const struct exchange *x) { return x->head.request_id; }

/* }}} */
