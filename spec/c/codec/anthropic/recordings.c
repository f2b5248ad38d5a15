/* recordings.c: recorded exchanges. KOINE_RECORDINGS names the folder that has them; without it nothing is done. */
#include "codec/kit.h"
#include "support/file.h"

/* A recorded answer on its way, and what is to be known of its parts. */
struct replay {
  struct parsing x;
  int r, stops, unknown;
};

static void look(struct replay *s) {
  const struct event *p;
  while ((p = events_take(&s->x.parts)) != NULL) {
    s->stops += p->type == PART_STOP;
    s->unknown += p->type == PART_WARNING && str_eq(p->id, "unknown_stop_reason");
  }
  arena_reset(&s->x.a);
}

/* Feeds the data lines of a recorded stream. */
static void replay_stream(struct replay *s, struct str body) {
  const char *p = body.p, *stop = body.p + body.n;
  while (p < stop && s->r == 0) {
    const char *lf = memchr(p, '\n', (size_t)(stop - p));
    size_t n = (size_t)((lf ? lf : stop) - p);
    if (n > 6 && memcmp(p, "data: ", 6) == 0) s->r = parsing_record(&s->x, "", (struct str){ p + 6, n - 6 });
    look(s);
    p = lf ? lf + 1 : stop;
  }
}

/* The kind of a recorded error, read by hand in the recording of that name; KIND_NONE: not read yet. */
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
  struct replay s = { .r = 0 };
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
    parsing_open(&s.x, &codec_anthropic, &m);
    parsing_begin(&s.x);
    if (body.p[0] == '{') s.r = codec_anthropic.parse_body(s.x.state, body, &s.x.parts, &s.x.e);
    else replay_stream(&s, body);
    look(&s);
    if (s.r == 0) s.r = codec_anthropic.parse_end(s.x.state, &s.x.parts, &s.x.e);
    look(&s);
    if (s.r != 0) fprintf(stderr, "%s: %s\n", path, s.x.e.message);
    CHECK(s.r == 0 && codec_anthropic.ended(s.x.state));
    CHECK(s.stops == 1);
    CHECK(s.unknown == 0);
    parsing_close(&s.x);
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
