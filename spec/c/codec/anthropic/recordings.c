/* recordings.c: recorded exchanges. KOINE_RECORDINGS names the folder that has them; without it there is nothing to do. */
#include "events.h"
#include "support/file.h"

/* Feeds the data lines of a recorded stream. */
static void replay_stream(struct answer *s, struct str body) {
  const char *p = body.p, *stop = body.p + body.n;
  while (p < stop) {
    const char *lf = memchr(p, '\n', (size_t)(stop - p));
    size_t n = (size_t)((lf ? lf : stop) - p);
    if (n > 6 && memcmp(p, "data: ", 6) == 0) feed_bytes(s, "", (struct str){ p + 6, n - 6 });
    p = lf ? lf + 1 : stop;
  }
  end(s);
}

/* The kind of a recorded error, read by hand in the recording of that name; KIND_NONE: nobody has read it. */
static enum kind recorded_kind(const char *path) {
  static const struct { const char *name; enum kind kind; } READ[] = {
    { "/error-401.json", KIND_AUTH },
    { "/error-400-context.json", KIND_CONTEXT_OVERFLOW },
    { "/error-400-strict-optional-limit.json", KIND_INVALID_REQUEST },
    { "/error-400-strict-recursive.json", KIND_INVALID_REQUEST },
  };
  for (size_t i = 0; i < sizeof READ / sizeof *READ; i++)
    if (strstr(path, READ[i].name) != NULL) return READ[i].kind;
  return KIND_NONE;
}

static void replay(const char *folder, const char *path) {
  struct mem m = mem_libc();
  struct buf file;
  struct arena a;
  struct err e;
  struct node *response;
  struct answer s;
  struct str body;
  int64_t status;
  (void)folder;
  buf_init(&file, &m);
  arena_init(&a, &m);
  CHECK(whole_file(path, &file) == 0);
  response = node_get(json_tree(&a, buf_str(&file), 64, &e), "response");
  body = node_str(node_get(response, "body"));
  CHECK(node_is(node_get(response, "status"), NODE_INT) && body.n > 0);
  status = node_get(response, "status")->u.i;
  if (status != 200) {
    codec_error(&a, (int)status, body, &e);
    CHECK(e.status == status && e.kind == recorded_kind(path));
  } else {
    if (body.p[0] == '{') run_body(&s, &m, body);
    else {
      answer_open(&s, &m);
      replay_stream(&s, body);
    }
    if (s.r != 0) fprintf(stderr, "%s: %s\n", path, s.x.e.message);
    CHECK(s.r == 0 && codec_anthropic.ended(s.x.state));
    CHECK(memmem(s.text.p, s.text.n, "\nstop ", 6) != NULL);
    CHECK(memmem(s.text.p, s.text.n, "unknown_stop_reason", 19) == NULL);
    answer_close(&s);
  }
  buf_free(&file);
  arena_free(&a);
}

static void test_recordings(void) {
  static const char *const FOLDER[] = { "anthropic-messages", "copilot-messages" };
  const char *root = getenv("KOINE_RECORDINGS");
  if (root == NULL) { printf("codec/anthropic/recordings: KOINE_RECORDINGS is not set, nothing to replay\n"); return; }
  for (int i = 0; i < 2; i++) CHECK(each_json(root, FOLDER[i], replay) > 0);
}

int main(void) {
  test_recordings();
  return test_done("codec/anthropic/recordings");
}
