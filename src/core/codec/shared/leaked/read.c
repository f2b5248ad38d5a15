/*
** read.c: the calls in the text that was kept back, read in one pass from left to right; every search for a tag
** remembers what it found, so that the pass stays linear. See leaked.h.
** All it makes lies in the caller's arena. Failure: -1, out of memory.
*/
#include "private.h"

/* {{{ the reader */

/* The tags that are searched for, each with the place where it was found last. */
enum tag {
  PARAMETER, PARAMETER_END, INVOKE, INVOKE_END, CALL, CALL_END, MINIMAX, MINIMAX_END,
  THOUGHT_ENDS, TAG_COUNT = THOUGHT_ENDS + THOUGHT_COUNT
};

static const char *const TAGS[] = {
  "<parameter name=", "</parameter>", "<invoke name=", "</invoke>", "<tool_call>", "</tool_call>",
  "<minimax:tool_call>", "</minimax:tool_call>"
};

/* A stretch of the text that is not shown. */
struct gap {
  size_t begin, end;
  struct gap *next;
};

/* Calls of one family, in order. */
struct chain {
  struct leaked_call *first, *last;
};

struct reader {
  struct arena *a;
  const struct mem *m;
  const struct node *names;
  int depth, cut, failed;      /* failed: out of memory */
  struct str s;                /* the text, without tokens */
  size_t found[TAG_COUNT];     /* the first such tag at or behind the place of the last search */
  struct gap *gaps, *last_gap;
  struct chain invokes, objects, lists;
};

static const char *tag_text(int tag) {
  return tag < THOUGHT_ENDS ? TAGS[tag] : leaked_thoughts[tag - THOUGHT_ENDS].close;
}

/* Where the tag stands first at or behind i; the text's end when nowhere. Places only grow between two calls. */
static size_t find(struct reader *r, int tag, size_t i) {
  size_t at = r->found[tag] > i ? r->found[tag] : i;
  while (at < r->s.n && leaked_fits(from(r->s, at), tag_text(tag)) != FIT_WHOLE) {
    const char *p = memchr(r->s.p + at + 1, '<', r->s.n - at - 1);
    at = p != NULL ? (size_t)(p - r->s.p) : r->s.n;
  }
  return r->found[tag] = at;
}

static int stands(const struct reader *r, int tag, size_t i) {
  return leaked_fits(from(r->s, i), tag_text(tag)) == FIT_WHOLE;
}

static size_t least(size_t a, size_t b) {
  return a < b ? a : b;
}

static size_t skip_space(struct str s, size_t i) {
  while (i < s.n && is_space(s.p[i])) i++;
  return i;
}

static struct str trim(struct str s, int left) {
  while (s.n > 0 && is_space(s.p[s.n - 1])) s.n--;
  return left ? from(s, skip_space(s, 0)) : s;
}

/* Takes [begin, end) out of the text. */
static void cut_out(struct reader *r, size_t begin, size_t end) {
  struct gap *g = arena_zero(r->a, sizeof *g);
  if (g == NULL) { r->failed = 1; return; }
  g->begin = begin;
  g->end = end;
  if (r->last_gap != NULL) r->last_gap->next = g;
  else r->gaps = g;
  r->last_gap = g;
}

static int offered(const struct reader *r, struct str name) {
  for (const struct node *v = r->names->child; v != NULL; v = v->next)
    if (node_is(v, NODE_STRING) && str_same(v->s, name)) return 1;
  return 0;
}

/* Adds a call of a tool that was offered: 1; 0: it was not. */
static int add_call(struct reader *r, struct chain *c, struct str name, struct str arguments) {
  struct leaked_call *call;
  if (!offered(r, name)) return 0;
  call = arena_zero(r->a, sizeof *call);
  if (call == NULL) { r->failed = 1; return 0; }
  call->name = name;
  call->arguments = arguments;
  if (c->last != NULL) c->last->next = call;
  else c->first = call;
  c->last = call;
  return 1;
}

/* }}} */

/* {{{ <invoke> */

/* A tag's name="…" (also '…' or bare), *i behind the '='. Sets *i behind the tag's '>': 1; 0: it is no tag. */
static int read_name(const struct reader *r, size_t *i, struct str *name) {
  struct str s = r->s;
  size_t begin = *i, end;
  char quote = begin < s.n && (s.p[begin] == '"' || s.p[begin] == '\'') ? s.p[begin] : '>';
  if (quote != '>') begin++;
  for (end = begin; end < s.n && s.p[end] != quote; end++)
    if (s.p[end] == '<' || s.p[end] == '>' || s.p[end] == '\n') return 0;
  *name = trim((struct str){ s.p + begin, end - begin }, 1);
  if (quote != '>' && end < s.n) end = skip_space(s, end + 1);
  if (name->n == 0 || end == s.n || s.p[end] != '>') return 0;
  *i = end + 1;
  return 1;
}

static int is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
}

/* <k>, *i standing on it: as read_name. */
static int read_bare(const struct reader *r, size_t *i, struct str *name) {
  struct str s = r->s;
  size_t end = *i + 1;
  while (end < s.n && is_name(s.p[end])) end++;
  *name = (struct str){ s.p + *i + 1, end - *i - 1 };
  if (name->n == 0 || end == s.n || s.p[end] != '>') return 0;
  *i = end + 1;
  return 1;
}

/* Where </k> stands in [i, stop); stop when nowhere. */
static size_t find_bare_end(const struct reader *r, struct str name, size_t i, size_t stop) {
  const char *s = r->s.p;
  while (i < stop) {
    const char *p = memchr(s + i, '<', stop - i);
    if (p == NULL) return stop;
    i = (size_t)(p - s);
    if (stop - i >= name.n + 3 && p[1] == '/' && memcmp(p + 2, name.p, name.n) == 0 && p[name.n + 2] == '>') return i;
    i++;
  }
  return stop;
}

/* Where a value that nobody closes ends: before the next tag of a call. */
static size_t open_end(struct reader *r, size_t i) {
  size_t calls = least(find(r, INVOKE, i), find(r, INVOKE_END, i));
  return least(least(calls, find(r, PARAMETER, i)), least(find(r, CALL_END, i), find(r, MINIMAX_END, i)));
}

/* The value that begins at i; returns where it is over, its closing tag included. bare: the <k> it stands in. A value
** of <parameter> may hold anything but the beginning of another parameter or call. */
static size_t read_value(struct reader *r, size_t i, struct str bare, struct str *value) {
  size_t end, behind, stop = open_end(r, i);
  if (bare.n > 0) {
    end = find_bare_end(r, bare, i, stop);
    behind = end + bare.n + 3;
  } else {
    end = find(r, PARAMETER_END, i);
    behind = end + strlen(TAGS[PARAMETER_END]);
    if (end == r->s.n || end > least(find(r, PARAMETER, i), find(r, INVOKE, i))) end = stop;
  }
  *value = (struct str){ r->s.p + i, end - i };
  if (end != stop) return behind;
  *value = trim(*value, 0);
  return stop;
}

/* "k":"v" */
static int put_member(struct buf *b, struct str key, struct str value) {
  return (b->n > 1 && buf_addc(b, ',') != 0) || json_write_string(b, key) != 0 || buf_addc(b, ':') != 0 ||
         json_write_string(b, value) != 0;
}

/* The children of <invoke>, from i on, as the members of an object; returns where the call ends. *open: nowhere. */
static size_t read_children(struct reader *r, size_t i, struct buf *b, int *open) {
  *open = 0;
  while (i < r->s.n) {
    const char *p = memchr(r->s.p + i, '<', r->s.n - i);
    struct str key, value, bare = STR_NONE;
    if (p == NULL) break;
    i = (size_t)(p - r->s.p);
    if (stands(r, INVOKE_END, i)) return i + strlen(TAGS[INVOKE_END]);
    if (stands(r, INVOKE, i) || stands(r, CALL_END, i) || stands(r, MINIMAX_END, i)) return i;
    if (stands(r, PARAMETER, i)) {
      i += strlen(TAGS[PARAMETER]);
      if (!read_name(r, &i, &key)) continue;
    } else if (read_bare(r, &i, &key)) {
      bare = key;
    } else {
      i++;
      continue;
    }
    i = read_value(r, i, bare, &value);
    if (put_member(b, key, value) != 0) r->failed = 1;
  }
  *open = 1;
  return r->s.n;
}

/* <invoke name="f">…, at i: returns where it ends. */
static size_t read_invoke(struct reader *r, size_t i) {
  size_t begin = i, end;
  struct str name, arguments;
  struct buf b;
  int open;
  i += strlen(TAGS[INVOKE]);
  if (!read_name(r, &i, &name)) return begin + 1;
  buf_init(&b, r->m);
  if (buf_addc(&b, '{') != 0) r->failed = 1;
  end = read_children(r, i, &b, &open);
  if (!(open && r->cut) && buf_addc(&b, '}') != 0) r->failed = 1;
  arguments = r->failed ? STR_NONE : arena_dup(r->a, buf_str(&b));
  buf_free(&b);
  if (arguments.p == NULL) r->failed = 1;
  else if (add_call(r, &r->invokes, name, arguments)) cut_out(r, begin, end);
  return end;
}

/* }}} */

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
  i += strlen(TAGS[CALL]);
  json_open(&j, from(r->s, i), r->depth, &e);
  if (json_next(&j) == J_OBJECT && read_object(r, &j, &name, &arguments)) {
    end = skip_space(r->s, (size_t)(j.p - r->s.p));
    if (stands(r, CALL_END, end)) end += strlen(TAGS[CALL_END]);
    else if (end < r->s.n && !stands(r, CALL, end)) return end;
    if (add_call(r, &r->objects, name, arguments)) cut_out(r, begin, end);
    return end;
  }
  cut_out(r, begin, i);
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
    all &= add_call(r, &calls, name, arguments);
  }
  if (t != J_ARRAY_END) {
    if (r->lists.last != NULL) r->lists.last->next = NULL;
    return i;
  }
  r->lists = calls;
  i = (size_t)(j.p - r->s.p);
  if (all) cut_out(r, begin, i);
  return i;
}

/* }}} */

/* {{{ the text kept back */

/* A thought that begins at i: returns where it ends; 0 when none does. One without an end holds all that follows. */
static size_t skip_thought(struct reader *r, size_t i) {
  for (int k = 0; k < THOUGHT_COUNT; k++) {
    size_t end;
    if (leaked_fits(from(r->s, i), leaked_thoughts[k].open) != FIT_WHOLE) continue;
    end = find(r, THOUGHT_ENDS + k, i);
    if (end == r->s.n) return end;
    end += strlen(leaked_thoughts[k].close);
    cut_out(r, i, end);
    return end;
  }
  return 0;
}

/* A tag round calls that stands alone at i: returns where it ends; 0 when none does. */
static size_t skip_wrapper(struct reader *r, size_t i) {
  static const int WRAPPERS[] = { CALL, CALL_END, MINIMAX, MINIMAX_END, INVOKE_END };
  for (size_t k = 0; k < sizeof WRAPPERS / sizeof WRAPPERS[0]; k++) {
    size_t end = i + strlen(TAGS[WRAPPERS[k]]);
    if (!stands(r, WRAPPERS[k], i)) continue;
    cut_out(r, i, end);
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
    else if (!lists && stands(r, INVOKE, i)) i = read_invoke(r, i);
    else if (!lists && stands(r, CALL, i)) i = read_call(r, i);
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

/* What is left between the gaps. */
static struct str remainder_of(struct reader *r) {
  char *p = arena_alloc(r->a, r->s.n + 1);
  size_t n = 0, at = 0;
  if (p == NULL) { r->failed = 1; return STR_NONE; }
  for (const struct gap *g = r->gaps; g != NULL; at = g->end, g = g->next) {
    memcpy(p + n, r->s.p + at, g->begin - at);
    n += g->begin - at;
  }
  memcpy(p + n, r->s.p + at, r->s.n - at);
  return (struct str){ p, n + r->s.n - at };
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
  if (*calls != NULL && !r.failed) *text = trim(remainder_of(&r), !k->said);
  return r.failed ? -1 : 0;
}

/* }}} */
