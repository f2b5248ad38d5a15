/*
** read.c: the calls in the text that was kept back, read in one pass from left to right. See leaked.h.
** All it makes lies in the caller's arena. Failure: -1, out of memory.
*/
#include "reader.h"

/* {{{ JSON */

/* The value of `arguments`: a string's text, the bytes of anything else, nothing for null. 0, or -1: bad JSON. */
static int read_arguments(struct reader *r, struct json *j, struct str *out) {
  enum token t = json_next(j);
  if (t == J_STRING && json_text(j, r->a, out) != 0) r->failed = 1;
  if (t == J_STRING || t == J_NULL) return 0;
  if (t == J_ERROR || json_skip(j) != 0) return -1;
  *out = (struct str){ j->start, (size_t)(j->p - j->start) };
  return 0;
}

/* {"name": …, "arguments": …}, j behind its brace: 1, or 0 when it is no call. */
static int read_object(struct reader *r, struct json *j, struct str *name, struct str *arguments) {
  enum token t;
  *name = *arguments = STR_NONE;
  while ((t = json_next(j)) == J_KEY) {
    if (json_is(j, "arguments")) {
      if (read_arguments(r, j, arguments) != 0) return 0;
    } else if (!json_is(j, "name")) {
      if (json_skip(j) != 0) return 0;
    } else if (json_next(j) == J_STRING) {
      if (json_text(j, r->a, name) != 0) r->failed = 1;
    } else if (json_skip(j) != 0) return 0;
  }
  return t == J_OBJECT_END && name->n > 0;
}

/* <tool_call>{…}</tool_call>, at i: returns where it ends; only the tag when no object stands in it. */
static size_t read_call(struct reader *r, size_t i) {
  size_t begin = i, end;
  struct str name, arguments;
  struct json j;
  struct err e;
  i += reader_tag_size(CALL);
  json_open(&j, from(r->s, i), r->depth, &e);
  if (json_next(&j) == J_OBJECT && read_object(r, &j, &name, &arguments)) {
    end = skip_space(r->s, (size_t)(j.p - r->s.p));
    if (reader_at(r, CALL_END, end)) end += reader_tag_size(CALL_END);
    else if (end < r->s.n && !reader_at(r, CALL, end)) return end;
    if (reader_add(r, &r->objects, name, arguments)) reader_cut(r, begin, end);
    return end;
  }
  reader_cut(r, begin, i);
  return i;
}

/* [TOOL_CALLS][…], at i: returns where it ends. */
static size_t read_list(struct reader *r, size_t i) {
  size_t begin = i;
  struct chain calls = r->lists;
  struct json j;
  struct err e;
  enum token t;
  int all = 1;
  i += strlen(LEAKED_LIST);
  json_open(&j, from(r->s, i), r->depth, &e);
  if (json_next(&j) != J_ARRAY) return i;
  while ((t = json_next(&j)) == J_OBJECT) {
    struct str name, arguments;
    if (!read_object(r, &j, &name, &arguments)) break;
    all &= reader_add(r, &calls, name, arguments);
  }
  if (t != J_ARRAY_END) {
    if (r->lists.last != NULL) r->lists.last->next = NULL;
    return i;
  }
  r->lists = calls;
  i = (size_t)(j.p - r->s.p);
  if (all) reader_cut(r, begin, i);
  return i;
}

/* }}} */

/* {{{ the text kept back */

/* A thought that begins at i: returns where it ends; 0 when none does. One without an end holds all that follows. */
static size_t skip_thought(struct reader *r, size_t i) {
  for (int k = 0; k < THOUGHT_COUNT; k++) {
    size_t end;
    if (leaked_fits(from(r->s, i), leaked_thoughts[k].open) != FIT_WHOLE) continue;
    end = reader_find(r, THOUGHT_ENDS + k, i);
    if (end == r->s.n) return end;
    end += strlen(leaked_thoughts[k].close);
    reader_cut(r, i, end);
    return end;
  }
  return 0;
}

/* A tag round calls that stands alone at i: returns where it ends; 0 when none does. */
static size_t skip_wrapper(struct reader *r, size_t i) {
  static const int WRAPPERS[] = { CALL, CALL_END, MINIMAX, MINIMAX_END, INVOKE_END };
  for (size_t k = 0; k < sizeof WRAPPERS / sizeof WRAPPERS[0]; k++) {
    size_t end = i + reader_tag_size(WRAPPERS[k]);
    if (!reader_at(r, WRAPPERS[k], i)) continue;
    reader_cut(r, i, end);
    return end;
  }
  return 0;
}

/* One pass over the text: for <invoke> and <tool_call>, or for lists. */
static void walk(struct reader *r, int lists) {
  size_t i = 0, end;
  r->gaps = r->last_gap = NULL;
  memset(r->found, 0, sizeof r->found);
  while (i < r->s.n && !r->failed) {
    char c = r->s.p[i];
    if (c == '[' && lists && leaked_fits(from(r->s, i), LEAKED_LIST) == FIT_WHOLE) i = read_list(r, i);
    else if (c != '<') i++;
    else if ((end = skip_thought(r, i)) != 0) i = end;
    else if (!lists && reader_at(r, INVOKE, i)) i = reader_invoke(r, i);
    else if (!lists && reader_at(r, CALL, i)) i = read_call(r, i);
    else if ((end = skip_wrapper(r, i)) != 0) i = end;
    else i++;
  }
}

/* The text kept back without MiniMax's tokens, in the arena; p NULL: memory. */
static struct str without_tokens(struct leaked *k, struct arena *a) {
  struct str s = arena_dup(a, buf_str(&k->held));
  char *p = (char *)s.p;
  size_t n = 0;
  if (p == NULL) return s;
  s.n = json_join_surrogates(p, s.n);
  for (size_t i = 0; i < s.n;) {
    if (p[i] == LEAKED_TOKEN[0] && leaked_fits(from(s, i), LEAKED_TOKEN) == FIT_WHOLE) i += strlen(LEAKED_TOKEN);
    else p[n++] = p[i++];
  }
  s.n = n;
  return s;
}

int leaked_recover(struct leaked *k, struct arena *a, const struct node *names, int depth, int cut,
                   struct leaked_call **calls, struct str *text) {
  struct reader r;
  *calls = NULL;
  *text = STR_NONE;
  if (!k->found) return 0;
  memset(&r, 0, sizeof r);
  r.a = a;
  r.m = k->held.m;
  r.names = names;
  r.depth = depth;
  r.cut = cut;
  r.s = without_tokens(k, a);
  if (r.s.p == NULL) return -1;
  walk(&r, 0);
  if (r.invokes.last != NULL) r.invokes.last->next = r.objects.first;
  *calls = r.invokes.first != NULL ? r.invokes.first : r.objects.first;
  if (*calls == NULL && !r.failed) {
    walk(&r, 1);
    *calls = r.lists.first;
  }
  if (*calls != NULL && !r.failed) *text = trim(reader_remainder(&r), !k->said);
  return r.failed ? -1 : 0;
}

/* }}} */
