/*
** body.c: what the body of an answer is, and the parts that it holds: records of a stream, a plain answer, a refusal. See
** exchange.h. Fails with -1 and the exchange's err.
*/
#include "private.h"

#define ERROR_BODY_MAX ((size_t)1 << 20) /* of an error answer, read and kept */
#define BLANK_MAX ((size_t)64 << 10)     /* white space before a body that is kept */
#define PARTS_OF_A_BODY 8                /* that a plain answer mostly has */

/* Keeps the record that the provider reported its error with, for err.raw. */
static void keep_record(struct exchange *x, struct str data) {
  if (x->keep_raw) return;
  x->body.n = 0;
  (void)buf_add(&x->body, data.p, data.n < RAW_MAX ? data.n : RAW_MAX);
}

/* Whether the codec says itself that something is missing behind the message. */
static int says_unclean(const struct events *parts) {
  for (size_t i = parts->head; i < parts->n; i++)
    if (parts->v[i].type == PART_WARNING && str_eq(parts->v[i].id, "unclean_end")) return 1;
  return 0;
}

/* No more records: the message is complete, or it was cut. */
static int finish_stream(struct exchange *x) {
  if (!x->codec->ended(x->state)) return exchange_truncated(x);
  arena_reset(&x->scratch);
  if (x->codec->parse_end(x->state, &x->parts, x->err) != 0) return exchange_fail(x);
  if (x->transport != NULL && !x->stop_reading && !says_unclean(&x->parts) &&
      message_warn(&x->message, "unclean_end", "", "the connection broke after the message was complete") != 0) {
    err_memory(x->err);
    return exchange_fail(x);
  }
  x->stage = ENDING;
  return 1;
}

int body_read_stream(struct exchange *x) {
  const struct framing *framing = x->framing;
  struct record r;
  int got;
  if (x->stop_reading) return finish_stream(x);
  got = framing->next(x->records, &r, x->err);
  if (got == 0 && !x->eof) return 0;
  if (got == 0) got = framing->eof(x->records, &r, x->err);
  if (got < 0) return exchange_fail(x);
  if (got == 0) return finish_stream(x);
  if (r.data.p == NULL) return 1;
  arena_reset(&x->scratch); /* the parts of all its events wait in the queue together */
  if (shape_parse(&x->shape, x->codec, x->state, &x->parse, &r, &x->parts, x->err) == 0) return 1;
  keep_record(x, r.data);
  x->stage = FAILING;
  return 1;
}

/* The first byte of the body that says something; NUL when there is none, or when it is one. No byte is looked at twice. */
static char first_byte(struct exchange *x) {
  struct str s = buf_str(&x->body);
  size_t i = x->blank;
  if (i == 0 && str_begins(s, "\xEF\xBB\xBF")) i = 3;
  while (i < s.n && (s.p[i] == ' ' || s.p[i] == '\t' || s.p[i] == '\r' || s.p[i] == '\n')) i++;
  x->blank = i;
  return i < s.n ? s.p[i] : '\0';
}

/* An array of records instead of a stream was cut, or says an error: what came before is the failure's partial, as that
** of a stream. 1. */
static int fail_array(struct exchange *x) {
  int broken = x->err->kind == KIND_PROTOCOL || x->err->kind == KIND_STREAM_TRUNCATED;
  if (broken && (x->transport != NULL || json_is_cut(buf_str(&x->body)))) exchange_cut(x);
  x->stage = FAILING;
  return 1;
}

int body_read_plain(struct exchange *x) {
  char first;
  if (x->body.n > x->limits.body) {
    err_set(x->err, KIND_LIMIT, "the answer exceeds %zu bytes (limits.body)", x->limits.body);
    return exchange_fail(x);
  }
  if (!x->eof) return 0;
  first = first_byte(x);
  if (x->transport != NULL && first != '[') return exchange_truncated(x);
  if (first == '\0' || first == '<') {
    err_set(x->err, KIND_PROTOCOL, first == '\0' ? "the provider answered %d with an empty body"
                                                : "the provider answered %d with HTML instead of JSON", x->status);
    return exchange_fail(x);
  }
  arena_reset(&x->scratch);
  if (events_reserve(&x->parts, PARTS_OF_A_BODY) != 0) {
    err_memory(x->err);
    return exchange_fail(x);
  }
  if (x->codec->parse_body(x->state, buf_str(&x->body), &x->parts, x->err) != 0) {
    if (first == '[') return fail_array(x);
    return x->err->kind == KIND_PROTOCOL && json_is_cut(buf_str(&x->body)) ? exchange_truncated(x) : exchange_fail(x);
  }
  if (x->transport != NULL) {
    exchange_cut(x);
    x->stage = FAILING;
    return 1;
  }
  x->stage = ENDING;
  if (x->codec->ended(x->state) && x->codec->parse_end(x->state, &x->parts, x->err) != 0)
    x->stage = FAILING; /* the answer was read, and is the failure's partial */
  return 1;
}

int body_read_refusal(struct exchange *x) {
  struct str body;
  if (!x->eof && x->body.n < ERROR_BODY_MAX) return 0;
  if (x->body.n > ERROR_BODY_MAX) x->body.n = ERROR_BODY_MAX;
  arena_reset(&x->scratch);
  body = redact(x->secrets, &x->scratch, buf_str(&x->body));
  if (x->transport != NULL && x->transport->kind == KIND_MEMORY) *x->err = *x->transport;
  else if (body.p == NULL && x->body.n > 0) err_memory(x->err);
  else codec_read_error(codec_of_refusals(x->codec, x->quirks), &x->scratch, x->status,
                        redact(x->secrets, &x->scratch, x->error_type), body, x->err);
  return exchange_fail(x);
}

/* White space before the body says nothing: a proxy sends some to keep the connection alive. It is counted, not kept. */
static int skip_blank(struct exchange *x) {
  x->skipped += x->body.n;
  x->body.n = x->blank = 0;
  if (x->skipped <= x->limits.body) return 0;
  err_set(x->err, KIND_LIMIT, "the answer exceeds %zu bytes (limits.body), all of them white space",
          x->limits.body);
  return exchange_fail(x);
}

/* The body is a stream: its framing takes what has come. 1, or -1. */
static int begin_stream(struct exchange *x) {
  const struct framing *framing = x->framing;
  x->mode = STREAM;
  x->records = mem_alloc(x->m, framing->state_size);
  if (x->records == NULL) {
    err_memory(x->err);
    return exchange_fail(x);
  }
  memset(x->records, 0, framing->state_size);
  framing->init(x->records, x->m, &x->limits);
  return (x->keep_raw ? framing->feed_copy(x->records, x->body.p, x->body.n, x->err)
                           : framing->feed(x->records, &x->body, x->err)) == 0 ? 1 : exchange_fail(x);
}

/* The framing knows from the first byte and the content type. A body that ends before says nothing: it is what was asked
** for. */
int body_sniff(struct exchange *x) {
  char first = first_byte(x);
  int stream = x->framing->begins(first, x->typed);
  if (x->blank == x->body.n && x->body.n > BLANK_MAX && skip_blank(x) != 0) return -1;
  if ((stream < 0 || (first == '\xEF' && x->body.n < 3)) && !x->eof) return 0;
  if (stream < 0 || stream == FRAMING_ASKED) stream = x->asked_stream;
  if (stream) return begin_stream(x);
  x->mode = PLAIN;
  return 1;
}
