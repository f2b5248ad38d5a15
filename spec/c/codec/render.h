/* render.h: the bytes that a codec makes of requests: the harness of the tests of requests. CODEC names it. */
#ifndef KOINE_SPEC_C_CODEC_RENDER_H
#define KOINE_SPEC_C_CODEC_RENDER_H

#include "kit.h"

/* {{{ running the codec */

/* The result of a render: the path, the body, the fields warned of (comma-separated), the warnings and then the headers
** as JSON; or the error. */
struct result {
  char path[64], body[8192], warnings[256], rest[1024];
  struct err e;
};

/* count: the body asks how many tokens the request has. */
static int run(const char *quirks, const char *request, int count, const struct mem *m, struct result *r) {
  struct mem sure = mem_libc();
  struct rendering x;
  struct buf rest;
  int bad;
  memset(r, 0, sizeof *r);
  buf_init(&rest, &sure);
  bad = rendering_open(&x, &CODEC, m, request) != 0;
  if (quirks != NULL) set_quirks(&x.quirks, quirks);
  if (!bad) bad = (count ? CODEC.render_count : CODEC.render)(&x.r, &x.e) != 0;
  if (!bad) {
    CHECK(json_write(&rest, x.r.warnings, &x.e) == 0 && json_write(&rest, x.r.headers, &x.e) == 0);
    snprintf(r->body, sizeof r->body, "%.*s", (int)x.body.n, x.body.p);
    snprintf(r->path, sizeof r->path, "%.*s", (int)x.path.n, x.path.p);
    snprintf(r->rest, sizeof r->rest, "%.*s", (int)rest.n, rest.p);
  }
  CHECK(bad || x.r.framing == CODEC.framing);
  for (const struct node *w = bad ? NULL : x.r.warnings->child; w != NULL; w = w->next) {
    struct str field = node_str(node_get(w, "field"));
    size_t n = strlen(r->warnings);
    snprintf(r->warnings + n, sizeof r->warnings - n, "%s%.*s", n > 0 ? "," : "", (int)field.n, field.p);
    CHECK(node_str(node_get(w, "code")).n > 0 && node_str(node_get(w, "message")).n > 0);
  }
  r->e = x.e;
  buf_free(&rest);
  rendering_close(&x);
  return bad ? -1 : 0;
}

/* Each allocation fails in turn: that is said, and nothing leaks. */
static void run_failing(const char *file, int line, const char *quirks, const char *request, int count,
                        const struct result *want) {
  static struct result got;
  for (size_t at = 1; at < 10000; at += test_every()) {
    struct failing f = { 0, at, 0, 0 };
    struct mem m = failing_mem(&f);
    int bad = run(quirks, request, count, &m, &got);
    int failed = f.asked >= at;
    if (f.live != 0 || f.wrong != 0 || (failed && (!bad || got.e.kind != KIND_MEMORY)) ||
        (!failed && (strcmp(got.body, want->body) != 0 || strcmp(got.rest, want->rest) != 0))) {
      fprintf(stderr, "%s:%d: allocation %zu: live %zu, wrong %zu, %s\n", file, line, at, f.live, f.wrong,
              got.e.message);
      test_failed++;
    }
    if (!failed) return;
  }
}

static inline void expect(const char *file, int line, const char *quirks, const char *request, const char *body,
                          const char *warnings) {
  static struct result r;
  struct mem m = mem_libc();
  if (run(quirks, request, 0, &m, &r) != 0) {
    fprintf(stderr, "%s:%d: %s\n", file, line, r.e.message);
    test_failed++;
    return;
  }
  test_str(file, line, r.body, strlen(r.body), json(body));
  test_str(file, line, r.warnings, strlen(r.warnings), warnings);
  run_failing(file, line, quirks, request, 0, &r);
}

static inline void expect_path(const char *file, int line, const char *quirks, int count, const char *path) {
  static struct result r;
  struct mem m = mem_libc();
  CHECK(run(quirks, "{'model':'m','messages':[{'role':'user','content':'hi'}]}", count, &m, &r) == 0);
  test_str(file, line, r.path, strlen(r.path), path);
}

static inline void expect_error(const char *file, int line, const char *quirks, const char *request, const char *field) {
  static struct result r;
  struct mem m = mem_libc();
  int bad = run(quirks, request, 0, &m, &r);
  test_str(file, line, bad ? kind_name(r.e.kind) : "", bad ? strlen(kind_name(r.e.kind)) : 0, "argument");
  test_str(file, line, r.e.field, strlen(r.e.field), field);
}

/* A longer history only extends the bytes of the shorter one. */
static inline void expect_prefix(void) {
  static struct result a, b;
  struct mem m = mem_libc();
  const char *head = "{'model':'m','system':'s','tools':[{'name':'f'}],'messages':[{'role':'user','content':'a'},"
                     "{'role':'assistant','content':'b'},{'role':'user','content':'c'}";
  char s[1024];
  size_t n;
  snprintf(s, sizeof s, "%s]}", head);
  CHECK(run(NULL, s, 0, &m, &a) == 0);
  snprintf(s, sizeof s, "%s,{'role':'assistant','content':[{'type':'tool_use','id':'t','name':'f','arguments':{}}]},"
           "{'role':'user','content':[{'type':'tool_result','tool_use_id':'t','content':'d'}]}]}", head);
  CHECK(run(NULL, s, 0, &m, &b) == 0);
  n = strlen(a.body) - 2; /* without the closing brackets */
  CHECK(strlen(b.body) > n && memcmp(a.body, b.body, n) == 0);
}

/* }}} */

/* {{{ requests */

#define HI "{'role':'user','content':'hi'}"
#define USER(content) "{'role':'user','content':" content "}"
#define ASSISTANT(content) "{'role':'assistant','content':" content "}"
#define TEXT(s) "{'type':'text','text':'" s "'}"
#define RESULT(id, content) "{'type':'tool_result','tool_use_id':'" id "','content':" content "}"
#define USE(id, name) "{'type':'tool_use','id':'" id "','name':'" name "','arguments':{}}"
#define FROM(provider, raw) "'provider_data':{'provider':'" provider "','model':'m','raw':'" raw "'}"
#define MINE(raw) FROM("here", raw)

/* A request with these messages fails with an error about the field. */
#define REFUSES(quirks, messages, field) \
  expect_error(__FILE__, __LINE__, quirks, "{'model':'m','messages':[" messages "]}", field)

/* }}} */

#endif
