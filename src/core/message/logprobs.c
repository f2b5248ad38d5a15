/*
** logprobs.c: how likely the tokens of an answer were, as a tree, at its end. The codecs bring them in one form, OpenAI's,
** whose JSON the message holds as it came; elements without a token are left out.
** The tree borrows from the message and lies in the caller's arena. Fails with NULL: out of memory.
*/
#include "block.h"

#include <math.h>

#define BYTES_MAX 1024 /* of one token; of a longer one no bytes are told */

/* One token: what an element says of it. */
struct token_info {
  struct str token, bytes;    /* p NULL = not said */
  struct node *logprob, *top; /* NULL = not said */
};

/* The next value: a number as a node; one beyond double, which JSON could not say again, and anything else is skipped.
** 0 or -1. */
static int read_number(struct json *j, struct arena *a, struct node **number) {
  enum token t = json_next(j);
  if (t != J_INT && t != J_DOUBLE && t != J_BIG) return t == J_ERROR ? -1 : json_skip(j);
  double d = t == J_INT ? (double)j->i : t == J_BIG ? json_double(j->text) : j->d;
  if (!isfinite(d)) return 0;
  *number = node_double(a, d);
  return *number == NULL ? -1 : 0;
}

/* The next value: an array of bytes as a string; anything else says nothing. 0 or -1. */
static int read_bytes(struct json *j, struct arena *a, struct str *bytes) {
  char v[BYTES_MAX];
  size_t n = 0;
  int odd = 0;
  enum token t = json_next(j);
  if (t != J_ARRAY) return t == J_ERROR ? -1 : json_skip(j);
  while ((t = json_next(j)) != J_ARRAY_END) {
    if (t == J_INT && j->i >= 0 && j->i <= 255 && n < BYTES_MAX) v[n++] = (char)(unsigned char)j->i;
    else odd = 1;
    if (t == J_ERROR || json_skip(j) != 0) return -1;
  }
  if (odd) return 0;
  *bytes = arena_dup(a, (struct str){ v, n });
  return bytes->p == NULL ? -1 : 0;
}

static int read_list(struct json *j, struct arena *a, struct node *list, int within);

/* The next value: an array of alternatives, added to *top; anything else says nothing. 0 or -1. */
static int read_top(struct json *j, struct arena *a, struct node **top) {
  enum token t = json_next(j);
  if (t != J_ARRAY) return t == J_ERROR ? -1 : json_skip(j);
  if (*top == NULL && (*top = node_new(a, NODE_ARRAY)) == NULL) return -1;
  return read_list(j, a, *top, 1);
}

/* The members of an element, behind its brace. 0 or -1. */
static int read_token(struct json *j, struct arena *a, struct token_info *info, int within) {
  enum token t;
  while ((t = json_next(j)) == J_KEY) {
    int r = 0;
    if (json_is(j, "token")) {
      if (json_next(j) == J_STRING) r = json_text(j, a, &info->token);
      else r = json_skip(j);
    } else if (json_is(j, "logprob")) r = read_number(j, a, &info->logprob);
    else if (json_is(j, "bytes")) r = read_bytes(j, a, &info->bytes);
    else if (!within && json_is(j, "top_logprobs")) r = read_top(j, a, &info->top);
    else r = json_skip(j);
    if (r != 0) return -1;
  }
  return t == J_ERROR ? -1 : 0;
}

/* Appends the token; one that stands `within` another's alternatives has none itself. 0 or -1. */
static int add_token(struct arena *a, struct node *list, const struct token_info *info, int within) {
  struct node *o;
  if (info->token.p == NULL) return 0;
  if ((o = node_new(a, NODE_OBJECT)) == NULL || node_set(o, STR("token"), node_string(a, info->token)) != 0) return -1;
  if (info->logprob != NULL && node_set(o, STR("logprob"), info->logprob) != 0) return -1;
  if (info->bytes.p != NULL && node_set(o, STR("bytes"), node_string(a, info->bytes)) != 0) return -1;
  if (!within && node_set(o, STR("top"), info->top != NULL ? info->top : node_new(a, NODE_ARRAY)) != 0) return -1;
  return node_add(list, o);
}

/* Appends the elements of an array, behind its bracket. 0 or -1. */
static int read_list(struct json *j, struct arena *a, struct node *list, int within) {
  enum token t;
  while ((t = json_next(j)) != J_ARRAY_END) {
    struct token_info info = { .token = STR_NONE };
    if (t == J_ERROR) return -1;
    if (t != J_OBJECT) {
      if (json_skip(j) != 0) return -1;
      continue;
    }
    if (read_token(j, a, &info, within) != 0 || add_token(a, list, &info, within) != 0) return -1;
  }
  return 0;
}

struct node *logprobs_node(const struct message *msg, struct arena *a) {
  struct str rest = buf_str(&msg->logprobs);
  struct node *list = node_new(a, NODE_ARRAY);
  struct err scratch;
  struct json j;
  while (list != NULL && rest.n > 0) { /* arrays that their codec found to be right, so that only memory fails */
    json_open(&j, rest, msg->limits->depth, &scratch);
    if (json_next(&j) != J_ARRAY || read_list(&j, a, list, 0) != 0) return NULL;
    rest = (struct str){ j.p, (size_t)(j.end - j.p) };
  }
  return list;
}
