/*
** ids.c: tool ids as a wire accepts them (N7), and the names in calls (N18). An id that is fine and not yet
** taken stays as it is; every other one becomes a name made of it. Names depend only on the calls before, so a longer
** history keeps them.
** Everything lies in the history's arena. Failure: -1 (memory).
*/
#include <stdio.h>

#include "rules.h"

static int alnum(char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }
/* True for a letter, a digit, _, -, and what is among `more`. */
static int fits(char c, const char *more) {
  return alnum(c) || c == '_' || c == '-' || (c != '\0' && strchr(more, c) != NULL);
}
static int continues(char c) { return ((unsigned char)c & 0xC0) == 0x80; }

/* The ids given out so far: open addressing, at most half full. */
struct taken {
  struct slot {
    struct str id; /* empty = free */
    unsigned k;    /* how many names were tried for this id */
  } *slot;
  size_t mask;
};

static int taken_make(struct taken *t, struct arena *a, size_t ids) {
  size_t size = 8;
  while (size < 2 * ids) size *= 2;
  t->slot = arena_zero(a, size * sizeof *t->slot);
  t->mask = size - 1;
  return t->slot == NULL ? -1 : 0;
}

/* The slot of the id, which is not empty, or the free one where it belongs. */
static struct slot *taken_find(struct taken *t, struct str id) {
  size_t i = (size_t)rules_hash(id) & t->mask;
  while (t->slot[i].id.n > 0 && !str_same(t->slot[i].id, id)) i = (i + 1) & t->mask;
  return &t->slot[i];
}

/* {{{ names; p is NULL when out of memory */

/* s shortened so that `tail` behind it still fits into max bytes (0 = any length), then the tail. */
static struct str with_tail(struct arena *a, struct str s, const char *tail, size_t max) {
  size_t n = strlen(tail), keep = s.n;
  char *p;
  if (max > 0 && n > max) n = max;
  if (max > 0 && keep > max - n) {
    keep = max - n;
    while (keep > 0 && continues(s.p[keep])) keep--;
  }
  p = arena_alloc(a, keep + n + 1);
  if (p == NULL) return STR_NONE;
  memcpy(p, s.p, keep);
  memcpy(p + keep, tail, n);
  return (struct str){ p, keep + n };
}

/* The id with each character outside [A-Za-z0-9_-] and `more` replaced by "_"; the same bytes when there is none. */
static struct str word(struct arena *a, struct str id, const char *more) {
  size_t i, n = 0;
  char *s;
  for (i = 0; i < id.n && fits(id.p[i], more); i++) continue;
  if (i == id.n) return id;
  s = arena_alloc(a, id.n);
  if (s == NULL) return STR_NONE;
  for (i = 0; i < id.n; i++)
    if (fits(id.p[i], more)) s[n++] = id.p[i];
    else if (i == 0 || !continues(id.p[i])) s[n++] = '_';
  return (struct str){ s, n };
}

/* Words: made of allowed characters (more NULL: of any); too long a one ends in a hash of the whole. */
static struct str name_word(struct arena *a, struct str id, const struct norm *n, const char *more) {
  struct str s = id.n == 0 ? STR("tool_0") : more == NULL ? id : word(a, id, more);
  char tail[24];
  if (s.p == NULL || n->id_max == 0 || s.n <= n->id_max) return s;
  (void)snprintf(tail, sizeof tail, "_%016llx", rules_hash(id));
  return with_tail(a, s, tail, n->id_max);
}

/* The k-th word for a name that is taken. A limit too small for the number gives way: distinct ids matter more. */
static struct str next_word(struct arena *a, struct str base, unsigned k, size_t max) {
  char tail[16];
  int n = snprintf(tail, sizeof tail, "_%u", k);
  return with_tail(a, base, tail, max > 0 && max < (size_t)n ? (size_t)n : max);
}

/* Nine letters and digits of a hash. */
static struct str nine_of(struct arena *a, unsigned long long h) {
  static const char DIGIT[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  char s[9];
  for (int i = 0; i < 9; i++, h /= 62) s[i] = DIGIT[h % 62];
  return arena_dup(a, (struct str){ s, sizeof s });
}

static struct str name_nine(struct arena *a, struct str id) {
  size_t good = 0;
  while (good < id.n && alnum(id.p[good])) good++;
  return id.n == 9 && good == 9 ? id : nine_of(a, rules_hash(id));
}

/* A name for the id that no call has yet, taken. */
static struct str name(struct arena *a, struct taken *t, struct str id, const struct norm *n) {
  int nine = n->id_chars != NULL && strcmp(n->id_chars, "alnum9") == 0;
  const char *more = n->id_chars != NULL && strncmp(n->id_chars, "word-", 5) == 0 ? n->id_chars + 5 : NULL;
  struct str base = nine ? name_nine(a, id) : name_word(a, id, n, more), s = base;
  struct slot *first, *slot;
  if (base.p == NULL) return base;
  for (first = slot = taken_find(t, base); slot->id.n > 0; slot = taken_find(t, s)) {
    unsigned k = ++first->k + 1;
    s = nine ? nine_of(a, rules_hash(base) + k * 0x9E3779B97F4A7C15u) : next_word(a, base, k, n->id_max);
    if (s.p == NULL) return s;
  }
  slot->id = s;
  return s;
}

/* }}} */

static int rename_to(struct arena *a, struct node *block, struct str key, struct str id) {
  struct node *v = node_get_(block, key.p, key.n);
  if (node_is(v, NODE_STRING) && str_same(v->s, id)) return 0;
  return node_set(block, key, node_string(a, id));
}

/* A tool's name as every wire takes it, for a model may call a tool that was not declared (N18): its history would be refused
** for ever. */
static int rename_tool(struct arena *a, struct node *block) {
  struct str given = node_str(node_get(block, "name")), name = given.n > 0 ? word(a, given, "") : given;
  if (name.n > TOOL_NAME_MAX) name = with_tail(a, name, "", TOOL_NAME_MAX);
  if (given.n > 0 && name.p == NULL) return -1;
  return str_same(given, name) ? 0 : node_set(block, STR("name"), node_string(a, name));
}

int rules_ids(struct history *h, const struct norm *n) {
  struct taken t;
  struct tool_call *c;
  if (taken_make(&t, h->a, h->calls) != 0) return -1;
  for (c = h->first; c != NULL; c = c->next) {
    struct str id;
    if (c->block == NULL) continue;
    id = name(h->a, &t, c->id, n);
    if (id.p == NULL || rename_to(h->a, c->block, STR("id"), id) != 0 ||
        rename_to(h->a, c->result, STR("tool_use_id"), id) != 0 || rename_tool(h->a, c->block) != 0)
      return -1;
    if (n->result_names &&
        rename_to(h->a, c->result, STR("name"), node_str(node_get(c->block, "name"))) != 0) return -1;
  }
  return 0;
}
