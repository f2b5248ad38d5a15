/*
** text.c: text on its way to the parts, streamed and plain alike: which block it belongs to, and, where the dialect
** asks for it, reasoning written into the answer's text taken apart (think.h). Text kept back is lost only where a
** message breaks off: no partial answer holds it.
** Failure: -1 and an err.
*/
#include "chat.h"

/* The key of the block of this kind that text of this choice goes to: a new one whenever kind or choice changes. */
static int32_t run_key(struct chat *c, enum chat_run run, int choice) {
  if (c->run == run && c->run_choice == choice) return c->run_key;
  c->run = run;
  c->run_choice = choice;
  c->run_key = c->next_key++;
  if (run == RUN_THINKING && c->reasoning_key < 0) c->reasoning_key = c->run_key;
  if (run == RUN_TEXT) c->text_key = c->run_key;
  return c->run_key;
}

int chat_push_text(struct chat *c, enum chat_run run, int choice, struct str s, unsigned flags) {
  static const enum event_type TYPE[] = {
    [RUN_TEXT] = PART_TEXT, [RUN_THINKING] = PART_THINKING, [RUN_REFUSAL] = PART_REFUSAL
  };
  struct event *ev;
  if (s.n == 0) return 0;
  ev = events_push(c->out, TYPE[run], run_key(c, run, choice));
  if (ev == NULL) return err_memory(c->e);
  ev->text = s;
  ev->flags = flags;
  return 0;
}

/* Pushes a piece that the filter of reasoning gave. */
static int pass_piece(struct chat *c, int kind, struct str piece, unsigned flags) {
  switch (kind) {
    case THINK_NONE: return 0;
    case THINK_TEXT: return chat_push_text(c, RUN_TEXT, c->text_choice, piece, flags);
    case THINK_THOUGHT: return chat_push_text(c, RUN_THINKING, c->text_choice, piece, flags);
    case THINK_OPENED: case THINK_CLOSED: c->run = RUN_NONE; return 0; /* each thought is a block of its own */
    default: return err_memory(c->e);
  }
}

int chat_text(struct chat *c, int choice, struct str s, unsigned flags) {
  struct str piece;
  int kind;
  if (!c->p->quirks->inline_think) return chat_push_text(c, RUN_TEXT, choice, s, flags);
  if (choice != c->text_choice && chat_text_pause(c) != 0) return -1;
  c->text_choice = choice;
  do {
    kind = think_next(&c->think, c->p->a, &s, &piece);
    if (pass_piece(c, kind, piece, flags) != 0) return -1;
  } while (kind != THINK_NONE);
  return 0;
}

int chat_text_pause(struct chat *c) {
  struct str piece;
  if (!c->p->quirks->inline_think) return 0;
  int kind = think_pause(&c->think, c->p->a, &piece);
  return pass_piece(c, kind, piece, 0);
}

int chat_text_calls(struct chat *c, struct str calls) {
  struct json j;
  struct err scratch;
  if (!c->p->quirks->inline_think) return 0;
  json_open(&j, calls, c->p->limits->depth, &scratch);
  return json_next(&j) == J_ARRAY && json_next(&j) == J_OBJECT ? chat_text_pause(c) : 0;
}

int chat_thinking(struct chat *c, int choice, struct str s, unsigned flags) {
  if (s.n == 0) return 0;
  if (c->p->quirks->dedup_reasoning) {
    if (c->run == RUN_THINKING && str_same(s, buf_str(&c->last_reasoning))) return 0;
    c->last_reasoning.n = 0;
    if (buf_addstr(&c->last_reasoning, s) != 0) return err_memory(c->e);
  }
  return chat_text_pause(c) != 0 ? -1 : chat_push_text(c, RUN_THINKING, choice, s, flags);
}

int chat_refusal(struct chat *c, int choice, struct str s, unsigned flags) {
  c->refused = 1;
  return chat_text_pause(c) != 0 ? -1 : chat_push_text(c, RUN_REFUSAL, choice, s, flags);
}

int chat_text_end(struct chat *c) {
  struct str piece;
  if (!c->p->quirks->inline_think) return 0;
  int kind = think_end(&c->think, c->p->a, &piece);
  return pass_piece(c, kind, piece, 0);
}

int chat_parse_text(struct chat *c, struct str text, unsigned flags, struct events *out, struct err *e) {
  c->out = out;
  c->e = e;
  if (c->said == RUN_TEXT) return chat_text(c, c->said_choice, text, flags);
  return c->said == RUN_REFUSAL ? chat_refusal(c, c->said_choice, text, flags)
                                : chat_thinking(c, c->said_choice, text, flags);
}
