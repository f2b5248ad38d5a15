/*
** pull.c: POST /api/pull as a wire format: each line of progress is a text delta that holds the line's JSON. The model is
** there when a line says success.
** Parts borrow from the data. Failure: -1 and an err.
*/
#include "ollama.h"

struct pull {
  const struct parse *p;
  int done;
};

static int pull_render(struct render *r, struct err *e) {
  struct writer w = { .r = r, .e = e };
  if (buf_adds(r->path, "/api/pull") != 0) return err_memory(e);
  writer_json(&w, "{");
  writer_field(&w, "model");
  writer_string(&w, node_str(writer_given(&w, "model")));
  writer_field(&w, "stream");
  writer_json(&w, "true}");
  return w.failed ? -1 : 0;
}

static void pull_init(void *state, const struct parse *p) { ((struct pull *)state)->p = p; }

static void pull_free(void *state) { (void)state; }

/* Whether the line says success, or an error. 0 or -1. */
static int read_line(const struct pull *s, struct str data, struct str *status, struct str *error, struct err *e) {
  struct json j;
  json_open(&j, data, s->p->limits->depth, e);
  if (json_next(&j) == J_ERROR) return -1;
  if (j.tok != J_OBJECT) return err_set(e, KIND_PROTOCOL, "a line of the answer is no JSON object");
  while (json_next(&j) == J_KEY) {
    int r = json_is(&j, "status") ? codec_word(&j, s->p->a, status)
          : json_is(&j, "error") ? codec_raw(&j, error) : json_skip(&j);
    if (r != 0) return -1;
  }
  return j.tok == J_OBJECT_END && json_next(&j) == J_EOF ? 0 : -1;
}

static int parse_event(void *state, const struct record *r, struct events *out, struct err *e) {
  struct pull *s = state;
  struct str status = STR_NONE, error = STR_NONE;
  struct event *ev;
  if (s->done) return 0;
  if (read_line(s, r->data, &status, &error, e) != 0) return -1;
  if (error.n > 0) {
    ollama_read_error(s->p->a, 200, STR_NONE, r->data, e);
    return -1;
  }
  if ((ev = events_push(out, PART_TEXT, 0)) == NULL) return err_memory(e);
  ev->text = r->data;
  if (!str_eq(status, "success")) return 0;
  s->done = 1;
  return events_push(out, PART_DONE, 0) == NULL ? err_memory(e) : 0;
}

static int pull_parse_record(void *state, const struct record *r, struct events *out, struct err *e) {
  const struct pull *s = state;
  return codec_record(s->p, r, parse_event, state, out, e);
}

static int pull_parse_body(void *state, struct str body, struct events *out, struct err *e) {
  const struct record r = { .data = body };
  if (parse_event(state, &r, out, e) != 0) return -1;
  return ((struct pull *)state)->done ? 0 : err_set(e, KIND_PROTOCOL, "the provider's answer does not say success");
}

static int pull_parse_end(void *state, struct events *out, struct err *e) {
  struct event *ev = events_push(out, PART_STOP, 0);
  (void)state;
  if (ev == NULL) return err_memory(e);
  ev->stop = STOP_END_TURN;
  return 0;
}

static int pull_ended(const void *state) { return ((const struct pull *)state)->done; }

static const char *const SENT[] = { NULL };

const struct codec codec_ollama_pull = {
  .name = "ollama_pull",
  .state_size = sizeof(struct pull),
  .framing = &framing_ndjson,
  .options = SENT,
  .render = pull_render,
  .init = pull_init,
  .free = pull_free,
  .parse_record = pull_parse_record,
  .parse_body = pull_parse_body,
  .parse_end = pull_parse_end,
  .ended = pull_ended,
  .read_error = ollama_read_error,
};
