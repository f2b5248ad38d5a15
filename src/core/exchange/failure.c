/*
** failure.c: how an exchange fails. See private.h.
*/
#include "private.h"

int exchange_fail(struct exchange *x) {
  struct err *e = x->err;
  if (e->status == 0 && x->status != 0 && x->mode == REFUSED) e->status = x->status;
  head_complete(&x->head, e);
  redact_err(x->secrets, e);
  x->head.request_id = redact(x->secrets, &x->arena, x->head.request_id);
  if (x->head.request_id.n == 0 && e->request_id[0] != '\0')
    x->head.request_id = arena_dup(&x->arena, (struct str){ e->request_id, strlen(e->request_id) });
  x->stage = FAILED;
  events_clear(&x->parts);
  events_clear(&x->deltas);
  return -1;
}

void exchange_cut(struct exchange *x) {
  const struct err *t = x->transport;
  if (t != NULL && t->kind != KIND_CONNECT) *x->err = *t;
  else if (t != NULL) err_set(x->err, KIND_STREAM_TRUNCATED, "the answer broke off: %s", t->message);
  else err_set(x->err, KIND_STREAM_TRUNCATED, "the answer ended before the message was complete");
}

int exchange_truncated(struct exchange *x) {
  exchange_cut(x);
  return exchange_fail(x);
}
