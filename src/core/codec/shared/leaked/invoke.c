/*
** invoke.c: reads <invoke name="f"> and its children, <parameter name="k"> or <k>, into a call. See leaked.h.
** The arguments lie in the reader's arena. Failure: `failed` in the reader, out of memory.
*/
#include "reader.h"

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

static size_t least(size_t a, size_t b) {
  return a < b ? a : b;
}

/* Where a value without a closing tag ends: before the next tag of a call. */
static size_t open_end(struct reader *r, size_t i) {
  size_t calls = least(reader_find(r, INVOKE, i), reader_find(r, INVOKE_END, i));
  size_t ends = least(reader_find(r, CALL_END, i), reader_find(r, MINIMAX_END, i));
  return least(least(calls, reader_find(r, PARAMETER, i)), ends);
}

/* The value that begins at i; returns where it is over, its closing tag included. bare: the <k> it stands in. A value
** of <parameter> may hold anything but the beginning of another parameter or call. */
static size_t read_value(struct reader *r, size_t i, struct str bare, struct str *value) {
  size_t end, behind, stop = open_end(r, i);
  if (bare.n > 0) {
    end = find_bare_end(r, bare, i, stop);
    behind = end + bare.n + 3;
  } else {
    end = reader_find(r, PARAMETER_END, i);
    behind = end + reader_tag_size(PARAMETER_END);
    if (end == r->s.n || end > least(reader_find(r, PARAMETER, i), reader_find(r, INVOKE, i))) end = stop;
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
    if (reader_at(r, INVOKE_END, i)) return i + reader_tag_size(INVOKE_END);
    if (reader_at(r, INVOKE, i) || reader_at(r, CALL_END, i) || reader_at(r, MINIMAX_END, i)) return i;
    if (reader_at(r, PARAMETER, i)) {
      i += reader_tag_size(PARAMETER);
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

size_t reader_invoke(struct reader *r, size_t i) {
  size_t begin = i, end;
  struct str name, arguments;
  struct buf b;
  int open;
  i += reader_tag_size(INVOKE);
  if (!read_name(r, &i, &name)) return begin + 1;
  buf_init(&b, r->m);
  if (buf_addc(&b, '{') != 0) r->failed = 1;
  end = read_children(r, i, &b, &open);
  if (!(open && r->cut) && buf_addc(&b, '}') != 0) r->failed = 1;
  arguments = r->failed ? STR_NONE : arena_dup(r->a, buf_str(&b));
  buf_free(&b);
  if (arguments.p == NULL) r->failed = 1;
  else if (reader_add(r, &r->invokes, name, arguments)) reader_cut(r, begin, end);
  return end;
}
