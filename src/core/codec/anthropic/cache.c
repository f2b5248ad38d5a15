/*
** cache.c: cache breakpoints (N15). A marker asks the provider to cache all up to and including its
** block, in the order tools, system, messages. There may be four: the oldest on messages give way.
** Works in place on the request's private tree. Failure: -1 and an err.
*/
#include "anthropic.h"

#define MARKERS_MAX 4
#define LEAP_FROM 20  /* a history longer than this gets a second marker, */
#define LEAP 15       /* this many blocks before its end */

/* The members of a request that are being marked. */
struct marking {
  struct arena *a;
  struct node *tools, *system;     /* may be NULL */
  struct node **block;             /* all blocks of all messages */
  size_t n, marked;                /* marked: so many have a marker of the caller's */
  struct node *own[MARKERS_MAX];   /* the markers placed here, not by the caller */
  size_t owned;
};

static struct node *marker_of(const struct node *v) { return node_get(v, "cache_control"); }

static int lasts_an_hour(const struct node *marker) { return str_eq(node_str(node_get(marker, "ttl")), "1h"); }

/* Marks v unless it is marked. */
static int mark(struct marking *p, struct node *v) {
  struct node *m;
  if (v == NULL || marker_of(v) != NULL || p->owned == MARKERS_MAX) return 0;
  m = node_new(p->a, NODE_OBJECT);
  if (m == NULL || node_set(m, STR("type"), node_string(p->a, STR("ephemeral"))) != 0) return -1;
  p->own[p->owned++] = m;
  return node_set(v, STR("cache_control"), m);
}

/* Counts the marked elements; what is no marker is removed. */
static size_t count_marked(struct node *list) {
  size_t n = 0;
  for (struct node *v = list != NULL ? list->child : NULL; v != NULL; v = v->next) {
    if (marker_of(v) != NULL && !node_is(marker_of(v), NODE_OBJECT)) node_remove(v, marker_of(v));
    n += marker_of(v) != NULL;
  }
  return n;
}

/* Lists the blocks of the messages; markers where none may be are removed. */
static int list_blocks(struct marking *p, const struct node *messages) {
  for (const struct node *m = messages->child; m != NULL; m = m->next) p->n += node_get(m, "content")->count;
  p->block = arena_alloc(p->a, (p->n + 1) * sizeof *p->block);
  if (p->block == NULL) return -1;
  p->n = 0;
  for (const struct node *m = messages->child; m != NULL; m = m->next)
    for (struct node *b = node_get(m, "content")->child; b != NULL; b = b->next) {
      struct node *marker = marker_of(b);
      if (marker != NULL && (!node_is(marker, NODE_OBJECT) || !anthropic_markable(b))) node_remove(b, marker);
      p->marked += marker_of(b) != NULL;
      p->block[p->n++] = b;
    }
  return 0;
}

/* The block at i, or the nearest before it that may be marked; NULL when there is none. */
static struct node *markable_at(const struct marking *p, size_t i) {
  for (i++; i-- > 0;)
    if (anthropic_markable(p->block[i])) return p->block[i];
  return NULL;
}

/* Places Koine's own markers: last tool, end of the system prompt, end of the history, and back from there. */
static int place(struct marking *p) {
  size_t fixed = count_marked(p->tools) + count_marked(p->system);
  struct node *tool = p->tools != NULL ? p->tools->last : NULL, *text = p->system != NULL ? p->system->last : NULL;
  if (tool != NULL && marker_of(tool) == NULL && fixed < MARKERS_MAX) {
    if (mark(p, tool) != 0) return -1;
    fixed++;
  }
  if (text != NULL && marker_of(text) == NULL && fixed < MARKERS_MAX && mark(p, text) != 0) return -1;
  if (p->n > 0 && mark(p, markable_at(p, p->n - 1)) != 0) return -1;
  return p->n > LEAP_FROM ? mark(p, markable_at(p, p->n - 1 - LEAP)) : 0;
}

/* Removes the oldest markers of the messages until `room` are left. */
static void evict(struct marking *p, size_t room) {
  size_t marked = 0;
  if (p->marked + p->owned <= room) return;
  for (size_t i = 0; i < p->n; i++) marked += marker_of(p->block[i]) != NULL;
  for (size_t i = 0; i < p->n && marked > room; i++) {
    if (marker_of(p->block[i]) == NULL) continue;
    node_remove(p->block[i], marker_of(p->block[i]));
    marked--;
  }
}

/* The markers that are left, in the order of the prompt. */
static size_t markers(const struct marking *p, struct node *list[MARKERS_MAX]) {
  const struct node *fixed[2] = { p->tools, p->system };
  size_t n = 0;
  for (int i = 0; i < 2; i++)
    for (struct node *v = fixed[i] != NULL ? fixed[i]->child : NULL; v != NULL && n < MARKERS_MAX; v = v->next)
      if (marker_of(v) != NULL) list[n++] = marker_of(v);
  for (size_t i = 0; i < p->n && n < MARKERS_MAX; i++)
    if (marker_of(p->block[i]) != NULL) list[n++] = marker_of(p->block[i]);
  return n;
}

static int is_own(const struct marking *p, const struct node *marker) {
  for (size_t i = 0; i < p->owned; i++)
    if (p->own[i] == marker) return 1;
  return 0;
}

/* Gives the own markers their lifetime. An hour must come before five minutes: the caller's markers decide then. */
static int settle_lifetimes(const struct marking *p, int hour) {
  struct node *list[MARKERS_MAX];
  size_t n = p->owned > 0 ? markers(p, list) : 0;
  int ended = 0; /* a marker of five minutes came already */
  for (size_t i = 0; i < n; i++) {
    int later = hour;
    if (!is_own(p, list[i])) {
      ended |= !lasts_an_hour(list[i]);
      continue;
    }
    for (size_t k = i + 1; k < n; k++) later |= lasts_an_hour(list[k]);
    if (!later || ended) ended = 1;
    else if (node_set(list[i], STR("ttl"), node_string(p->a, STR("1h"))) != 0) return -1;
  }
  return 0;
}

int anthropic_cache(struct render *r, struct node *system, struct err *e) {
  struct str retention = node_str(node_get(r->request, "cache_retention"));
  struct marking p = { .a = r->a, .tools = node_get(r->request, "tools"), .system = system };
  int asked = str_eq(retention, "short") || str_eq(retention, "long");
  size_t fixed;
  if (list_blocks(&p, node_get(r->request, "messages")) != 0 || (asked && place(&p) != 0)) return err_memory(e);
  fixed = count_marked(p.tools) + count_marked(p.system);
  if (fixed > MARKERS_MAX)
    return err_argument(e, "cache_control", "at most 4 cache breakpoints on tools and system", "more");
  evict(&p, MARKERS_MAX - fixed);
  return settle_lifetimes(&p, str_eq(retention, "long")) == 0 ? 0 : err_memory(e);
}
