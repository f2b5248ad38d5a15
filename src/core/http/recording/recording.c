/*
** recording.c: answers as they came. See recording.h.
*/
#include "recording.h"

#define MERGED 0.001 /* seconds */

struct recording *recording_new(const struct mem *m) {
  struct recording *r = mem_alloc(m, sizeof *r);
  if (r == NULL) return NULL;
  *r = (struct recording){ .m = m, .holders = 1 };
  buf_init(&r->head, m);
  buf_init(&r->body, m);
  err_clear(&r->failure);
  return r;
}

struct recording *recording_hold(struct recording *r) {
  if (r != NULL) r->holders++;
  return r;
}

void recording_free(struct recording *r) {
  if (r == NULL || --r->holders > 0) return;
  buf_free(&r->head);
  buf_free(&r->body);
  mem_free(r->m, r->pieces, r->piece_cap * sizeof *r->pieces);
  mem_free(r->m, r, sizeof *r);
}

int recording_head(struct recording *r, int status, struct str head, size_t header_count) {
  r->head.n = 0;
  if (buf_addstr(&r->head, head) < 0) return -1;
  r->header_count = header_count;
  r->status = status;
  return 0;
}

int recording_header(struct recording *r, struct str name, struct str value) {
  if (buf_reserve(&r->head, name.n + value.n + 2) < 0) return -1;
  buf_addstr(&r->head, name);
  buf_addc(&r->head, '\0');
  buf_addstr(&r->head, value);
  buf_addc(&r->head, '\0');
  r->header_count++;
  return 0;
}

int recording_piece(struct recording *r, double at, size_t n) {
  struct recording_piece *v = mem_grow(r->m, r->pieces, r->piece_n, &r->piece_cap, sizeof *v);
  if (v == NULL) return -1;
  r->pieces = v;
  v[r->piece_n++] = (struct recording_piece){ at, n };
  return 0;
}

int recording_add(struct recording *r, double at, const char *p, size_t n) {
  struct recording_piece *last = r->piece_n == 0 ? NULL : &r->pieces[r->piece_n - 1];
  if (buf_reserve(&r->body, n) < 0) return -1;
  if (last != NULL && at - last->at < MERGED) last->n += n;
  else if (recording_piece(r, at, n) < 0) return -1;
  return buf_add(&r->body, p, n);
}

void recording_drop(struct recording *r, size_t n) {
  if (n > r->body.n) n = r->body.n;
  if (n < r->body.n) memmove(r->body.p, r->body.p + n, r->body.n - n);
  r->body.n -= n;
  r->piece_n = 0;
}

double recording_next(const struct recording *r, size_t piece) {
  return piece < r->piece_n ? r->pieces[piece].at : r->end_at;
}

void recording_end(struct recording *r, double at, const struct err *failure, int left) {
  if (r->over) return;
  r->over = 1;
  r->left = left != 0;
  r->end_at = at;
  if (failure != NULL) r->failure = *failure;
}
