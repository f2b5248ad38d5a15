/*
** eventstream.c: AWS's binary event stream: messages of a prelude (total length, length of the headers, CRC-32 of both),
** headers, a payload, and the CRC-32 of all before it; numbers are big endian. No message is waited for, and none is
** read, before its checksum holds.
** A record: name is the event's type, data the payload. A message that is an exception gives a fault with the exception's
** type; one that is an error, a fault with the error's code, and its text as data.
** Owns its input buffer; records borrow from that. Failure: -1, an err, and it stays in error: behind a message that is
** damaged nothing can be found.
*/
#include "core/bytes/crc32.h"
#include "framing.h"

#define PRELUDE 12u  /* bytes before the headers */
#define SMALLEST 16u /* bytes of a message without headers and payload */

enum failure { OK, DAMAGED, MALFORMED, TOO_LONG, NO_MEMORY };

struct eventstream {
  struct buf in;
  size_t event_max;    /* bytes of a message */
  size_t at;           /* where the message being read begins */
  size_t total;        /* its length, once its prelude was checked; 0 before */
  enum failure failed;
};

static int fail(struct eventstream *s, enum failure why, struct err *e) {
  s->failed = why;
  if (why == NO_MEMORY) return err_memory(e);
  if (why == TOO_LONG)
    return err_set(e, KIND_LIMIT, "event stream: a message is longer than %zu bytes (limits.event)", s->event_max);
  return err_set(e, KIND_PROTOCOL, why == DAMAGED ? "event stream: a message is damaged: its checksum does not fit"
                                                  : "event stream: a message is malformed");
}

static uint32_t get32(const char *p) {
  const unsigned char *u = (const unsigned char *)p;
  return (uint32_t)u[0] << 24 | (uint32_t)u[1] << 16 | (uint32_t)u[2] << 8 | u[3];
}

static size_t get16(const char *p) {
  const unsigned char *u = (const unsigned char *)p;
  return (size_t)u[0] << 8 | u[1];
}

/* {{{ input */

static void init(void *state, const struct mem *m, const struct limits *l) {
  struct eventstream *s = state;
  buf_init(&s->in, m);
  s->event_max = l->event;
}

static void free_state(void *state) {
  struct eventstream *s = state;
  buf_free(&s->in);
}

/* A message of less than 16 MiB begins with NUL, as no text does. To the caller that is no byte that says something:
** where the content type does not tell either, the end of the body has to. */
static int begins(char first, int typed) {
  if (first != '\0' && strchr("{[<", first) != NULL) return 0;
  return typed ? 1 : first == '\0' ? -1 : 0;
}

/* Drops what was read once that costs less than it frees, so that each byte is moved a bounded number of times. */
static void compact(struct eventstream *s) {
  if (s->at == 0 || s->at < s->in.n - s->at) return;
  buf_drop(&s->in, s->at);
  s->at = 0;
}

static int feed_copy(void *state, const char *p, size_t n, struct err *e) {
  struct eventstream *s = state;
  if (s->failed != OK) return fail(s, s->failed, e);
  compact(s);
  return buf_add(&s->in, p, n) < 0 ? fail(s, NO_MEMORY, e) : 0;
}

static int feed(void *state, struct buf *b, struct err *e) {
  struct eventstream *s = state;
  if (s->failed == OK && s->at == s->in.n) {
    buf_swap(&s->in, b);
    s->at = 0;
  } else if (feed_copy(s, b->p, b->n, e) != 0) {
    return -1;
  }
  b->n = 0;
  return 0;
}

/* }}} */

/* {{{ messages */

/* The values of the headers that matter. */
struct headers {
  struct str message_type, event_type, exception_type, error_code, error_message;
};

/* Where a header's text belongs; NULL for headers that do not matter. */
static struct str *place_of(struct headers *h, struct str name) {
  if (str_eq(name, ":event-type")) return &h->event_type;
  if (str_eq(name, ":message-type")) return &h->message_type;
  if (str_eq(name, ":exception-type")) return &h->exception_type;
  if (str_eq(name, ":error-code")) return &h->error_code;
  return str_eq(name, ":error-message") ? &h->error_message : NULL;
}

/* The bytes of a header's value, of which `left` are there: its length, and before it how many bytes hold that. 0, or
** -1. */
static int measure(int type, const char *p, size_t left, size_t *before, size_t *n) {
  static const size_t FIXED[] = { 0, 0, 1, 2, 4, 8, 0, 0, 8, 16 }; /* true, false, byte … long, bytes, text, time, UUID */
  if (type < 0 || type >= (int)(sizeof FIXED / sizeof *FIXED)) return -1;
  *before = type == 6 || type == 7 ? 2 : 0;
  if (left < *before) return -1;
  *n = *before > 0 ? get16(p) : FIXED[type];
  return left - *before < *n ? -1 : 0;
}

/* Reads all headers: 0, or -1. */
static int read_headers(struct str bytes, struct headers *h) {
  const char *p = bytes.p, *end = bytes.p + bytes.n;
  while (p < end) {
    size_t name_n = (unsigned char)*p++, before, n;
    struct str name = { p, name_n }, *to;
    int type;
    if ((size_t)(end - p) < name_n + 1) return -1;
    p += name_n;
    type = (unsigned char)*p++;
    if (measure(type, p, (size_t)(end - p), &before, &n) != 0) return -1;
    p += before;
    to = type == 7 ? place_of(h, name) : NULL;
    if (to != NULL) *to = (struct str){ p, n };
    p += n;
  }
  return 0;
}

/* Checks the prelude at p: the failure. */
static enum failure check_prelude(struct eventstream *s, const char *p) {
  size_t total = get32(p), headers = get32(p + 4);
  if (crc32_add(0, (struct str){ p, 8 }) != get32(p + 8)) return DAMAGED;
  if (total < SMALLEST || headers > total - SMALLEST) return MALFORMED;
  if (total > s->event_max) return TOO_LONG;
  s->total = total;
  return OK;
}

/* The whole message at p as a record: the failure. */
static enum failure read_message(const struct eventstream *s, const char *p, struct record *r) {
  size_t n = s->total - 4, headers_n = get32(p + 4);
  struct headers h = { .message_type = STR_NONE };
  if (crc32_add(0, (struct str){ p, n }) != get32(p + n)) return DAMAGED;
  if (read_headers((struct str){ p + PRELUDE, headers_n }, &h) != 0) return MALFORMED;
  *r = (struct record){ .name = h.event_type, .retry = -1 };
  r->data = (struct str){ p + PRELUDE + headers_n, n - PRELUDE - headers_n };
  if (str_eq(h.message_type, "exception")) {
    r->name = h.exception_type;
    r->fault = 1;
  } else if (str_eq(h.message_type, "error")) {
    r->name = h.error_code;
    if (r->data.n == 0) r->data = h.error_message;
    r->fault = 1;
  }
  return OK;
}

static int next(void *state, struct record *r, struct err *e) {
  struct eventstream *s = state;
  size_t left = s->in.n - s->at;
  enum failure why = s->failed;
  if (why == OK && s->total == 0) {
    if (left < PRELUDE) return 0;
    why = check_prelude(s, s->in.p + s->at);
  }
  if (why == OK) {
    if (left < s->total) return 0;
    why = read_message(s, s->in.p + s->at, r);
  }
  if (why != OK) return fail(s, why, e);
  s->at += s->total;
  s->total = 0;
  return 1;
}

/* A message that the end cut is none; whether something is missing then, the format knows. */
static int eof(void *state, struct record *r, struct err *e) { return next(state, r, e); }

static size_t held(const void *state) { return ((const struct eventstream *)state)->in.cap; }

/* }}} */

const struct framing framing_eventstream = {
  .name = "eventstream",
  .media_type = "application/vnd.amazon.eventstream",
  .state_size = sizeof(struct eventstream),
  .init = init,
  .free = free_state,
  .begins = begins,
  .feed = feed,
  .feed_copy = feed_copy,
  .next = next,
  .eof = eof,
  .held = held
};
