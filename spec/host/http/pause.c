/* pause.c: a reader that stops pulling: the sender stops too, nothing is lost, and a paused transfer can end. */
#include "support/world.h"

/* A reader that stops pulling stops the sender; nothing is lost, and the idle deadline waits with it. */
static void test_pause(struct world *w, const char *path) {
  enum { HIGH = 65536, CHUNK = 16384, TOTAL = 3000000 };
  struct ask a;
  struct transfer_stats s;
  size_t seen = 0, resumed = 0;
  int good = 1, interrupted;
  ask(&a, "GET", path)->high_water = HIGH;
  a.r.timeouts.idle = 0.02;
  struct transfer *t = transfer_start(w->http, &a.r, NULL, &w->e);
  struct buf *b = transfer_body(t);
  while (!over(t) || b->n > 0) {
    while (!over(t) && b->n < HIGH && step(w) == 0) ready(w->g);
    for (int i = 0; i < 20 && resumed == 0; i++) {
      CHECK(engine_step(w->g, 0, -1, &interrupted, &w->e) == 0);
      while (ready(w->g) != NULL) continue;
    }
    /* the idle deadline of before the pause passes without harm, and no other is left */
    while (resumed == 0 && engine_timeout(w->g) >= 0 && engine_timeout(w->g) < 60) CHECK(step(w) == 0);
    CHECK(resumed > 0 || !over(t));
    CHECK(b->n <= HIGH + CHUNK);
    for (size_t i = 0; i < b->n; i++) good &= b->p[i] == pattern(seen + i);
    seen += b->n;
    b->n = 0;
    resumed++;
    transfer_taken(t);
  }
  const struct err *f = NULL;
  transfer_stats(t, &s);
  CHECK(transfer_done(t, &f) && f == NULL && good && seen == TOTAL && resumed > 4);
  CHECK(s.peak >= HIGH && s.peak <= HIGH + CHUNK && s.received > TOTAL);
  transfer_close(t);
}

/* The same where libcurl decodes: every byte comes, however the reader pauses. */
static void test_pause_gzip(struct world *w) {
  struct ask a;
  size_t seen = 0, zeros = 0;
  const struct err *f = NULL;
  ask(&a, "GET", "/gzip?2580000")->high_water = 20000;
  struct transfer *t = transfer_start(w->http, &a.r, NULL, &w->e);
  struct buf *b = transfer_body(t);
  while (!over(t) || b->n > 0) {
    while (!over(t) && b->n < 20000 && step(w) == 0) ready(w->g);
    CHECK(b->n < 20000 + 4096 * 1032); /* and what one read may inflate to */
    for (size_t i = 0; i < b->n; i++) zeros += b->p[i] == 0;
    seen += b->n;
    b->n = 0;
    transfer_taken(t);
  }
  CHECK(transfer_done(t, &f) && f == NULL && seen == 2580012 && zeros == 2580001);
  transfer_close(t);
}

/* A paused transfer can be closed, released, cut by its total deadline and lose its engine. */
static void test_pause_ends(void) {
  struct world w;
  struct ask a;
  struct transfer *t[4];
  const struct err *f = NULL;
  int interrupted;
  open_world(&w, 0);
  for (int i = 0; i < 4; i++) {
    ask(&a, "GET", "/big?3000000")->high_water = 1;
    a.r.timeouts.total = i == 0 ? 0.2 : 0;
    t[i] = transfer_start(w.http, &a.r, NULL, &w.e);
    while (transfer_body(t[i])->n == 0 && step(&w) == 0) ready(w.g);
    for (int k = 0; k < 20; k++) engine_step(w.g, 0, -1, &interrupted, &w.e);
  }
  while (!over(t[0]) && step(&w) == 0)
    while (ready(w.g) != NULL) continue;
  CHECK(transfer_done(t[0], &f) && f != NULL && strcmp(f->code, "total") == 0);
  transfer_close(t[0]);
  transfer_close(t[1]);
  transfer_release(t[2], 30);
  while (engine_timeout(w.g) >= 0 && engine_timeout(w.g) < 60) step(&w);
  engine_free(w.g);
  CHECK(transfer_done(t[3], &f) && f != NULL && f->kind == KIND_CANCELLED && transfer_body(t[3])->n > 0);
  CHECK(transfer_start(w.http, ask(&a, "GET", "/hello"), NULL, &w.e) == NULL && w.e.kind == KIND_CANCELLED);
  CHECK(http_active(w.http) == 0);
  http_free(w.http);
  transfer_taken(t[3]);
  transfer_grace(t[3], 1);
  transfer_close(t[3]);
  check_empty(&w);
}

int main(void) {
  struct world w;
  alarm(120); /* a hang is a failure */
  server_start(&server);
  open_world(&w, 0);
  test_pause(&w, "/big?3000000");
  test_pause(&w, "/big-chunked?3000000");
  test_pause_gzip(&w);
  close_world(&w);
  test_pause_ends();
  server_stop(&server);
  return test_done("http/pause");
}
