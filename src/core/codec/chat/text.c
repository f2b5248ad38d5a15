/*
** text.c: the answer's text on its way to the parts, streamed and plain alike. Where the dialect asks for
** it, reasoning written into the text is taken apart (think.h), and tool calls written into it are read (leaked.h).
** What is kept back is lost only where a turn breaks off: no partial answer holds it.
** Failure: -1 and an err.
*/
#include "chat.h"

void chat_text_init(struct chat *c) {
  const struct parse *p = c->p;
  think_init(&c->think, p->m);
  leaked_init(&c->leaked, p->m);
  c->leaks = p->quirks->leaked_calls && p->tool_names != NULL && p->tool_names->child != NULL;
  c->filtered = c->leaks || p->quirks->inline_think;
}

void chat_text_free(struct chat *c) {
  think_free(&c->think);
  leaked_free(&c->leaked);
}

static int show(struct chat *c, struct str s, unsigned flags) {
  return chat_push_text(c, RUN_TEXT, c->text_choice, s, flags);
}

/* Text without reasoning: shown unless it may be a call. */
static int pass(struct chat *c, struct str s, unsigned flags) {
  struct str out;
  if (!c->leaks) return show(c, s, flags);
  if (leaked_feed(&c->leaked, c->p->a, s, &out) != 0) return err_memory(c->e);
  return show(c, out, flags);
}

/* What the filter of reasoning gave. */
static int pass_piece(struct chat *c, int kind, struct str piece, unsigned flags) {
  switch (kind) {
    case THINK_NONE: return 0;
    case THINK_TEXT: return pass(c, piece, flags);
    case THINK_THOUGHT: return chat_push_text(c, RUN_THINKING, c->text_choice, piece, flags);
    case THINK_OPENED: case THINK_CLOSED: c->run = RUN_NONE; return 0; /* each thought is a block of its own */
    default: return err_memory(c->e);
  }
}

int chat_text(struct chat *c, int choice, struct str s, unsigned flags) {
  struct str piece;
  int kind;
  if (!c->filtered) return chat_push_text(c, RUN_TEXT, choice, s, flags);
  if (choice != c->text_choice && chat_text_pause(c) != 0) return -1;
  c->text_choice = choice;
  if (!c->p->quirks->inline_think) return pass(c, s, flags);
  do {
    kind = think_next(&c->think, c->p->a, &s, &piece);
    if (pass_piece(c, kind, piece, flags) != 0) return -1;
  } while (kind != THINK_NONE);
  return 0;
}

/* Gives up what was kept back as a possible call. */
static int release(struct chat *c) {
  struct str out;
  if (leaked_release(&c->leaked, c->p->a, &out) != 0) return err_memory(c->e);
  return show(c, out, 0);
}

int chat_text_pause(struct chat *c) {
  struct str piece;
  int kind;
  if (!c->filtered) return 0;
  kind = think_pause(&c->think, c->p->a, &piece);
  if (pass_piece(c, kind, piece, 0) != 0) return -1;
  return c->leaks && !c->leaked.found ? release(c) : 0;
}

int chat_text_calls(struct chat *c, struct str calls) {
  struct json j;
  struct err scratch;
  if (!c->filtered) return 0;
  json_open(&j, calls, c->p->limits->depth, &scratch);
  if (json_next(&j) != J_ARRAY || json_next(&j) != J_OBJECT) return 0;
  if (chat_text_pause(c) != 0) return -1;
  if (c->leaks && release(c) != 0) return -1;
  c->leaks = 0;
  return 0;
}

/* One recovered call. */
static int push_call(struct chat *c, const struct leaked_call *call) {
  int32_t key = c->next_key++;
  struct event *ev = events_push(c->out, PART_TOOL, key);
  if (ev == NULL) return err_memory(c->e);
  ev->name = call->name;
  if (call->arguments.n > 0) {
    if ((ev = events_push(c->out, PART_ARGS, key)) == NULL) return err_memory(c->e);
    ev->text = call->arguments;
  }
  c->recovered++;
  return events_push(c->out, PART_END, key) == NULL ? err_memory(c->e) : 0;
}

/* Makes calls of what was kept back, or shows it. */
static int recover(struct chat *c) {
  struct leaked_call *call;
  struct str text;
  struct event *ev;
  if (leaked_recover(&c->leaked, c->p->a, c->p->tool_names, c->p->limits->depth, c->stop == STOP_MAX_TOKENS, &call,
                     &text) != 0) return err_memory(c->e);
  if (call == NULL) return release(c);
  if (show(c, text, 0) != 0) return -1;
  for (; call != NULL; call = call->next)
    if (push_call(c, call) != 0) return -1;
  c->run = RUN_TOOLS;
  if ((ev = events_push(c->out, PART_WARNING, 0)) == NULL) return err_memory(c->e);
  ev->id = STR("recovered_tool_calls");
  ev->text = STR("the model wrote tool calls into its text: they were read from there");
  return 0;
}

int chat_text_end(struct chat *c) {
  struct str piece;
  int kind;
  if (!c->filtered) return 0;
  kind = think_end(&c->think, c->p->a, &piece);
  if (pass_piece(c, kind, piece, 0) != 0) return -1;
  return c->leaks ? recover(c) : 0;
}
