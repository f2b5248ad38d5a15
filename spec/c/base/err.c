/* Tests of err: the tables, and messages that stay one line of valid UTF-8. */
#include <errno.h>

#include "core/base/err.h"
#include "support/test.h"

static void test_tables(void) {
  static const struct { const char *name, *cls; int status, retryable; } want[] = {
    { "auth", "AuthenticationError", 401, 0 }, { "permission", "AuthenticationError", 403, 0 },
    { "rate_limit", "RateLimitError", 429, 1 }, { "billing", "RateLimitError", 402, 0 },
    { "overloaded", "ServerError", 529, 1 }, { "server", "ServerError", 500, 1 }, { "protocol", "ServerError", 200, 0 },
    { "invalid_request", "RequestError", 400, 0 }, { "not_found", "RequestError", 404, 0 },
    { "too_large", "RequestError", 413, 0 }, { "context_overflow", "RequestError", 400, 0 },
    { "connect", "ConnectionError", 0, 1 }, { "timeout", "ConnectionError", 0, 1 },
    { "timeout", "ServerError", 504, 1 }, { "stream_truncated", "ConnectionError", 200, 1 },
    { "cancelled", "CancelledError", 0, 0 }, { "limit", "Error", 0, 0 }, { "executor", "Error", 0, 0 },
    { "other", "Error", 0, 0 },
    { "argument", "ArgumentError", 0, 0 }, { "not_implemented", "NotImplementedError", 0, 0 },
    { "memory", "Error", 0, 0 },
  };
  struct err e;
  for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
    enum kind k = kind_by_name(want[i].name);
    CHECK(k != KIND_NONE);
    CHECK_STR(kind_name(k), strlen(kind_name(k)), want[i].name);
    CHECK_STR(err_class(k, want[i].status), strlen(err_class(k, want[i].status)), want[i].cls);
    err_clear(&e);
    e.kind = k;
    CHECK(err_retryable(&e) == want[i].retryable);
    e.retryable = !want[i].retryable;
    CHECK(err_retryable(&e) == !want[i].retryable);
  }
  for (int k = KIND_NONE + 1; k < KIND_COUNT; k++) CHECK((int)kind_by_name(kind_name((enum kind)k)) == k);
  CHECK(kind_by_name("none") == KIND_NONE && kind_by_name("") == KIND_NONE);
}

static void test_message(void) {
  struct err e;
  char wide[1200];
  err_clear(&e);
  CHECK(e.kind == KIND_NONE && e.retryable == -1 && e.retry_after < 0 && e.message[0] == '\0');
  CHECK(err_set(&e, KIND_SERVER, "two\nlines\tand %d %s", 7, "\x7F!") == -1);
  CHECK_STR(e.message, strlen(e.message), "two lines and 7  !");
  CHECK(e.kind == KIND_SERVER);
  for (size_t pad = 0; pad < 4; pad++) { /* a character of four bytes at every position of the cut */
    memset(wide, 'a', pad);
    for (size_t i = pad; i + 4 < sizeof wide; i += 4) memcpy(wide + i, "\xF0\x9F\x98\x80", 5);
    err_set(&e, KIND_OTHER, "%s", wide);
    size_t n = strlen(e.message);
    CHECK(n < ERR_MESSAGE_MAX && n > ERR_MESSAGE_MAX - 5 && (n - pad) % 4 == 0);
  }
  memset(wide, 'b', sizeof wide);
  wide[sizeof wide - 1] = '\0';
  err_set(&e, KIND_OTHER, "%s", wide);
  CHECK(strlen(e.message) == ERR_MESSAGE_MAX - 1);
  memset(wide, 0x80, sizeof wide - 1); /* no character at all */
  err_set(&e, KIND_OTHER, "%s", wide);
  CHECK(strlen(e.message) == (ERR_MESSAGE_MAX - 1) / 3 * 3 && memcmp(e.message, "\xEF\xBF\xBD\xEF", 4) == 0);
  err_set(&e, KIND_OTHER, "a\xC2\x9B" "b\xE2\x80\xA8" "c\xFF" "d");
  CHECK_STR(e.message, strlen(e.message), "a b c\xEF\xBF\xBD" "d");
}

static void test_argument(void) {
  struct err e;
  char wide[300];
  err_clear(&e);
  CHECK(err_argument(&e, "messages[2].role", "'user' or 'assistant'", "'robot'") == -1);
  CHECK(e.kind == KIND_ARGUMENT);
  CHECK_STR(e.field, strlen(e.field), "messages[2].role");
  CHECK_STR(e.expected, strlen(e.expected), "'user' or 'assistant'");
  CHECK_STR(e.message, strlen(e.message), "messages[2].role: 'user' or 'assistant' expected, got 'robot'");
  for (size_t i = 0; i + 3 <= 99; i += 3) memcpy(wide + i, "\xE2\x82\xAC", 4);
  err_argument(&e, wide, "x", "y");
  CHECK(strlen(e.field) == 93);
  /* A list that is too long for `expected` ends between two items; the message has all of it. */
  for (size_t n = 0; n < 40; n++) {
    char want[400];
    memset(wide, 'x', sizeof wide);
    wide[n] = ',';
    (void)snprintf(wide + 118 + n / 20, 100, ", last_but_one, last");
    (void)err_argument(&e, "f", wide, "y");
    (void)snprintf(want, sizeof want, "f: %s expected, got y", wide);
    CHECK_STR(e.message, strlen(e.message), want);
    (void)snprintf(want, sizeof want, "%.*s \xE2\x80\xA6", 119 + (int)n / 20, wide);
    CHECK_STR(e.expected, strlen(e.expected), want);
  }
  memset(wide, 'a', 127);
  wide[5] = ',';
  wide[127] = '\0';
  (void)err_argument(&e, "f", wide, "y");
  CHECK_STR(e.expected, strlen(e.expected), wide); /* has just room */
  memcpy(wide + 126, "bc", 3);
  (void)err_argument(&e, "f", wide, "y");
  CHECK_STR(e.expected, strlen(e.expected), "aaaaa, \xE2\x80\xA6");
  memset(wide, 'a', 200);
  wide[200] = '\0';
  (void)err_argument(&e, "f", wide, "y");
  CHECK(strlen(e.expected) == 127); /* no list */
  memset(wide, '\x80', 200);
  wide[120] = ',';
  (void)err_argument(&e, "f", wide, "y");
  CHECK(strlen(e.expected) == 126); /* each becomes three bytes */
  CHECK(err_memory(&e) == -1 && e.kind == KIND_MEMORY);
  CHECK_STR(e.message, strlen(e.message), "not enough memory");
}

static void test_system(void) {
  char expected[200];
  struct err e;
  err_clear(&e);
  errno = EBADF;
  CHECK(err_system(&e, "cannot do it") == -1 && e.kind == KIND_OTHER);
  snprintf(expected, sizeof expected, "cannot do it: %s", strerror(EBADF));
  CHECK_STR(e.message, strlen(e.message), expected);
  errno = ENOMEM;
  CHECK(err_system(&e, "cannot do it") == -1 && e.kind == KIND_MEMORY);
  CHECK_STR(e.message, strlen(e.message), "not enough memory");
}

int main(void) {
  test_tables();
  test_message();
  test_argument();
  test_system();
  return test_done("base/err");
}
