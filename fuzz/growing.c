/*
** growing.c: a value that is read while its text arrives: at every prefix what is shown has grown out of what the prefix
** before it showed, and does not depend on where the text is cut; a prefix fails when json.h can no longer read any text
** that begins so; the whole text is valid, and says, what json.h reads. The first byte chooses the size of the pieces and
** the fence. Build with -fsanitize=fuzzer,address,undefined.
*/
#include <math.h>
#include <stdint.h>

#include "../spec/c/json/grown.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define DEPTH 64
#define PREFIXES 150 /* of more bytes, only the first prefixes are looked at */
#define REQUIRE(cond) ((cond) ? (void)0 : abort())

static const struct growing_limits LIMITS = { DEPTH, SIZE_MAX };

struct reading {
  struct arena a;
  struct err e;
  struct growing g;
  struct grown w;
};

static void begin(struct reading *r, const struct mem *m, int fence) {
  memset(r, 0, sizeof *r);
  arena_init(&r->a, m);
  r->w.a = &r->a;
  growing_init(&r->g, m, &LIMITS, fence, &r->e);
}

static void finish(struct reading *r) {
  growing_free(&r->g);
  arena_free(&r->a);
}

static void end(struct reading *r) {
  struct growth s;
  enum growth_type type = growing_end(&r->g, &s);
  if (type > GROWTH_NONE) grown_step(&r->w, type, &s);
}

/* Both have said the same. */
static void compare(const struct reading *x, const struct reading *y) {
  REQUIRE(growing_state(&x->g) == growing_state(&y->g) && x->g.depth == y->g.depth && x->w.depth == y->w.depth);
  REQUIRE(x->w.bytes == y->w.bytes && x->g.behind == y->g.behind && x->e.kind == y->e.kind);
  REQUIRE(x->e.offset == y->e.offset && strcmp(x->e.message, y->e.message) == 0);
  REQUIRE((x->w.root == NULL) == (y->w.root == NULL) && (x->w.root == NULL || node_equal(x->w.root, y->w.root)));
}

/* True when one of its numbers is beyond double, also in a member that a later one replaces. */
static int has_too_large(struct str text) {
  struct err e;
  struct json j;
  enum token t;
  json_open(&j, text, DEPTH, &e);
  while ((t = json_next(&j)) > J_EOF)
    if (t == J_BIG && !isfinite(json_double(j.text))) return 1;
  return 0;
}

/* What json.h says of the text, and whether it could go on, where it has no fence. */
static void check_whole(struct reading *r, struct arena *a, struct str text, int is_bom) {
  struct err e;
  err_clear(&e);
  struct node *v = json_tree(a, text, DEPTH, &e);
  int too_large = v != NULL && has_too_large(text);
  if (v != NULL) (void)node_doubles(v);
  int open = growing_state(&r->g) == GROWING_OPEN, failed = growing_state(&r->g) == GROWING_FAILED;
  end(r);
  if (too_large) { /* json_tree keeps the text of a number beyond double */
    REQUIRE(growing_state(&r->g) == GROWING_FAILED && r->e.kind == KIND_PROTOCOL);
    return;
  }
  REQUIRE((v != NULL) == (growing_state(&r->g) == GROWING_WHOLE && r->g.behind == 0));
  if (v != NULL) REQUIRE(r->w.depth == 0 && node_equal(v, r->w.root) && node_equal(r->w.root, v));
  else if (open && e.kind == KIND_PROTOCOL) REQUIRE(is_bom || str_trim(text).n == 0 || json_is_cut(text));
  if (failed && r->e.kind == KIND_PROTOCOL && strcmp(r->e.message, "JSON: a number is too large") != 0)
    REQUIRE(e.kind != KIND_NONE && (e.kind == KIND_LIMIT || !json_is_cut(text)));
}

/* Nothing, or a byte-order mark that may have white space behind it, of which json_is_cut knows only the whole one. */
static int begins_bom(struct str text) {
  return text.n == 0 || (text.n < 3 && memcmp(text.p, "\xEF\xBB\xBF", text.n) == 0) ||
         (str_begins(text, "\xEF\xBB\xBF") && str_trim((struct str){ text.p + 3, text.n - 3 }).n == 0);
}

/* Byte by byte, and each prefix once more at once. */
static void check_prefixes(const struct mem *m, struct str text, int fence) {
  struct reading bytes, last, prefix;
  begin(&bytes, m, fence);
  begin(&last, m, fence);
  grown_feed(&last.w, &last.g, text, text.n + 1);
  for (size_t n = 0; n <= text.n && n <= PREFIXES; n++) {
    struct str s = { text.p, n };
    struct node *before = bytes.w.root == NULL ? NULL : node_copy(&bytes.a, bytes.w.root);
    if (n > 0 && growing_state(&bytes.g) != GROWING_FAILED) grown_feed(&bytes.w, &bytes.g, (struct str){ s.p + n - 1, 1 }, 1);
    begin(&prefix, m, fence);
    grown_feed(&prefix.w, &prefix.g, s, n + 1);
    compare(&prefix, &bytes);
    if (!last.w.replaced) REQUIRE(grown_extends(bytes.w.root, before) && grown_extends(last.w.root, bytes.w.root));
    if (!fence) check_whole(&prefix, &prefix.a, s, begins_bom(s));
    finish(&prefix);
  }
  finish(&last);
  finish(&bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct mem m = mem_libc();
  struct reading whole, pieces;
  if (size == 0) return 0;
  struct str text = { (const char *)data + 1, size - 1 };
  int fence = data[0] >= 128;
  begin(&whole, &m, fence);
  begin(&pieces, &m, fence);
  grown_feed(&whole.w, &whole.g, text, text.n + 1);
  grown_feed(&pieces.w, &pieces.g, text, data[0] % 32 + 1);
  compare(&whole, &pieces);
  if (!fence) check_whole(&whole, &whole.a, text, begins_bom(text));
  finish(&whole);
  finish(&pieces);
  check_prefixes(&m, text, fence);
  return 0;
}
