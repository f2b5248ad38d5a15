/*
** mem.h: where every byte of the core comes from.
** An allocator is injected (lua_Alloc's shape), so a host's limit and a failing test allocator reach everything.
** Owners free what they made. Failure: NULL or -1, nothing changed.
*/
#ifndef KOINE_BASE_MEM_H
#define KOINE_BASE_MEM_H

#include "str.h"

#pragma GCC visibility push(hidden)

/* An allocator: f(ud, p, old size, new size); new size 0 frees. Same contract as lua_Alloc. */
struct mem {
  void *(*f)(void *ud, void *p, size_t osize, size_t nsize);
  void *ud;
};

/* A growing byte buffer. p is NULL while nothing was allocated; bytes past n are garbage. */
struct buf {
  char *p;
  size_t n, cap;
  const struct mem *m;
};

struct arena_chunk;

/* A bump allocator: everything in it dies together. */
struct arena {
  const struct mem *m;
  struct arena_chunk *head; /* the chunk being filled; older ones behind it */
  char *next, *end;         /* free room in `head` */
  size_t total;             /* bytes held from the allocator */
};

/* The allocator on malloc/realloc/free, for programs without Lua. */
struct mem mem_libc(void);

/* n bytes, or NULL. n > 0. */
void *mem_alloc(const struct mem *m, size_t n);
/* p (osize bytes, may be NULL with 0) grown or shrunk to nsize > 0, or NULL and p untouched. */
void *mem_realloc(const struct mem *m, void *p, size_t osize, size_t nsize);
/* Makes room for one more element of `size` bytes in an array that has n of *cap: v, moved perhaps, or NULL and nothing
** changed. v may be NULL with 0. The first room is for one: most arrays here get no second element. */
void *mem_grow(const struct mem *m, void *v, size_t n, size_t *cap, size_t size);
/* Frees p of n bytes; NULL is fine. */
void mem_free(const struct mem *m, void *p, size_t n);

/* Initialises an empty one without memory; frees its memory. */
void buf_init(struct buf *b, const struct mem *m);
void buf_free(struct buf *b);
/* Makes room for `extra` more bytes (amortised doubling): 0, or -1 and nothing changed. Inline: mostly there is room. */
int buf_widen(struct buf *b, size_t extra);
static inline int buf_reserve(struct buf *b, size_t extra) { return extra <= b->cap - b->n ? 0 : buf_widen(b, extra); }
/* Appends; 0, or -1 and nothing changed. */
int buf_add(struct buf *b, const char *p, size_t n);
static inline int buf_addc(struct buf *b, char c) {
  if (buf_reserve(b, 1) < 0) return -1;
  b->p[b->n++] = c;
  return 0;
}
int buf_adds(struct buf *b, const char *s);
int buf_addstr(struct buf *b, struct str s);
/* Removes the first n bytes (moves the rest down). */
void buf_drop(struct buf *b, size_t n);
void buf_swap(struct buf *a, struct buf *b);
static inline struct str buf_str(const struct buf *b) { return (struct str){ b->p, b->n }; }

/* Empty, no memory yet. */
void arena_init(struct arena *a, const struct mem *m);
/* n bytes aligned for any type, or NULL; n may be 0. Inline: mostly there is room in the newest chunk. */
#define ARENA_ALIGNMENT _Alignof(max_align_t)
void *arena_alloc_slow(struct arena *a, size_t n);
static inline void *arena_alloc(struct arena *a, size_t n) {
  size_t room = (n + (ARENA_ALIGNMENT - 1)) & ~(ARENA_ALIGNMENT - 1);
  void *p = a->next;
  if (p == NULL || room < n || room > (size_t)(a->end - a->next)) return arena_alloc_slow(a, n);
  a->next += room;
  return p;
}
/* n zeroed bytes, or NULL. */
void *arena_zero(struct arena *a, size_t n);
/* A copy of s with a NUL after it (not counted in n); p is NULL when out of memory. */
struct str arena_dup(struct arena *a, struct str s);
/* Forgets everything but keeps the newest chunk for reuse. */
void arena_reset(struct arena *a);
void arena_free(struct arena *a);

#pragma GCC visibility pop

#endif
