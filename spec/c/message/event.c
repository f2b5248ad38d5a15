/* Tests of event: order, reuse of the array, failure without loss. */
#include "core/message/event.h"
#include "support/failing.h"
#include "support/test.h"

static void test_queue(void) {
  struct failing f = { 0 };
  struct mem m = failing_mem(&f);
  struct events q;
  events_init(&q, &m);
  CHECK(events_take(&q) == NULL && events_take(&q) == NULL && f.asked == 0);
  int32_t pushed = 0, taken = 0;
  for (int round = 0; round < 200; round++) { /* two in, one out: the queue grows and moves */
    for (int i = 0; i < 2; i++) {
      struct event *ev = events_push(&q, PART_TEXT, pushed);
      CHECK(ev != NULL && ev->flags == 0 && ev->text.p == NULL && ev->stop == STOP_NONE);
      if (ev == NULL) return;
      ev->flags = 1;
      ev->text = STR("x");
      pushed++;
    }
    const struct event *ev = events_take(&q);
    CHECK(ev != NULL && ev->type == PART_TEXT && ev->key == taken && ev->text.n == 1);
    taken++;
  }
  f.fail_at = 1;
  while (q.n < q.cap) {
    CHECK(events_push(&q, PART_END, pushed) != NULL);
    pushed++;
  }
  struct events before = q;
  if (q.head < q.n - q.head) CHECK(events_push(&q, PART_END, 0) == NULL && q.n == before.n && q.cap == before.cap);
  for (const struct event *ev; (ev = events_take(&q)) != NULL;) {
    CHECK(ev->key == taken);
    taken++;
  }
  CHECK(taken == pushed);
  for (int i = 0; i < 10000; i++) { /* steady state allocates nothing */
    CHECK(events_push(&q, PART_DONE, i) != NULL);
    CHECK(events_take(&q)->key == i);
  }
  CHECK(events_push(&q, PART_DONE, 0) != NULL);
  events_clear(&q);
  CHECK(events_take(&q) == NULL);
  memset(q.v, 0x55, q.cap * sizeof *q.v); /* what events before left */
  struct event *ev = events_push(&q, PART_USAGE, 7);
  CHECK(ev != NULL && ev->type == PART_USAGE && ev->key == 7 && ev->flags == 0 && ev->stop == STOP_NONE);
  CHECK(ev != NULL && ev->usage.input == -1 && ev->usage.output == -1 && ev->usage.cost < 0 && ev->usage.unpriced == NULL);
  ev = events_push(&q, PART_TEXT, 7);
  CHECK(ev != NULL && ev->text.n == 0 && ev->id.n == 0 && ev->name.n == 0);
  events_free(&q);
  events_free(&q);
  CHECK(f.live == 0 && f.wrong == 0);
}

static void test_names(void) {
  struct usage u;
  usage_clear(&u);
  CHECK(u.input == -1 && u.output == -1 && u.cache_read == -1 && u.cache_creation == -1 && u.reasoning == -1);
  CHECK(u.cache_hour == -1 && u.cost < 0 && u.unpriced == NULL);
  CHECK(stop_name(STOP_NONE) == NULL);
  for (int s = STOP_END_TURN; s <= STOP_ERROR; s++) {
    const char *name = stop_name((enum stop)s);
    CHECK(name != NULL);
    CHECK(name != NULL && stop_by_name((struct str){ name, strlen(name) }) == (enum stop)s);
  }
  CHECK(stop_by_name(STR("end_turn ")) == STOP_NONE);
  CHECK(stop_by_name(STR_NONE) == STOP_NONE);
  CHECK_STR(stop_name(STOP_SEQUENCE), strlen(stop_name(STOP_SEQUENCE)), "stop_sequence");
  for (int t = EV_NONE; t <= PART_DONE; t++) CHECK(event_form((enum event_type)t) == NULL);
  for (int t = EV_TEXT_START; t < EV_COUNT; t++) CHECK(event_form((enum event_type)t) != NULL);
  CHECK(event_form(EV_COUNT) == NULL);
  CHECK_STR(event_form(EV_TOOL_DELTA)->name, strlen(event_form(EV_TOOL_DELTA)->name), "tool_use_delta");
}

int main(void) {
  test_queue();
  test_names();
  return test_done("message/event");
}
