/*
** meter.h: one allocator for a Lua state and for libcurl, which counts what is held, checks the sizes that Lua and the
** core say a block has, and fails where it is told to. One per process: libcurl takes its functions once.
*/
#ifndef KOINE_SPEC_HOST_SUPPORT_METER_H
#define KOINE_SPEC_HOST_SUPPORT_METER_H

#include <curl/curl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Atomic, because a resolver's thread frees memory too. */
static struct {
  atomic_long asked;               /* allocations since meter_arm */
  atomic_long fail_at, fail_to;    /* the first and the last one that fail; 0 = none */
  atomic_long lua, lua_blocks;     /* bytes and blocks held by Lua and the core */
  atomic_long curl, curl_blocks;   /* by libcurl */
  atomic_long wrong;               /* blocks that were given back with another size than their own */
} meter;

#define METER_HEAD 16

/* From now on: the nth allocation fails, and so many in all from there. Where two fail, it is an error for Lua too, which
** collects garbage after the first and tries again. n = 0: none. */
static inline void meter_arm(long n, long many) {
  meter.asked = 0;
  meter.fail_at = n;
  meter.fail_to = n - 1 + many;
}

static inline int meter_fails(void) {
  long n = ++meter.asked, at = meter.fail_at;
  return at != 0 && n >= at && n <= meter.fail_to;
}

static inline size_t meter_size(void *p) {
  size_t n = 0;
  if (p != NULL) memcpy(&n, (char *)p - METER_HEAD, sizeof n);
  return n;
}

/* A block at a new place, so that a pointer kept across a growth shows. */
static inline void *meter_move(void *p, size_t n, atomic_long *bytes, atomic_long *blocks) {
  size_t had = meter_size(p);
  if (meter_fails()) return NULL;
  char *fresh = malloc(METER_HEAD + n);
  if (fresh == NULL) return NULL;
  memcpy(fresh, &n, sizeof n);
  fresh += METER_HEAD;
  if (p != NULL) {
    memcpy(fresh, p, had < n ? had : n);
    free((char *)p - METER_HEAD);
  }
  *bytes += (long)n - (long)had;
  *blocks += p == NULL;
  return fresh;
}

static inline void meter_drop(void *p, atomic_long *bytes, atomic_long *blocks) {
  if (p == NULL) return;
  *bytes -= (long)meter_size(p);
  --*blocks;
  free((char *)p - METER_HEAD);
}

/* lua_Alloc; for a new block Lua says its type instead of an old size. */
static inline void *meter_lua(void *ud, void *p, size_t osize, size_t nsize) {
  (void)ud;
  if (p != NULL && osize != meter_size(p)) meter.wrong++;
  if (nsize > 0) return meter_move(p, nsize, &meter.lua, &meter.lua_blocks);
  meter_drop(p, &meter.lua, &meter.lua_blocks);
  return NULL;
}

static inline void *meter_malloc(size_t n) {
  return meter_move(NULL, n, &meter.curl, &meter.curl_blocks);
}

static inline void meter_free(void *p) {
  meter_drop(p, &meter.curl, &meter.curl_blocks);
}

static inline void *meter_realloc(void *p, size_t n) {
  return meter_move(p, n, &meter.curl, &meter.curl_blocks);
}

static inline void *meter_calloc(size_t n, size_t size) {
  void *p = meter_malloc(n * size);
  return p == NULL ? NULL : memset(p, 0, n * size);
}

static inline char *meter_strdup(const char *s) {
  size_t n = strlen(s) + 1;
  char *p = meter_malloc(n);
  return p == NULL ? NULL : memcpy(p, s, n);
}

/* Gives libcurl the meter, before anything else starts it: 0, or libcurl's error. */
static inline int meter_curl(void) {
  return (int)curl_global_init_mem(CURL_GLOBAL_DEFAULT, meter_malloc, meter_free, meter_realloc, meter_strdup,
                                   meter_calloc);
}

#endif
