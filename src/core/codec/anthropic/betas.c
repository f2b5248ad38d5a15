/*
** betas.c: which betas a request asks for: in a header, or in its body where the server wants them there. Each goes out
** once, lower-cased, in the caller's order.
** Scratch lies in the render's arena. Failure: -1 and an err.
*/
#include "anthropic.h"

/* A beta's name, lower-cased in the arena; p NULL: not a name (then *e), or out of memory. */
static struct str beta_name(struct writer *w, struct str s) {
  struct str name = arena_dup(w->r->a, s);
  char *p = (char *)name.p;
  if (p == NULL) { err_memory(w->e); return name; }
  for (size_t i = 0; i < s.n; i++) {
    p[i] = str_lower(p[i]);
    if (p[i] > ' ' && p[i] < 0x7F && p[i] != ',') continue;
    err_argument(w->e, "betas", "names without spaces and commas", "something else");
    return STR_NONE;
  }
  return name;
}

/* True when the comma-separated list has the name. */
static int lists(const struct buf *b, struct str name) {
  for (size_t from = 0, i = 0; i <= b->n; i++) {
    if (i < b->n && b->p[i] != ',') continue;
    if (b->n > 0 && str_same(name, (struct str){ b->p + from, i - from })) return 1;
    from = i + 1;
  }
  return 0;
}

/* Adds a name to the list unless it is there. 0, or -1 and the err. */
static int add_beta(struct writer *w, struct buf *b, struct str given) {
  struct str name = beta_name(w, given);
  if (name.p == NULL) return -1;
  if (name.n == 0 || lists(b, name)) return 0;
  return (b->n > 0 && buf_addc(b, ',') != 0) || buf_addstr(b, name) != 0 ? err_memory(w->e) : 0;
}

/* The comma-separated list as a field of the body. */
static void put_array(struct writer *w, struct str list) {
  writer_field(w, "anthropic_beta");
  writer_json(w, "[");
  for (size_t from = 0, i = 0; i <= list.n; i++) {
    if (i < list.n && list.p[i] != ',') continue;
    if (from > 0) writer_json(w, ",");
    writer_string(w, (struct str){ list.p + from, i - from });
    from = i + 1;
  }
  writer_json(w, "]");
}

static int put_header(struct render *r, struct str list, struct err *e) {
  struct str value = arena_dup(r->a, list);
  if (value.p != NULL && node_set(r->headers, STR("anthropic-beta"), node_string(r->a, value)) == 0) return 0;
  return err_memory(e);
}

int anthropic_put_betas(struct writer *w, int in_body) {
  struct buf b;
  int bad = 0;
  buf_init(&b, w->r->a->m);
  for (const struct node *v = children(writer_given(w, "betas")); v != NULL && bad == 0; v = v->next)
    bad = add_beta(w, &b, node_str(v));
  if (bad == 0 && b.n > 0 && in_body) put_array(w, buf_str(&b));
  else if (bad == 0 && b.n > 0) bad = put_header(w->r, buf_str(&b), w->e);
  buf_free(&b);
  return bad;
}
