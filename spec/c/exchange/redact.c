/* Tests of redact: secrets whole, spelled with escapes, cut off by the end; nothing else is touched; no leak. */
#include "core/codec/codec.h"
#include "core/exchange/redact.h"
#include "support/failing.h"
#include "support/test.h"

#define SECRET "sk-secret/0123456789"

static struct secrets secrets(const char *a, const char *b) {
  struct secrets k = { .n = 0 };
  k.v[k.n++] = (struct str){ a, strlen(a) };
  if (b != NULL) k.v[k.n++] = (struct str){ b, strlen(b) };
  return k;
}

/* Redacts a text, in an arena and in place. */
static void check_text(const struct secrets *k, const char *text, const char *expect) {
  struct mem m = mem_libc();
  struct arena a;
  char in_place[512];
  struct str s;
  arena_init(&a, &m);
  s = redact(k, &a, (struct str){ text, strlen(text) });
  CHECK_STR(s.p, s.n, expect);
  CHECK(strcmp(text, expect) != 0 || s.p == text); /* no copy without need */
  (void)snprintf(in_place, sizeof in_place, "%s", text);
  redact_inplace(k, in_place, sizeof in_place);
  CHECK_STR(in_place, strlen(in_place), expect);
  arena_free(&a);
}

static void test_text(void) {
  static const struct { const char *text, *expect; } CASES[] = {
    { "", "" }, { "nothing", "nothing" }, { SECRET, "[redacted]" },
    { "a " SECRET " b " SECRET SECRET, "a [redacted] b [redacted][redacted]" },
    { "sk-secret/0123456788 sk-secret", "sk-secret/0123456788 [redacted]" },       /* another one; cut off */
    { "\"sk-secret\\/0123456789\"", "\"[redacted]\"" },
    { "\"\\u0073k-secret\\u002F01234567\\u00389\"", "\"[redacted]\"" },
    { "\"\\u0074k-secret/0123456789\"", "\"\\u0074k-secret/0123456789\"" },       /* another character */
    { "\\", "\\" }, { "\\u", "\\u" }, { "\\u007", "\\u007" }, { "\\x", "\\x" }, { "sk-secret\\x", "sk-secret\\x" },
    { "cut: sk-secr", "cut: sk-secr" }, { "cut: sk-secre", "cut: [redacted]" },
    { "cut: sk-secret/012345678", "cut: [redacted]" }, { "cut: sk-secret\\", "cut: [redacted]" },
    { "cut: sk-secret\\u00", "cut: [redacted]" }, { "cut: sk-s\\u00", "cut: sk-s\\u00" },
    { "sk-sk-secret/0123456789", "sk-[redacted]" }, { "sk-secretsk-secret/0123456789", "sk-secret[redacted]" },
  };
  struct secrets k = secrets(SECRET, NULL), none = { .n = 0 }, empty = secrets("", "abc");
  struct secrets two = secrets("passwords", "passwords-of-mine"), word = secrets("testing", "test");
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
    check_text(&k, CASES[i].text, CASES[i].expect);
    check_text(&none, CASES[i].text, CASES[i].text);
    check_text(&empty, CASES[i].text, CASES[i].text);
  }
  check_text(&empty, "abc", "abc"); /* too short to be looked for */
  check_text(&word, "a test of testing", "a test of testing");
  check_text(&two, "a passwords, passwords-of-mine, passwords-of", "a [redacted], [redacted], [redacted]");
}

/* Characters of more than one byte, and their escapes: a code, a pair of surrogates, cut at every byte. */
static void test_characters(void) {
  static const char SECRET_WORD[] = "p\xC3\xA4ss\xF0\x9F\x94\x91wort";
  static const char *const SPELLED[] = { SECRET_WORD, "p\\u00e4ss\\uD83D\\udd11wort",
    "\\u0070\xC3\xA4ss\\ud83d\\uDD11w\\u006frt" };
  static const char *const OTHERS[] = { "p\\u00e5ss\xF0\x9F\x94\x91wort", "p\\u00e4ss\\uD83D\\udd12wort",
    "p\\u00e4ss\\uD83Dxudd11wort", "p\\u00e4ss\\uD83D\\u0d11wort", "p\xC3\xA5ss\xF0\x9F\x94\x91wort" };
  struct secrets k = secrets(SECRET_WORD, NULL), broken = secrets("p\xE4sswort-\xFF", NULL);
  char z[64];
  for (size_t i = 0; i < sizeof SPELLED / sizeof *SPELLED; i++) {
    check_text(&k, SPELLED[i], "[redacted]");
    for (size_t n = 24; n < strlen(SPELLED[i]); n++) {
      (void)snprintf(z, sizeof z, "%.*s", (int)n, SPELLED[i]);
      check_text(&k, z, "[redacted]");
    }
  }
  for (size_t i = 0; i < sizeof OTHERS / sizeof *OTHERS; i++) check_text(&k, OTHERS[i], OTHERS[i]);
  check_text(&broken, "a p\xE4sswort-\xFF.", "a [redacted].");
}

/* Percent-encoding, in either case, and layers of it and of backslashes, of a secret that has escapes itself, too. */
static void test_layers(void) {
  static const char SECRET_TOKEN[] = "1//0ab+cd=ef%41g\"h";
  static const char *const SPELLED[] = {
    SECRET_TOKEN, "1%2F%2F0ab%2Bcd%3Def%2541g%22h", "1%2f%2f0ab%2bcd%3def%2541g%22h",
    "1%252F%252F0ab%252Bcd%253Def%252541g%2522h",
    "1\\/\\/0ab+cd=ef%41g\\\"h", "1\\\\\\/\\\\\\/0ab+cd=ef%41g\\\\\\\"h", "1\\u002f\\u002F0ab\\u002bcd=ef%41g\\\"h",
    "1\\\\u002f\\\\u002F0ab\\\\u002bcd=ef%41g\\\\\\\"h", "1%5C%2F%5c/0ab%2Bcd=ef%2541g%5C%22h",
    "1\\u00252F\\u00252F0ab+cd=ef%41g\\u005cu0022h",
  };
  struct secrets k = secrets(SECRET_TOKEN, NULL), spelled = secrets("1\\/\\/0abcdefgh", NULL);
  struct secrets digits = secrets("ab12cd34ef56", NULL), code = secrets("ubeefcafe", NULL);
  struct secrets percent = secrets("%41%42%43", NULL);
  char z[512];
  for (size_t i = 0; i < sizeof SPELLED / sizeof *SPELLED; i++) {
    (void)snprintf(z, sizeof z, "token=%s&more", SPELLED[i]);
    check_text(&k, z, "token=[redacted]&more");
    for (size_t n = strlen(SPELLED[i]) * 4 / 5; n < strlen(SPELLED[i]); n++) {
      (void)snprintf(z, sizeof z, "%.*s", (int)n, SPELLED[i]);
      check_text(&k, z, "[redacted]");
    }
  }
  check_text(&k, "1%2F%2F0ab%2Bcd%3Def%2541g%22x", "1%2F%2F0ab%2Bcd%3Def%2541g%22x");
  check_text(&k, "100% of %zz, %", "100% of %zz, %");
  check_text(&spelled, "1//0abcdefgh.", "[redacted]."); /* it was taken from JSON as it stood there */
  check_text(&digits, "%ab12cd34ef56.", "%[redacted].");
  check_text(&code, "C:\\ubeefcafe.", "C:\\[redacted].");
  check_text(&percent, "ABC %41%42%43.", "ABC [redacted].");
}

/* A secret longer than its head: to its end, as far as it goes, cut off; one of nothing but one letter. */
static void test_long(void) {
  struct mem m = mem_libc();
  struct arena a;
  char secret[3001], text[8192], expect[8192];
  for (size_t i = 0; i < sizeof secret - 1; i++) secret[i] = (char)('a' + i * i % 23);
  secret[sizeof secret - 1] = '\0';
  struct secrets k = secrets(secret, NULL);
  arena_init(&a, &m);
  (void)snprintf(text, sizeof text, "a %s, %s!", secret, secret);
  struct str s = redact(&k, &a, (struct str){ text, strlen(text) });
  CHECK_STR(s.p, s.n, "a [redacted], [redacted]!");
  for (size_t n = 8; n < 3000; n += 37) {
    (void)snprintf(text, sizeof text, "a %.*s", (int)n, secret);
    s = redact(&k, &a, (struct str){ text, strlen(text) });
    CHECK_STR(s.p, s.n, "a [redacted]");
    (void)snprintf(text, sizeof text, "a %.*s !", (int)n, secret);
    (void)snprintf(expect, sizeof expect, "%s", n < 512 ? text : "a [redacted] !");
    s = redact(&k, &a, (struct str){ text, strlen(text) });
    CHECK_STR(s.p, s.n, expect);
  }
  memset(text, 'x', 4000);
  text[4000] = '\0';
  k = secrets("xxxxxxxx", NULL);
  s = redact(&k, &a, (struct str){ text, 4000 });
  CHECK(s.n < 5100 && memchr(s.p, 'x', s.n) == NULL);
  arena_free(&a);
}

/* All that an error quotes. */
static void test_error(void) {
  struct secrets k = secrets(SECRET, NULL);
  struct err e;
  err_clear(&e);
  err_set(&e, KIND_OTHER, "no " SECRET);
  (void)snprintf(e.code, sizeof e.code, "x" SECRET);
  (void)snprintf(e.request_id, sizeof e.request_id, SECRET);
  redact_err(&k, &e);
  CHECK(strcmp(e.message, "no [redacted]") == 0 && strcmp(e.code, "x[redacted]") == 0);
  CHECK(strcmp(e.request_id, "[redacted]") == 0);
}

/* However far behind the beginning of a message a secret stands, no codec cuts it so that more than seven bytes are shown. */
static void test_codecs(void) {
#define NAME(name) #name,
  static const char *const CODECS[] = { CODEC_LIST(NAME) };
#undef NAME
  static const char *const HEADS[] = { "", "Invocation with on-demand throughput isn't supported. ", "unauthorized " };
  static const char *const BODIES[] = { "{\"message\":\"%s%.*s%s%s\"}", "{\"error\":{\"message\":\"%s%.*s%s%s\"}}",
    "{\"error\":\"%s%.*s%s%s\",\"signin_url\":\"https://x/y\"}", "{\"error\":\"%s\",\"signin_url\":\"https://x/%.*s%s%s\"}",
    "%s%.*s%s%s" };
  struct secrets k = secrets(SECRET "-and-more-of-it", NULL);
  char dots[600], tail[300], body[2048];
  memset(dots, '.', sizeof dots);
  memset(tail, '-', sizeof tail);
  tail[sizeof tail - 1] = '\0';
  for (size_t i = 0; i < sizeof CODECS / sizeof *CODECS * 15; i++) {
    const struct codec *codec = codec_by_name((struct str){ CODECS[i / 15], strlen(CODECS[i / 15]) });
    CHECK(codec != NULL);
    for (int n = 0; n < 560 && codec != NULL; n++) {
      struct mem m = mem_libc();
      struct arena a;
      struct err e;
      arena_init(&a, &m);
      (void)snprintf(body, sizeof body, BODIES[i % 5], HEADS[i / 5 % 3], n, dots, k.v[0].p, tail);
      err_clear(&e);
      codec_read_error(codec, &a, 200, STR_NONE, (struct str){ body, strlen(body) }, &e);
      redact_err(&k, &e);
      CHECK(strstr(e.message, "sk-secre") == NULL);
      arena_free(&a);
    }
  }
}

/* Every cut of a text shows at most seven bytes of the secret. */
static void test_cuts(void) {
  static const char TEXT[] = "before " SECRET;
  struct secrets k = secrets(SECRET, NULL);
  for (size_t n = 0; n < sizeof TEXT; n++) {
    char z[sizeof TEXT];
    memcpy(z, TEXT, n);
    z[n] = '\0';
    redact_inplace(&k, z, sizeof z);
    CHECK(strstr(z, "sk-secre") == NULL);
    CHECK(strncmp(z, "before ", n < 7 ? n : 7) == 0 && strlen(z) < sizeof z);
  }
}

/* A field too small for what the text becomes is cut, not overrun. */
static void test_small(void) {
  struct secrets k = secrets("abcdefgh", NULL), word = secrets("test", NULL);
  for (size_t size = 10; size < 44; size++) {
    char z[48];
    memset(z, '#', sizeof z);
    (void)snprintf(z, size, "abcdefgh-abcdefgh-abcdefgh-abcdefgh");
    redact_inplace(&k, z, size);
    CHECK(strlen(z) < size && z[size] == '#' && strstr(z, "abcd") == NULL);
    (void)snprintf(z, size, "%*s", (int)size - 1, "a test"); /* full, and ends with a word */
    redact_inplace(&word, z, size);
    CHECK(strlen(z) == size - 1 && strcmp(z + size - 5, "test") == 0);
  }
}

static void test_node(void) {
  static const char TEXT[] = "{\"a\":\"x sk-secret/0123456789\","
                             "\"sk-secret/0123456789\":[1,\"sk-secret\\/0123456789\",{\"b\":null}]}";
  struct secrets k = secrets(SECRET, NULL);
  struct failing f = { 0 };
  int done = 0;
  for (size_t at = 1; !done && at < 100; at++) {
    struct mem m;
    struct arena a;
    struct buf b;
    struct err e;
    struct node *v;
    f = (struct failing){ .fail_at = at };
    m = failing_mem(&f);
    arena_init(&a, &m);
    buf_init(&b, &m);
    v = json_tree(&a, (struct str){ TEXT, sizeof TEXT - 1 }, 16, &e);
    if (v != NULL && redact_node(&k, &a, v) == 0 && json_write(&b, v, &e) == 0) {
      done = 1;
      CHECK_STR(b.p, b.n, "{\"a\":\"x [redacted]\",\"[redacted]\":[1,\"[redacted]\",{\"b\":null}]}");
    }
    buf_free(&b);
    arena_free(&a);
    CHECK(f.live == 0 && f.wrong == 0);
  }
  CHECK(done);
  CHECK(redact_node(&k, NULL, NULL) == 0);
}

/* Names of headers are lower case, keys need not be. */
static void test_names(void) {
  static const struct { const char *text, *expect; } CASES[] = {
    { "x-request-id", "x-request-id" }, { "ab-secret-key-01", "[redacted]" }, { "x-ab-secret-key-01", "x-[redacted]" },
    { "Ab-SeCret-key-01", "[redacted]" }, { "X-Other-Name", "X-Other-Name" }, { "", "" },
  };
  struct secrets k = secrets("AB-Secret-Key-01", "test");
  struct failing f = { 0 };
  struct mem m = failing_mem(&f);
  struct arena a;
  arena_init(&a, &m);
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
    struct str s = redact_name(&k, &a, (struct str){ CASES[i].text, strlen(CASES[i].text) });
    CHECK_STR(s.p, s.n, CASES[i].expect);
  }
  arena_free(&a);
  f.fail_at = f.asked + 1;
  CHECK(redact_name(&k, &a, STR("x-name")).p == NULL);
  CHECK(f.live == 0);
}

int main(void) {
  test_names();
  test_text();
  test_characters();
  test_layers();
  test_long();
  test_error();
  test_codecs();
  test_cuts();
  test_small();
  test_node();
  return test_done("exchange/redact");
}
