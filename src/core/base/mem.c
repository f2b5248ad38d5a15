/*
** mem.c: the injected allocator, growing buffers and arenas.
** A buf owns its bytes, an arena its chunks; both remember the allocator by address, which must outlive them. Failure:
** NULL or -1, and nothing changed.
*/
#include <stdint.h>
#include <stdlib.h>

#include "mem.h"

static void *libc_f(void *ud, void *p, size_t osize, size_t nsize) {
  (void)ud;
  (void)osize;
  if (nsize == 0) {
    free(p);
    return NULL;
  }
  return realloc(p, nsize);
}

/* The allocator on realloc and free. */
struct mem mem_libc(void) {
  return (struct mem){ libc_f, NULL };
}

/* n > 0 fresh bytes, or NULL. */
void *mem_alloc(const struct mem *m, size_t n) {
  return m->f(m->ud, NULL, 0, n);
}

/* p resized from osize to nsize > 0 bytes, or NULL and p is as it was. */
void *mem_realloc(const struct mem *m, void *p, size_t osize, size_t nsize) {
  return m->f(m->ud, p, p == NULL ? 0 : osize, nsize);
}

/* An array with room for one more element, or NULL and v is as it was. */
void *mem_grow(const struct mem *m, void *v, size_t n, size_t *cap, size_t size) {
  size_t more = *cap == 0 ? 1 : *cap * 2;
  if (n < *cap) return v;
  if (*cap > SIZE_MAX / (2 * size)) return NULL;
  v = mem_realloc(m, v, *cap * size, more * size);
  if (v != NULL) *cap = more;
  return v;
}

/* Gives p, of n bytes, back; p may be NULL. */
void mem_free(const struct mem *m, void *p, size_t n) {
  if (p != NULL) m->f(m->ud, p, n, 0);
}

/* --- buffers --- */

#define BUF_MIN 64

/* An empty buffer; allocates nothing yet. */
void buf_init(struct buf *b, const struct mem *m) {
  *b = (struct buf){ NULL, 0, 0, m };
}

/* Gives the bytes back; the buffer is empty and usable again. */
void buf_free(struct buf *b) {
  mem_free(b->m, b->p, b->cap);
  buf_init(b, b->m);
}

/* Room for `extra` bytes behind the content, where there is not enough: 0, or -1 and nothing changed. */
int buf_widen(struct buf *b, size_t extra) {
  if (extra > SIZE_MAX / 2 - b->n) return -1;
  size_t cap = b->cap < BUF_MIN ? BUF_MIN : b->cap;
  while (cap < b->n + extra) cap = cap > SIZE_MAX / 2 ? b->n + extra : cap * 2;
  char *p = mem_realloc(b->m, b->p, b->cap, cap);
  if (p == NULL) return -1;
  b->p = p;
  b->cap = cap;
  return 0;
}

/* Appends n bytes, which must not lie in the buffer itself: 0, or -1 and nothing changed. */
int buf_add(struct buf *b, const char *p, size_t n) {
  if (n == 0) return 0;
  if (n > b->cap - b->n && buf_reserve(b, n) < 0) return -1;
  memcpy(b->p + b->n, p, n);
  b->n += n;
  return 0;
}

/* Appends a C string: 0, or -1 and nothing changed. */
int buf_adds(struct buf *b, const char *s) {
  return buf_add(b, s, strlen(s));
}

/* Appends borrowed bytes: 0, or -1 and nothing changed. */
int buf_addstr(struct buf *b, struct str s) {
  return buf_add(b, s.p, s.n);
}

/* Removes the first n bytes (all of them when there are fewer) and moves the rest down. */
void buf_drop(struct buf *b, size_t n) {
  if (n >= b->n) {
    b->n = 0;
  } else if (n > 0) {
    memmove(b->p, b->p + n, b->n - n);
    b->n -= n;
  }
}

/* Exchanges content and allocator of two buffers. */
void buf_swap(struct buf *a, struct buf *b) {
  struct buf t = *a;
  *a = *b;
  *b = t;
}

/* --- arenas --- */

#define CHUNK_MIN ((size_t)512)
#define CHUNK_MAX ((size_t)1 << 20)

/* The header of a block from the allocator; its room follows. */
struct arena_chunk {
  struct arena_chunk *older;
  size_t size; /* of the block, header included */
};

#define CHUNK_HEAD ((sizeof(struct arena_chunk) + ARENA_ALIGNMENT - 1) & ~(ARENA_ALIGNMENT - 1))

/* An empty arena; allocates nothing yet. */
void arena_init(struct arena *a, const struct mem *m) {
  *a = (struct arena){ m, NULL, NULL, NULL, 0 };
}

static struct arena_chunk *chunk_new(struct arena *a, size_t size) {
  struct arena_chunk *c = mem_alloc(a->m, size);
  if (c == NULL) return NULL;
  c->size = size;
  a->total += size;
  return c;
}

/* A chunk for one large request, put behind the head so that the head's free room stays in use. */
static void *alloc_large(struct arena *a, size_t n) {
  struct arena_chunk *c = chunk_new(a, CHUNK_HEAD + n);
  if (c == NULL) return NULL;
  c->older = a->head->older;
  a->head->older = c;
  return (char *)c + CHUNK_HEAD;
}

/* n (a multiple of ARENA_ALIGNMENT) bytes that do not fit into the head, or NULL. */
static void *alloc_chunk(struct arena *a, size_t n) {
  size_t size = a->head == NULL ? CHUNK_MIN : a->head->size * 2;
  if (size > CHUNK_MAX) size = CHUNK_MAX;
  if (a->head != NULL && CHUNK_HEAD + n > size) return alloc_large(a, n);
  if (CHUNK_HEAD + n > size) size = CHUNK_HEAD + n;
  struct arena_chunk *c = chunk_new(a, size);
  if (c == NULL) return NULL;
  c->older = a->head;
  a->head = c;
  a->next = (char *)c + CHUNK_HEAD + n;
  a->end = (char *)c + size;
  return (char *)c + CHUNK_HEAD;
}

/* n bytes that do not fit into the head, or NULL. */
void *arena_alloc_slow(struct arena *a, size_t n) {
  if (n > SIZE_MAX / 2) return NULL;
  return alloc_chunk(a, (n + (ARENA_ALIGNMENT - 1)) & ~(ARENA_ALIGNMENT - 1));
}

/* The same, zeroed. */
void *arena_zero(struct arena *a, size_t n) {
  void *p = arena_alloc(a, n);
  return p == NULL ? NULL : memset(p, 0, n);
}

/* A copy of s with a NUL behind it; p is NULL when out of memory. */
struct str arena_dup(struct arena *a, struct str s) {
  char *p = s.n == SIZE_MAX ? NULL : arena_alloc(a, s.n + 1);
  if (p == NULL) return STR_NONE;
  if (s.n > 0) memcpy(p, s.p, s.n);
  p[s.n] = '\0';
  return (struct str){ p, s.n };
}

static void free_chunks(struct arena *a, struct arena_chunk *c) {
  while (c != NULL) {
    struct arena_chunk *older = c->older;
    a->total -= c->size;
    mem_free(a->m, c, c->size);
    c = older;
  }
}

/* Forgets everything; the newest chunk is kept for reuse unless it was made for one oversized request. */
void arena_reset(struct arena *a) {
  if (a->head == NULL) return;
  free_chunks(a, a->head->older);
  a->head->older = NULL;
  a->next = (char *)a->head + CHUNK_HEAD;
  a->end = (char *)a->head + a->head->size;
  if (a->head->size > CHUNK_MAX) arena_free(a);
}

/* Gives everything back; the arena is empty and usable again. */
void arena_free(struct arena *a) {
  free_chunks(a, a->head);
  arena_init(a, a->m);
}
