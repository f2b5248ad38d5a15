/*
** write.c: trees to compact JSON, the same bytes for the same tree every time.
** Appends to the caller's buffer; scratch for sorting comes from the buffer's allocator and is given back at once.
** Failure: -1 and an err; the buffer is as long as before.
*/
#include "json.h"
#include "scan.h"

struct writer {
  struct buf *b;
  struct err *e;
  int sorted, depth;
};

static int add_escape(struct buf *b, unsigned char c) {
  static const char hex[] = "0123456789abcdef";
  switch (c) {
    case '"': return buf_add(b, "\\\"", 2);
    case '\\': return buf_add(b, "\\\\", 2);
    case '\b': return buf_add(b, "\\b", 2);
    case '\f': return buf_add(b, "\\f", 2);
    case '\n': return buf_add(b, "\\n", 2);
    case '\r': return buf_add(b, "\\r", 2);
    case '\t': return buf_add(b, "\\t", 2);
    default: break;
  }
  char u[6] = { '\\', 'u', '0', '0', hex[c >> 4], hex[c & 15] };
  return buf_add(b, u, sizeof u);
}

/* The first byte in [p, end) that is not ASCII, or up to seven bytes before it. */
static const char *skip_ascii(const char *p, const char *end) {
  uint64_t w;
  for (; end - p >= 8; p += 8) {
    memcpy(&w, p, 8);
    if ((w & SCAN_HIGH) != 0) break;
  }
  return p;
}

/* The end of the valid multi-byte characters that begin at p. */
static const char *skip_wide(const char *p, const char *end) {
  while (p < end && (unsigned char)*p >= 0x80) {
    int n = utf8_length(p, end);
    if (n < 0) break;
    p += n;
  }
  return p;
}

/* The end of the text that needs no escape and no repair. */
static const char *skip_plain(const char *p, const char *end) {
  for (;;) {
    p = scan_plain(p, end);
    const char *q = skip_wide(p, end);
    if (q == p) return p;
    p = q;
  }
}

/* True when scan_plain finds nothing: the last block or word overlaps the one before it, so that no byte is looked at
** alone but in short texts. */
static int is_plain(const char *p, size_t n) {
  const char *end = p + n;
#if defined(__SSE2__)
  if (n >= 16) {
    for (; end - p >= 16; p += 16)
      if (scan_block(p) < 16) return 0;
    return scan_block(end - 16) == 16;
  }
#endif
  if (n >= 8) {
    for (; end - p >= 8; p += 8)
      if (scan_word(p) != 0) return 0;
    return scan_word(end - 8) == 0;
  }
  while (p < end && !scan_special((unsigned char)*p)) p++;
  return p == end;
}

static int add_string(struct buf *b, struct str s) {
  const char *p = s.p, *end = s.n > 0 ? s.p + s.n : s.p;
  if (buf_reserve(b, s.n + 2) < 0) return -1;
  if (s.n > 0 && is_plain(p, s.n)) { /* most are */
    char *out = b->p + b->n;
    *out = '"';
    memcpy(out + 1, p, s.n);
    out[1 + s.n] = '"';
    b->n += s.n + 2;
    return 0;
  }
  if (buf_addc(b, '"') < 0) return -1;
  while (p < end) {
    const char *run = p;
    p = skip_plain(p, end);
    if (buf_add(b, run, (size_t)(p - run)) < 0) return -1;
    if (p == end) break;
    if ((unsigned char)*p < 0x80) {
      if (add_escape(b, (unsigned char)*p++) < 0) return -1;
    } else {
      if (buf_add(b, "\xEF\xBF\xBD", 3) < 0) return -1;
      p -= utf8_length(p, end);
    }
  }
  return buf_addc(b, '"');
}

/* Appends s as a JSON string: 0, or -1 when out of memory and nothing changed. */
int json_write_string(struct buf *b, struct str s) {
  size_t before = b->n;
  if (add_string(b, s) == 0) return 0;
  b->n = before;
  return -1;
}

int json_write_text(struct buf *b, struct str json) {
  size_t before = b->n;
  const char *p = json.p, *end = json.n > 0 ? json.p + json.n : json.p;
  while (p < end) {
    const char *run = p;
    int n = 0;
    while (p < end && (n = utf8_length(p, end)) > 0) p = skip_ascii(p + n, end);
    if (buf_add(b, run, (size_t)(p - run)) < 0 || (p < end && buf_add(b, "\xEF\xBF\xBD", 3) < 0)) {
      b->n = before;
      return -1;
    }
    if (p < end) p -= n;
  }
  return 0;
}

static int write_value(struct writer *w, const struct node *v);

static int write_member(struct writer *w, const struct node *v, int first) {
  if (!first && buf_addc(w->b, ',') < 0) return err_memory(w->e);
  if (add_string(w->b, v->key) < 0 || buf_addc(w->b, ':') < 0) return err_memory(w->e);
  return write_value(w, v);
}

static int is_sorted(const struct node *object) {
  struct node *pair[2], *tmp[1];
  for (struct node *v = object->child; v != NULL && v->next != NULL; v = v->next) {
    pair[0] = v;
    pair[1] = v->next;
    node_sort(pair, tmp, 2);
    if (pair[0] != v) return 0;
  }
  return 1;
}

static int write_members_sorted(struct writer *w, const struct node *object) {
  size_t n = object->count, i = 0, size = 2 * n * sizeof(struct node *);
  struct node **v = mem_alloc(w->b->m, size);
  int r = 0;
  if (v == NULL) return err_memory(w->e);
  for (struct node *c = object->child; c != NULL; c = c->next) v[i++] = c;
  node_sort(v, v + n, n);
  for (i = 0; i < n && r == 0; i++) r = write_member(w, v[i], i == 0);
  mem_free(w->b->m, v, size);
  return r;
}

static int write_object(struct writer *w, const struct node *object) {
  if (buf_addc(w->b, '{') < 0) return err_memory(w->e);
  if (w->sorted && !is_sorted(object)) {
    if (write_members_sorted(w, object) < 0) return -1;
  } else {
    for (const struct node *v = object->child; v != NULL; v = v->next)
      if (write_member(w, v, v == object->child) < 0) return -1;
  }
  return buf_addc(w->b, '}') < 0 ? err_memory(w->e) : 0;
}

static int write_array(struct writer *w, const struct node *array) {
  if (buf_addc(w->b, '[') < 0) return err_memory(w->e);
  for (const struct node *v = array->child; v != NULL; v = v->next) {
    if (v != array->child && buf_addc(w->b, ',') < 0) return err_memory(w->e);
    if (write_value(w, v) < 0) return -1;
  }
  return buf_addc(w->b, ']') < 0 ? err_memory(w->e) : 0;
}

static int write_container(struct writer *w, const struct node *v) {
  if (w->depth == JSON_DEPTH_MAX)
    return err_set(w->e, KIND_ARGUMENT, "JSON: at most %d levels of nesting expected", JSON_DEPTH_MAX);
  w->depth++;
  int r = v->type == NODE_OBJECT ? write_object(w, v) : write_array(w, v);
  w->depth--;
  return r;
}

static int write_value(struct writer *w, const struct node *v) {
  int r = 0;
  switch (v->type) {
    case NODE_NULL: r = buf_add(w->b, "null", 4); break;
    case NODE_FALSE: r = buf_add(w->b, "false", 5); break;
    case NODE_TRUE: r = buf_add(w->b, "true", 4); break;
    case NODE_INT: r = json_write_int(w->b, v->u.i); break;
    case NODE_DOUBLE: return json_write_double(w->b, v->u.d, w->e);
    case NODE_BIG: r = buf_addstr(w->b, v->s); break;
    case NODE_STRING: r = add_string(w->b, v->s); break;
    case NODE_ARRAY: case NODE_OBJECT: return write_container(w, v);
  }
  return r < 0 ? err_memory(w->e) : 0;
}

static int write_tree(struct buf *b, const struct node *v, int sorted, struct err *e) {
  struct writer w = { b, e, sorted, 0 };
  size_t before = b->n;
  if (write_value(&w, v) == 0) return 0;
  b->n = before;
  return -1;
}

/* Appends v with members in list order: 0, or -1 and *e. */
int json_write(struct buf *b, const struct node *v, struct err *e) {
  return write_tree(b, v, 0, e);
}

/* Appends v with the members of every object sorted by key: 0, or -1 and *e. */
int json_write_sorted(struct buf *b, const struct node *v, struct err *e) {
  return write_tree(b, v, 1, e);
}
