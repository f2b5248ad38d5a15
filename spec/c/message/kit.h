/*
** kit.h: a message that is built part by part, with what it gives. Each program has `libc` and `limits` of its own,
** which its main initialises.
*/
#ifndef KOINE_SPEC_MESSAGE_KIT_H
#define KOINE_SPEC_MESSAGE_KIT_H

#include "core/message/message.h"
#include "support/failing.h"
#include "support/test.h"
#include "support/text.h"

static const struct origin HERE = { { "row", 3 }, { "m-1", 3 }, { "wire", 4 } };

static struct mem libc;
static struct limits limits;

/* A message with what it gave so far as text: "text_start;text_delta:hi;text_end;". */
struct run {
  struct message msg;
  struct events deltas;
  struct buf said;
  struct err e;
  int failed;
};

static inline void run_begin(struct run *r, const struct mem *m) {
  memset(r, 0, sizeof *r);
  message_init(&r->msg, m, &limits, &HERE, 3);
  events_init(&r->deltas, m);
  buf_init(&r->said, &libc);
  err_clear(&r->e);
}

static inline void run_free(struct run *r) {
  message_free(&r->msg);
  events_free(&r->deltas);
  buf_free(&r->said);
}

static inline void take(struct run *r) {
  const struct event *d;
  while ((d = events_take(&r->deltas)) != NULL) {
    buf_adds(&r->said, event_form(d->type)->name);
    if (d->id.n > 0) { buf_addc(&r->said, '@'); buf_addstr(&r->said, d->id); }
    if (d->name.n > 0) { buf_addc(&r->said, '='); buf_addstr(&r->said, d->name); }
    if (d->text.n > 0) { buf_addc(&r->said, ':'); buf_addstr(&r->said, d->text); }
    buf_addc(&r->said, ';');
  }
}

static inline void add(struct run *r, struct event part) {
  if (r->failed) return;
  if (message_add(&r->msg, &part, &r->deltas, &r->e) != 0) r->failed = 1;
  take(r);
}

static inline void text(struct run *r, enum event_type type, int key, const char *s) {
  add(r, (struct event){ .type = type, .key = key, .text = z(s) });
}

static inline void tool(struct run *r, int key, const char *id, const char *name) {
  add(r, (struct event){ .type = PART_TOOL, .key = key, .id = z(id), .name = z(name) });
}

static inline void end(struct run *r) {
  if (!r->failed && message_end(&r->msg, &r->deltas, &r->e) != 0) r->failed = 1;
  take(r);
}

/* The deltas said so far, and the message's content as JSON. */
static inline void check(struct run *r, const char *said, const char *content) {
  struct arena a;
  struct buf json;
  struct node *message;
  arena_init(&a, &libc);
  buf_init(&json, &libc);
  CHECK_STR(r->said.p ? r->said.p : "", r->said.n, said);
  message = message_node(&r->msg, &a, 0);
  CHECK(message != NULL && json_write(&json, node_get(message, "content"), &r->e) == 0);
  CHECK_STR(json.p, json.n, content);
  buf_free(&json);
  arena_free(&a);
}

#define RUN(...) do { struct run R; run_begin(&R, &libc); __VA_ARGS__ run_free(&R); } while (0)

#endif
