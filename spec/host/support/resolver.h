/*
** resolver.h: a name lookup that lasts until the test lets it end. This program's getaddrinfo stands before libc's, for
** libcurl too; the name stub.test hangs, others are looked up as ever.
*/
#ifndef KOINE_SPEC_HOST_SUPPORT_RESOLVER_H
#define KOINE_SPEC_HOST_SUPPORT_RESOLVER_H

#include <dlfcn.h>
#include <lua.h>
#include <netdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "support/descriptors.h"

static struct {
  atomic_int entered, returned; /* lookups of stub.test that have begun, that have ended */
  pthread_mutex_t lock;
  pthread_cond_t changed;
  int open;                     /* they may end */
  int threads;                  /* of this process without any lookup */
} resolver = { 0, 0, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0 };

__attribute__((visibility("default")))
int getaddrinfo(const char *restrict name, const char *restrict service, const struct addrinfo *restrict hints,
                struct addrinfo **restrict found) {
  union { void *p; int (*f)(const char *, const char *, const struct addrinfo *, struct addrinfo **); } libc;
  if (name == NULL || strcmp(name, "stub.test") != 0) {
    libc.p = dlsym(RTLD_NEXT, "getaddrinfo");
    return libc.f(name, service, hints, found);
  }
  pthread_mutex_lock(&resolver.lock);
  resolver.entered++;
  while (!resolver.open) pthread_cond_wait(&resolver.changed, &resolver.lock);
  resolver.returned++;
  pthread_mutex_unlock(&resolver.lock);
  return EAI_FAIL;
}

/* entered(), for Lua: how many lookups of stub.test have begun and not ended. */
static inline int resolver_entered(lua_State *L) {
  lua_pushinteger(L, resolver.entered - resolver.returned);
  return 1;
}

static inline void resolver_gate(int open) {
  pthread_mutex_lock(&resolver.lock);
  resolver.open = open;
  pthread_cond_broadcast(&resolver.changed);
  pthread_mutex_unlock(&resolver.lock);
}

static inline int resolver_threads(void) {
  return entries("/proc/self/task", 0);
}

static inline void *resolver_nothing(void *ud) {
  return ud;
}

/* Before the first lookup. The first thread of all may bring a sanitizer's own with it, which stays. */
static inline void resolver_start(void) {
  pthread_t first;
  if (pthread_create(&first, NULL, resolver_nothing, NULL) == 0) pthread_join(first, NULL);
  resolver.threads = resolver_threads();
}

/* Lets every lookup end and waits until its thread is gone: 1, or 0 when that takes more than ten seconds. */
static inline int resolver_finish(void) {
  resolver_gate(1);
  for (int i = 0; i < 50000 && resolver_threads() > resolver.threads; i++) usleep(200);
  resolver_gate(0);
  return resolver_threads() == resolver.threads;
}

#endif
