/*
** finish.c: how an answer ended: what each finishReason means, and which of them is no answer at all.
** Words are borrowed from the state. Failure: -1 and an err.
*/
#include "gemini.h"

#include <stdio.h>

const struct str gemini_extras[GEMINI_EXTRAS] = {
  { "groundingMetadata", 17 }, { "citationMetadata", 16 }, { "urlContextMetadata", 18 }, { "safetyRatings", 13 },
  { "modelStatus", 11 }
};

int gemini_warn(struct gemini *s, struct str code, struct str field, struct str text) {
  struct event *ev = gemini_push(s, PART_WARNING, 0, text);
  if (ev == NULL) return -1;
  ev->id = code;
  ev->name = field;
  return 0;
}

/* FAILED: the answer is an error, and its calls must not run; the others: unless it has one, or says anything. */
enum meaning { PLAIN, FAILED, FAILED_WITHOUT_CALL, FAILED_WHEN_EMPTY };

static const struct reason {
  const char *word;
  enum stop stop;
  enum meaning meaning;
} REASONS[] = {
  { "STOP", STOP_END_TURN, PLAIN },
  { "MAX_TOKENS", STOP_MAX_TOKENS, PLAIN },
  { "SAFETY", STOP_SENSITIVE, PLAIN }, { "RECITATION", STOP_SENSITIVE, PLAIN }, { "BLOCKLIST", STOP_SENSITIVE, PLAIN },
  { "PROHIBITED_CONTENT", STOP_SENSITIVE, PLAIN }, { "SPII", STOP_SENSITIVE, PLAIN },
  { "LANGUAGE", STOP_SENSITIVE, PLAIN }, { "IMAGE_SAFETY", STOP_SENSITIVE, PLAIN },
  { "IMAGE_PROHIBITED_CONTENT", STOP_SENSITIVE, PLAIN }, { "IMAGE_RECITATION", STOP_SENSITIVE, PLAIN },
  { "MODEL_ARMOR", STOP_SENSITIVE, PLAIN },
  { "UNEXPECTED_TOOL_CALL", STOP_TOOL_USE, FAILED_WITHOUT_CALL },
  { "MALFORMED_FUNCTION_CALL", STOP_NONE, FAILED }, { "TOO_MANY_TOOL_CALLS", STOP_NONE, FAILED },
  { "NO_IMAGE", STOP_NONE, FAILED_WHEN_EMPTY }, { "IMAGE_OTHER", STOP_NONE, FAILED_WHEN_EMPTY },
  { "OTHER", STOP_NONE, FAILED_WHEN_EMPTY }
};

/* The word's meaning, or NULL: it is not known. */
static const struct reason *meaning_of(struct str word) {
  for (size_t i = 0; i < sizeof REASONS / sizeof *REASONS; i++)
    if (str_is(word, REASONS[i].word, strlen(REASONS[i].word))) return &REASONS[i];
  return NULL;
}

/* True where the answer, as far as it came, is none with this reason. */
static int fails(const struct gemini *s, const struct reason *r) {
  return r != NULL && (r->meaning == FAILED || (r->meaning == FAILED_WITHOUT_CALL && s->calls == 0) ||
                       (r->meaning == FAILED_WHEN_EMPTY && s->parts == 0));
}

/* Ranks that reasons give the answer so far, from "it is whole" up. That it was held back says why it is EMPTY. */
enum rank { WHOLE, UNCLEAR, CUT, EMPTY, HELD_BACK, NO_ANSWER };

static enum rank rank_of(const struct gemini *s, const struct reason *r) {
  if (fails(s, r)) return r->meaning == FAILED_WHEN_EMPTY ? EMPTY : NO_ANSWER;
  if (r == NULL || r->meaning != PLAIN) return UNCLEAR;
  return r->stop == STOP_SENSITIVE ? HELD_BACK : r->stop == STOP_MAX_TOKENS ? CUT : WHOLE;
}

/* The rank of what is known. Where the model went on behind a plain reason, that was not the end. */
static enum rank known_rank(const struct gemini *s) {
  const struct reason *r = meaning_of(buf_str(&s->reason));
  int went_on = s->parts > s->parts_at_end;
  if (s->blocked) return went_on ? WHOLE : HELD_BACK;
  if (!s->finished || (went_on && (r == NULL || r->meaning == PLAIN))) return WHOLE;
  return rank_of(s, r);
}

static int keep(struct gemini *s, struct str reason, struct str message, int blocked) {
  s->finished = !blocked;
  s->blocked = blocked;
  s->parts_at_end = s->parts;
  return codec_set(&s->reason, reason, s->e) != 0 ? -1 : codec_set(&s->message, message, s->e);
}

/* A reason only rises: a later one does not hide that the answer was cut or is none. */
int gemini_finish(struct gemini *s, struct str reason, struct str message) {
  return rank_of(s, meaning_of(reason)) < known_rank(s) ? 0 : keep(s, reason, message, 0);
}

int gemini_block(struct gemini *s, struct str reason, struct str message) {
  return HELD_BACK < known_rank(s) ? 0 : keep(s, reason, message, 1);
}

/* The answer is none: what the provider says about it is the error's message, its word the code. */
static int fail(struct gemini *s) {
  struct str word = buf_str(&s->reason), text = str_trim(buf_str(&s->message));
  struct err *e = s->e;
  if (text.n == 0) text = word;
  err_set(e, KIND_SERVER, "%.*s", text.n < ERR_MESSAGE_MAX ? (int)text.n : ERR_MESSAGE_MAX, text.p);
  snprintf(e->code, sizeof e->code, "%.*s", word.n < sizeof e->code ? (int)word.n : (int)sizeof e->code, word.p);
  e->retryable = 1;
  return -1;
}

/* A warning with what the provider says; its word where it says nothing. 0 or -1. */
static int warn(struct gemini *s, struct str code, struct str field) {
  return gemini_warn(s, code, field, s->message.n > 0 ? buf_str(&s->message) : buf_str(&s->reason));
}

/* Pushes the members that stood beside the content, each as a block that is never sent back. */
static int push_extras(struct gemini *s) {
  for (int i = 0; i < GEMINI_EXTRAS; i++) {
    struct event *ev;
    if (s->extras[i].n == 0) continue;
    if ((ev = gemini_push(s, PART_OPAQUE, s->next_key++, buf_str(&s->extras[i]))) == NULL) return -1;
    ev->name = gemini_extras[i];
  }
  return 0;
}

static int push_stop(struct gemini *s, enum stop stop) {
  struct event *ev = gemini_push(s, PART_STOP, 0, buf_str(&s->reason));
  if (ev == NULL) return -1;
  ev->stop = stop;
  return 0;
}

/* The prompt was refused: there is no answer. */
static int end_blocked(struct gemini *s) {
  if (s->message.n > 0 && warn(s, STR("prompt_blocked"), STR("messages")) != 0) return -1;
  return push_stop(s, STOP_SENSITIVE);
}

int gemini_end(struct gemini *s) {
  const struct reason *r = meaning_of(buf_str(&s->reason));
  enum stop stop = r != NULL ? r->stop : STOP_END_TURN;
  if (push_extras(s) != 0) return -1;
  if (s->blocked) return end_blocked(s);
  if (fails(s, r)) return fail(s);
  if (r != NULL && r->meaning == FAILED_WITHOUT_CALL && warn(s, STR("unexpected_tool_call"), STR("tools")) != 0) return -1;
  if (stop == STOP_NONE) stop = STOP_END_TURN;
  if (s->reason.n > 0 && (r == NULL || r->stop == STOP_NONE) &&
      warn(s, STR("unknown_stop_reason"), STR("stop_reason")) != 0) return -1;
  return push_stop(s, stop);
}
