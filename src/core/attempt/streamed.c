/*
** streamed.c: moves what a transfer received into a framing, or into one buffer. See streamed.h.
*/
#include "streamed.h"

struct streamed {
  const struct mem *m;
  struct transfer *transfer;
  const struct framing *framing;
  void *state;               /* the framing's */
  struct buf body;           /* what streamed_body gathered */
  size_t body_max;
  int ended, too_large;      /* the framing was told the end; the body was over body_max */
};

static void free_all(struct streamed *s) {
  if (s->state != NULL) s->framing->free(s->state);
  mem_free(s->m, s->state, s->framing->state_size);
  buf_free(&s->body);
  mem_free(s->m, s, sizeof *s);
}

struct streamed *streamed_start(const struct mem *m, struct http *http, struct http_request *r,
                                const struct framing *framing, const struct limits *limits, void *owner, struct err *e) {
  struct streamed *s = mem_alloc(m, sizeof *s);
  if (s == NULL) {
    err_memory(e);
    return NULL;
  }
  *s = (struct streamed){ .m = m, .framing = framing, .body_max = limits->body };
  buf_init(&s->body, m);
  s->state = mem_alloc(m, framing->state_size);
  if (s->state == NULL) {
    err_memory(e);
  } else {
    memset(s->state, 0, framing->state_size);
    framing->init(s->state, m, limits);
    r->body_max = r->decoded_max = 0;
    r->high_water = limits->high_water;
    s->transfer = transfer_start(http, r, owner, e);
  }
  if (s->transfer != NULL) return s;
  free_all(s);
  return NULL;
}

enum streamed_got streamed_head(struct streamed *s, int *status, const struct header **v, size_t *n, struct err *e) {
  const struct err *failure;
  *status = transfer_status(s->transfer);
  *n = transfer_headers(s->transfer, v);
  if (*status != 0) return STREAMED_THERE;
  if (!transfer_done(s->transfer, &failure)) return STREAMED_LATER;
  if (failure != NULL) *e = *failure;
  else err_memory(e); /* there was none to say why */
  return STREAMED_FAILED;
}

/* The bytes of the body that are there now; a body without a head belongs to no answer. */
static struct buf *received(struct streamed *s) {
  struct buf *b = transfer_body(s->transfer);
  return transfer_status(s->transfer) != 0 && b->n > 0 ? b : NULL;
}

/* There are no bytes: LATER, END or FAILED. */
static enum streamed_got end_of(struct streamed *s, struct err *e) {
  const struct err *failure;
  if (!transfer_done(s->transfer, &failure)) return STREAMED_LATER;
  if (failure == NULL) return STREAMED_END;
  *e = *failure;
  return STREAMED_FAILED;
}

enum streamed_got streamed_record(struct streamed *s, struct record *r, struct err *e) {
  struct buf *b;
  int got;
  if (s->ended) return STREAMED_END;
  while ((got = s->framing->next(s->state, r, e)) == 0 && (b = received(s)) != NULL) {
    if (s->framing->feed(s->state, b, e) < 0) return STREAMED_FAILED;
    transfer_taken(s->transfer);
  }
  if (got == 0) {
    enum streamed_got end = end_of(s, e);
    if (end != STREAMED_END) return end;
    got = s->framing->eof(s->state, r, e);
    s->ended = got >= 0;
    if (got == 0) return STREAMED_END;
  }
  return got < 0 ? STREAMED_FAILED : STREAMED_THERE;
}

enum streamed_got streamed_body(struct streamed *s, struct str *body, struct err *e) {
  struct buf *b;
  while (!s->too_large && (b = received(s)) != NULL) {
    s->too_large = b->n > s->body_max - s->body.n;
    if (s->too_large) break;
    if (buf_addstr(&s->body, buf_str(b)) < 0) {
      err_memory(e);
      return STREAMED_FAILED;
    }
    b->n = 0;
    transfer_taken(s->transfer);
  }
  if (s->too_large) {
    err_set(e, KIND_LIMIT, "the response's body is larger than %zu bytes", s->body_max);
    strcpy(e->code, "body");
    return STREAMED_FAILED;
  }
  enum streamed_got end = end_of(s, e);
  if (end != STREAMED_END) return end;
  *body = buf_str(&s->body);
  return STREAMED_THERE;
}

void streamed_release(struct streamed *s, double seconds) {
  transfer_release(s->transfer, seconds);
  free_all(s);
}

void streamed_close(struct streamed *s) {
  if (s == NULL) return;
  transfer_close(s->transfer);
  free_all(s);
}
