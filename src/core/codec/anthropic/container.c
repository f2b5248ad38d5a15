/*
** container.c: the container in which the provider runs code. Its id comes with an answer, lies with the origin of one
** of the answer's blocks, and goes out with the next request to the same provider, model and wire.
** Owns nothing. Failure: -1 and an err, or kept in the writer.
*/
#include "anthropic.h"
#include "core/base/clock.h"

#include <time.h>

/* The last container in what N13 left of the history, or NULL. */
static const struct node *last_of(const struct node *messages) {
  const struct node *found = NULL;
  for (const struct node *m = messages->child; m != NULL; m = m->next)
    for (const struct node *b = node_get(m, "content")->child; b != NULL; b = b->next) {
      const struct node *container = node_get(node_get(b, "provider_data"), "container");
      if (node_str(node_get(container, "id")).n > 0) found = container;
    }
  return found;
}

/* True when the date, as in 2026-01-31T12:00:00Z, is over. */
static int is_past(struct str date) {
  char now[sizeof "2026-01-31T12:00:00"];
  time_t seconds = (time_t)clock_wall();
  struct tm tm;
  if (date.n < sizeof now - 1 || gmtime_r(&seconds, &tm) == NULL) return 0;
  return strftime(now, sizeof now, "%Y-%m-%dT%H:%M:%S", &tm) > 0 && memcmp(date.p, now, sizeof now - 1) < 0;
}

int anthropic_container(struct render *r, struct str *id, struct err *e) {
  struct node *extra = node_get(r->request, "extra"), *given = node_get(extra, "container");
  const struct node *container = last_of(node_get(r->request, "messages"));
  *id = STR_NONE;
  if (container == NULL || (given != NULL && (!node_is(given, NODE_OBJECT) || node_get(given, "id") != NULL))) return 0;
  if (node_get(r->request, "no_container") != NULL)
    return codec_warn(r->a, r->warnings, "container_dropped", "messages",
                      "the provider does not have the container of earlier messages any more: left out") == 0
               ? 0 : err_memory(e);
  r->remedies |= REMEDY_CONTAINER;
  if (is_past(node_str(node_get(container, "expires_at")))) r->remedies |= REMEDY_EXPIRED;
  if (given != NULL) /* the caller's skills go into it */
    return node_set(given, STR("id"), node_string(r->a, node_str(node_get(container, "id")))) == 0 ? 0 : err_memory(e);
  *id = node_str(node_get(container, "id"));
  return 0;
}

int anthropic_push_container(struct anthropic *s, struct str json, struct events *out, struct err *e) {
  struct event *ev;
  struct json j;
  int named = 0;
  if (json.n == 0 || json.p[0] != '{') return 0; /* null, mostly */
  json_open(&j, json, s->p->limits->depth, e);
  (void)json_next(&j);
  while (json_next(&j) == J_KEY) {
    if (json_is(&j, "id") && json_next(&j) == J_STRING) named = j.text.n > 0;
    else if (json_skip(&j) != 0) return -1;
  }
  if (j.tok != J_OBJECT_END) return -1;
  if (!named) return 0;
  if ((ev = events_push(out, PART_CONTAINER, 0)) == NULL) return err_memory(e);
  ev->text = json;
  return 0;
}
