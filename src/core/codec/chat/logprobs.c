/*
** logprobs.c: how likely the tokens of a choice were: {content, refusal}, arrays of tokens, as OpenAI has it; or the older
** {tokens, token_logprobs, top_logprobs}, three arrays side by side, which Together and Fireworks answer with.
** Parts borrow from the chunk or lie in the scratch arena. Failure: -1 and an err.
*/
#include "chat.h"
#include "core/message/message.h"

/* The members of a choice's logprobs, JSON; empty = absent. */
struct members {
  struct str content, refusal, tokens, logprobs, top;
};

static int is_array(struct str json) { return json.n > 0 && json.p[0] == '['; }

static int push(struct chat *c, struct str array) {
  if (!is_array(array)) return 0;
  return codec_push(c->out, PART_LOGPROBS, 0, array, c->e) == NULL ? -1 : 0;
}

/* {{{ three arrays side by side */

/* "token" and "logprob" of one, whose object stays open; both are JSON. */
static int put_token(struct chat *c, struct buf *b, struct str token, struct str logprob) {
  if (buf_adds(b, "{\"token\":") != 0 || buf_addstr(b, token) != 0) return err_memory(c->e);
  if (logprob.n == 0) return 0;
  return buf_adds(b, ",\"logprob\":") != 0 || buf_addstr(b, logprob) != 0 ? err_memory(c->e) : 0;
}

/* The alternatives to a token: {token: logprob}; anything else is none. */
static int put_others(struct chat *c, struct buf *b, struct str others) {
  struct json j;
  enum token t;
  int n = 0;
  if (others.n == 0 || others.p[0] != '{') return 0;
  json_open(&j, others, c->p->limits->depth, c->e);
  (void)json_next(&j);
  while ((t = json_next(&j)) == J_KEY) {
    struct str token = { j.text.p - 1, j.text.n + 2 }, logprob; /* with its quotes */
    if (json_raw(&j, &logprob) != 0) return -1;
    if (buf_adds(b, n++ == 0 ? ",\"top_logprobs\":[" : ",") != 0) return err_memory(c->e);
    if (put_token(c, b, token, logprob) != 0) return -1;
    if (buf_addc(b, '}') != 0) return err_memory(c->e);
  }
  if (t == J_ERROR) return -1;
  return n > 0 && buf_addc(b, ']') != 0 ? err_memory(c->e) : 0;
}

/* The tokens in OpenAI's form, as an array without its last bracket; no more than a message takes, and a bit. */
static int put_arrays(struct chat *c, struct buf *b, const struct members *m) {
  struct elements tokens, logprobs, tops;
  struct str token, logprob, others;
  elements_open(&tokens, c->p, m->tokens, c->e);
  elements_open(&logprobs, c->p, m->logprobs, c->e);
  elements_open(&tops, c->p, m->top, c->e);
  while (b->n <= LOGPROBS_MAX) {
    if (elements_next(&tokens, &token) != 0 || elements_next(&logprobs, &logprob) != 0 || elements_next(&tops, &others) != 0)
      return -1;
    if (token.n == 0) break;
    if (token.p[0] != '"') continue;
    if (buf_addc(b, b->n == 0 ? '[' : ',') != 0) return err_memory(c->e);
    if (put_token(c, b, token, logprob) != 0 || put_others(c, b, others) != 0) return -1;
    if (buf_addc(b, '}') != 0) return err_memory(c->e);
  }
  return 0;
}

static int push_arrays(struct chat *c, const struct members *m) {
  struct str array = STR_NONE;
  struct buf b;
  buf_init(&b, c->p->m);
  int r = put_arrays(c, &b, m);
  if (r == 0 && b.n > 0 && (buf_addc(&b, ']') != 0 || (array = arena_dup(c->p->a, buf_str(&b))).p == NULL))
    r = err_memory(c->e);
  buf_free(&b);
  return r == 0 ? push(c, array) : -1;
}

/* }}} */

int chat_logprobs(struct chat *c, struct str json) {
  struct members m = { .content = STR_NONE };
  struct json j;
  json_open(&j, json, c->p->limits->depth, c->e);
  if (json_next(&j) != J_OBJECT) return 0;
  while (json_next(&j) == J_KEY) {
    int r = json_is(&j, "content") ? codec_raw(&j, &m.content)
          : json_is(&j, "refusal") ? codec_raw(&j, &m.refusal)
          : json_is(&j, "tokens") ? codec_raw(&j, &m.tokens)
          : json_is(&j, "token_logprobs") ? codec_raw(&j, &m.logprobs)
          : json_is(&j, "top_logprobs") ? codec_raw(&j, &m.top) : json_skip(&j);
    if (r != 0) return -1;
  }
  if (!is_array(m.content) && !is_array(m.refusal)) return is_array(m.tokens) ? push_arrays(c, &m) : 0;
  return push(c, m.content) != 0 ? -1 : push(c, m.refusal);
}
