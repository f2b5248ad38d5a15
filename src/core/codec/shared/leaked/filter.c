/*
** filter.c: see filter.h.
** Owns the queue of parts and the text that waits. Failure: -1 and an err.
*/
#include "filter.h"

void leaked_filter_init(struct leaked_filter *f, const struct parse *p) {
  f->p = p;
  f->used = f->looks = p->quirks->leaked_calls && p->tool_names != NULL && p->tool_names->child != NULL;
  f->from = -1;
  leaked_init(&f->leaked, p->m);
  events_init(&f->parts, p->m);
}

void leaked_filter_free(struct leaked_filter *f) {
  leaked_free(&f->leaked);
  events_free(&f->parts);
}

/* Gives text on: in the block that goes on if that is text, else in a new one. */
static int show(struct leaked_filter *f, struct str s, unsigned flags, struct events *out, struct err *e) {
  struct event *ev;
  if (s.n == 0) return 0;
  if (f->run != PART_TEXT || f->run_from != f->from) {
    f->run = PART_TEXT;
    f->run_from = f->from;
    f->run_key = f->text = --f->next_key;
  }
  f->waited = 0;
  if ((ev = events_push(out, PART_TEXT, f->run_key)) == NULL) return err_memory(e);
  ev->text = s;
  ev->flags = flags;
  return 0;
}

/* Gives all text on that waits. */
static int release(struct leaked_filter *f, struct events *out, struct err *e) {
  struct str s;
  if (leaked_release(&f->leaked, f->p->a, &s) != 0) return err_memory(e);
  return show(f, s, 0, out, e);
}

/* Another block begins: text that may only become a call goes before it. */
static int make_way(struct leaked_filter *f, struct events *out, struct err *e) {
  return f->looks && !f->leaked.found ? release(f, out, e) : 0;
}

static int pass_text(struct leaked_filter *f, const struct event *part, struct events *out, struct err *e) {
  struct str s = part->text;
  if (part->key != f->from && make_way(f, out, e) != 0) return -1;
  f->from = part->key;
  f->waited = 1;
  if (f->looks && leaked_feed(&f->leaked, f->p->a, part->text, &s) != 0) return err_memory(e);
  return show(f, s, part->flags, out, e);
}

/* Gives a part on, with a key that fits what came of the blocks before it. */
static int give(const struct event *part, int32_t key, struct events *out, struct err *e) {
  struct event *ev = events_push(out, part->type, key);
  if (ev == NULL) return err_memory(e);
  *ev = *part;
  ev->key = key;
  return 0;
}

/* Reasoning and refusals: where only text stood between that waits, the block before goes on. */
static int pass_run(struct leaked_filter *f, const struct event *part, struct events *out, struct err *e) {
  if (make_way(f, out, e) != 0) return -1;
  if (f->run != part->type || (f->run_from != part->key && !f->waited)) f->run_key = part->key;
  f->run = part->type;
  f->run_from = part->key;
  f->waited = 0;
  return give(part, f->run_key, out, e);
}

/* A block that comes whole, or a call: real ones win, nothing is looked for any more. */
static int pass_block(struct leaked_filter *f, const struct event *part, struct events *out, struct err *e) {
  if (make_way(f, out, e) != 0) return -1;
  if (part->type == PART_TOOL && f->looks) {
    if (release(f, out, e) != 0) return -1;
    f->looks = 0;
  }
  f->run = EV_NONE;
  return give(part, part->key, out, e);
}

/* Passes on a part that belongs to a block that was begun; drops one that belongs to text that was never shown. */
static int pass_raw(struct leaked_filter *f, const struct event *part, struct events *out, struct err *e) {
  if (part->key == f->from) return f->text == 0 ? 0 : give(part, f->text, out, e);
  return give(part, f->run != EV_NONE && part->key == f->run_from ? f->run_key : part->key, out, e);
}

int leaked_filter_pass(struct leaked_filter *f, struct events *out, struct err *e) {
  const struct event *part;
  int r = 0;
  while (r == 0 && (part = events_take(&f->parts)) != NULL) {
    switch (part->type) {
      case PART_TEXT: r = pass_text(f, part, out, e); break;
      case PART_THINKING: case PART_REFUSAL: r = pass_run(f, part, out, e); break;
      case PART_REDACTED: case PART_OPAQUE: case PART_TOOL: r = pass_block(f, part, out, e); break;
      case PART_RAW: r = pass_raw(f, part, out, e); break;
      default: r = give(part, part->key, out, e); break;
    }
  }
  events_clear(&f->parts); /* after a failure their strings are of no call any more */
  return r;
}

/* One call that was found. */
static int push_call(struct leaked_filter *f, const struct leaked_call *call, struct events *out, struct err *e) {
  int32_t key = --f->next_key;
  struct event *ev = events_push(out, PART_TOOL, key);
  if (ev == NULL) return err_memory(e);
  ev->name = call->name;
  if (call->arguments.n > 0) {
    if ((ev = events_push(out, PART_ARGS, key)) == NULL) return err_memory(e);
    ev->text = call->arguments;
  }
  return events_push(out, PART_END, key) == NULL ? err_memory(e) : 0;
}

int leaked_filter_end(struct leaked_filter *f, struct events *out, int cut, size_t *calls, struct err *e) {
  struct leaked_call *call;
  struct event *ev;
  struct str text;
  *calls = 0;
  if (!f->looks) return 0;
  if (leaked_recover(&f->leaked, f->p->a, f->p->tool_names, f->p->limits->depth, cut, &call, &text) != 0)
    return err_memory(e);
  f->looks = 0;
  if (call == NULL) return release(f, out, e);
  if (show(f, text, 0, out, e) != 0) return -1;
  for (; call != NULL; call = call->next, ++*calls)
    if (push_call(f, call, out, e) != 0) return -1;
  f->run = EV_NONE;
  if ((ev = events_push(out, PART_WARNING, 0)) == NULL) return err_memory(e);
  ev->id = STR("recovered_tool_calls");
  ev->text = STR("the model wrote tool calls into its text: they were read from there");
  return 0;
}
