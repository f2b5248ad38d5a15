/* logprobs.c: the probabilities of an answer's tokens, as a wire gives them and as a message has them. */
#include "kit.h"

/* How likely the tokens were: the message's `logprobs` as JSON, "" for none. */
static void check_logprobs(struct run *r, const char *logprobs) {
  struct arena a;
  struct buf json;
  struct node *v;
  arena_init(&a, &libc);
  buf_init(&json, &libc);
  v = node_get(message_node(&r->msg, &a, 0), "logprobs");
  CHECK(v == NULL || json_write(&json, v, &r->e) == 0);
  CHECK_STR(json.n > 0 ? json.p : "", json.n, logprobs);
  buf_free(&json);
  arena_free(&a);
}

#define LIKELY(json) add(&R, (struct event){ .type = PART_LOGPROBS, .text = z(json) })

static void test_logprobs(void) {
  struct arena a;
  struct str bytes;
  RUN(LIKELY("[{\"token\":\"a\",\"logprob\":-0.5,\"bytes\":[97],\"top_logprobs\":[{\"token\":\"a\",\"logprob\":-0.5},"
             "{\"logprob\":-1,\"token\":\"b\",\"bytes\":[98],\"top_logprobs\":[{\"token\":\"c\"}]}]}]");
      LIKELY("[{\"token\":\"\\u00e9\",\"logprob\":0},{\"token\":\"\",\"logprob\":null}]"); end(&R);
      check(&R, "", "[]");
      check_logprobs(&R, "[{\"token\":\"a\",\"logprob\":-0.5,\"bytes\":\"a\",\"top\":[{\"token\":\"a\",\"logprob\":-0.5},"
                     "{\"token\":\"b\",\"logprob\":-1.0,\"bytes\":\"b\"}]},"
                     "{\"token\":\"\xC3\xA9\",\"logprob\":0.0,\"top\":[]},{\"token\":\"\",\"top\":[]}]"););
  /* The bytes are those of the wire, no text. */
  RUN(LIKELY("[{\"token\":\"\\\\xe2\",\"bytes\":[226,0,255]}]"); end(&R);
      arena_init(&a, &libc);
      bytes = node_str(node_get(node_get(message_node(&R.msg, &a, 0), "logprobs")->child, "bytes"));
      CHECK(bytes.n == 3 && memcmp(bytes.p, "\xE2\0\xFF", 3) == 0);
      arena_free(&a););
  /* Numbers that JSON cannot say again say nothing. */
  RUN(LIKELY("[{\"token\":\"a\",\"logprob\":-1e999,\"top_logprobs\":[{\"token\":\"b\",\"logprob\":1e999}]}]"); end(&R);
      check_logprobs(&R, "[{\"token\":\"a\",\"top\":[{\"token\":\"b\"}]}]"););
  /* Odd values say nothing, elements without a token are none. */
  RUN(LIKELY("[7,[1],null,{},{\"token\":5},{\"token\":\"a\",\"logprob\":\"x\",\"bytes\":[256],\"top_logprobs\":{\"b\":1}},"
             "{\"token\":\"b\",\"bytes\":[1,\"x\"],\"top_logprobs\":[7,{}]},{\"token\":\"c\",\"bytes\":\"c\"}]"); end(&R);
      check_logprobs(&R, "[{\"token\":\"a\",\"top\":[]},{\"token\":\"b\",\"top\":[]},{\"token\":\"c\",\"top\":[]}]"););
  RUN(text(&R, PART_TEXT, 0, "a"); end(&R); check_logprobs(&R, ""););
  RUN(LIKELY("[]"); LIKELY("[{}]"); end(&R); check_logprobs(&R, ""););
}

/* Elements without a token take no memory. */
static void test_empty(void) {
  struct arena a;
  struct buf many;
  arena_init(&a, &libc);
  buf_init(&many, &libc);
  CHECK(buf_adds(&many, "[{}") == 0);
  while (many.n < 300000 && buf_adds(&many, ",{}") == 0) continue;
  CHECK(buf_adds(&many, "]") == 0);
  RUN(add(&R, (struct event){ .type = PART_LOGPROBS, .text = buf_str(&many) }); end(&R);
      CHECK(message_node(&R.msg, &a, 0) != NULL && a.total < many.n););
  arena_free(&a);
  buf_free(&many);
}

static void test_logprobs_limit(void) {
  size_t n = LOGPROBS_MAX / 2;
  struct buf half;
  struct event part = { .type = PART_LOGPROBS };
  buf_init(&half, &libc);
  CHECK(buf_reserve(&half, n) == 0);
  memset(half.p, ' ', n);
  half.p[0] = '[';
  half.p[n - 1] = ']';
  part.text = (struct str){ half.p, n };
  RUN(add(&R, part); add(&R, part); CHECK(!R.failed); LIKELY("[]"); CHECK(R.failed && R.e.kind == KIND_LIMIT););
  buf_free(&half);
}

int main(void) {
  libc = mem_libc();
  limits_default(&limits);
  test_logprobs();
  test_empty();
  test_logprobs_limit();
  return test_done("message/logprobs");
}
