/*
** event.c: the queue between codecs, message and stream, and the names users see.
** The queue owns its array, never the strings of its events. Failure: NULL, and the queue as it was.
*/
#include "event.h"

#define QUEUE_MIN 2 /* two queues wait with every open stream */

/* An empty queue; allocates nothing yet. */
void events_init(struct events *q, const struct mem *m) {
  *q = (struct events){ NULL, 0, 0, 0, m };
}

/* Gives the array back; the queue is empty and usable again. */
void events_free(struct events *q) {
  mem_free(q->m, q->v, q->cap * sizeof *q->v);
  events_init(q, q->m);
}

/* Without effect where there is an array. */
int events_reserve(struct events *q, size_t n) {
  if (q->cap > 0) return 0;
  q->v = mem_alloc(q->m, n * sizeof *q->v);
  if (q->v == NULL) return -1;
  q->cap = n;
  return 0;
}

/* Makes room for one more: moves the waiting events down when at least half the array is taken ones, else doubles. */
static int make_room(struct events *q) {
  size_t waiting = q->n - q->head;
  if (q->head > 0 && q->head >= waiting) {
    if (waiting > 0) memmove(q->v, q->v + q->head, waiting * sizeof *q->v);
    q->head = 0;
    q->n = waiting;
    return 0;
  }
  if (q->cap > SIZE_MAX / (2 * sizeof *q->v)) return -1;
  size_t cap = q->cap == 0 ? QUEUE_MIN : q->cap * 2;
  struct event *v = mem_realloc(q->m, q->v, q->cap * sizeof *v, cap * sizeof *v);
  if (v == NULL) return -1;
  q->v = v;
  q->cap = cap;
  return 0;
}

struct event *events_push(struct events *q, enum event_type type, int32_t key) {
  if (q->n == q->cap && make_room(q) < 0) return NULL;
  struct event *ev = &q->v[q->n++];
  ev->type = type;
  ev->flags = 0;
  ev->key = key;
  ev->stop = STOP_NONE;
  if (type == PART_USAGE) usage_clear(&ev->usage);
  else ev->text = ev->id = ev->name = STR_NONE;
  return ev;
}

/* Forgets the waiting events; keeps the array. */
void events_clear(struct events *q) {
  q->head = q->n = 0;
}

/* All counts unknown. */
void usage_clear(struct usage *u) {
  *u = (struct usage){ -1, -1, -1, -1, -1, -1, -1, NULL };
}

static const char *const STOPS[] = {
  [STOP_NONE] = "",
  [STOP_END_TURN] = "end_turn",
  [STOP_TOOL_USE] = "tool_use",
  [STOP_MAX_TOKENS] = "max_tokens",
  [STOP_SEQUENCE] = "stop_sequence",
  [STOP_PAUSE_TURN] = "pause_turn",
  [STOP_REFUSAL] = "refusal",
  [STOP_SENSITIVE] = "sensitive",
  [STOP_CONTEXT_OVERFLOW] = "context_overflow",
  [STOP_ERROR] = "error",
};

/* The canonical stop reason; NULL for STOP_NONE. */
const char *stop_name(enum stop s) {
  return s == STOP_NONE ? NULL : STOPS[s];
}

enum stop stop_by_name(struct str name) {
  for (int s = STOP_END_TURN; s <= STOP_ERROR; s++) {
    if (str_is(name, STOPS[s], strlen(STOPS[s]))) return (enum stop)s;
  }
  return STOP_NONE;
}

static const struct delta_form DELTAS[EV_COUNT] = {
  [EV_TEXT_START] = { "text_start", BLOCK_TEXT, NULL, NULL, NULL },
  [EV_TEXT_DELTA] = { "text_delta", BLOCK_TEXT, NULL, NULL, "text" },
  [EV_TEXT_END] = { "text_end", BLOCK_TEXT, NULL, NULL, NULL },
  [EV_THINKING_START] = { "thinking_start", BLOCK_THINKING, NULL, NULL, NULL },
  [EV_THINKING_DELTA] = { "thinking_delta", BLOCK_THINKING, NULL, NULL, "text" },
  [EV_THINKING_END] = { "thinking_end", BLOCK_THINKING, NULL, NULL, NULL },
  [EV_TOOL_START] = { "tool_use_start", BLOCK_TOOL, "tool_call_id", "tool_name", NULL },
  [EV_TOOL_DELTA] = { "tool_use_delta", BLOCK_TOOL, "tool_call_id", NULL, "argument_delta" },
  [EV_TOOL_END] = { "tool_use_end", BLOCK_TOOL, "tool_call_id", NULL, NULL },
};

/* The form of a delta; NULL for parts, which users never see. */
const struct delta_form *event_form(enum event_type t) {
  return t >= EV_COUNT || DELTAS[t].name == NULL ? NULL : &DELTAS[t];
}
