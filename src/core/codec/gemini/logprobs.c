/*
** logprobs.c: how likely the tokens of a chunk were: chosenCandidates, array of {token, tokenId, logProbability}, and beside
** it topCandidates, array of {candidates = array of the same}.
** The part lies in the scratch arena. Failure: -1 and an err.
*/
#include "gemini.h"
#include "core/message/message.h"

/* A candidate; both members are JSON, the logprob is empty where it is not said. */
struct candidate {
  struct str token, logprob;
};

/* Reads an element: 1, 0 where it is no candidate, -1. A token that is left out is an empty one. */
static int read_candidate(struct gemini *s, struct str json, struct candidate *v) {
  struct json j;
  enum token t;
  *v = (struct candidate){ STR("\"\""), STR_NONE };
  if (json.p[0] != '{') return 0;
  json_open(&j, json, s->p->limits->depth, s->e);
  (void)json_next(&j);
  while ((t = json_next(&j)) == J_KEY) {
    int r = json_is(&j, "token") ? json_raw(&j, &v->token)
          : json_is(&j, "logProbability") ? json_raw(&j, &v->logprob) : json_skip(&j);
    if (r != 0) return -1;
  }
  return t == J_ERROR ? -1 : v->token.p[0] == '"';
}

/* {"token":…,"logprob":… of a candidate; the object stays open. */
static int put_candidate(struct gemini *s, struct buf *b, const struct candidate *v) {
  if (buf_adds(b, "{\"token\":") != 0 || buf_addstr(b, v->token) != 0) return err_memory(s->e);
  if (v->logprob.n == 0) return 0;
  return buf_adds(b, ",\"logprob\":") != 0 || buf_addstr(b, v->logprob) != 0 ? err_memory(s->e) : 0;
}

/* Reads {member = array}: the array's JSON, empty where there is none. 0 or -1. */
static int read_array(struct gemini *s, struct str json, const char *member, struct str *array) {
  struct json j;
  enum token t;
  *array = STR_NONE;
  if (json.n == 0 || json.p[0] != '{') return 0;
  json_open(&j, json, s->p->limits->depth, s->e);
  (void)json_next(&j);
  while ((t = json_next(&j)) == J_KEY)
    if ((json_is_(&j, member, strlen(member)) ? json_raw(&j, array) : json_skip(&j)) != 0) return -1;
  return t == J_ERROR ? -1 : 0;
}

/* The alternatives to a token: {candidates}. */
static int put_others(struct gemini *s, struct buf *b, struct str json) {
  struct elements others;
  struct str other;
  int n = 0, r = read_array(s, json, "candidates", &other);
  elements_open(&others, s->p, other, s->e);
  while (r == 0 && (r = elements_next(&others, &other)) == 0 && other.n > 0) {
    struct candidate v;
    int is = read_candidate(s, other, &v);
    if (is < 0) return -1;
    if (!is) continue;
    if (buf_adds(b, n++ == 0 ? ",\"top_logprobs\":[" : ",") != 0) return err_memory(s->e);
    if (put_candidate(s, b, &v) != 0) return -1;
    if (buf_addc(b, '}') != 0) return err_memory(s->e);
  }
  return r == 0 && n > 0 && buf_addc(b, ']') != 0 ? err_memory(s->e) : r;
}

/* The chosen tokens, each with those that stand at the same place of the other list, as an array without its last bracket; no
** more than a message takes, and a bit. */
static int put_tokens(struct gemini *s, struct buf *b, struct str json) {
  struct elements chosen, tops;
  struct str element, others;
  if (read_array(s, json, "chosenCandidates", &element) != 0 || read_array(s, json, "topCandidates", &others) != 0) return -1;
  elements_open(&chosen, s->p, element, s->e);
  elements_open(&tops, s->p, others, s->e);
  while (b->n <= LOGPROBS_MAX) {
    struct candidate v;
    if (elements_next(&chosen, &element) != 0 || elements_next(&tops, &others) != 0) return -1;
    if (element.n == 0) break;
    int is = read_candidate(s, element, &v);
    if (is < 0) return -1;
    if (!is) continue;
    if (buf_addc(b, b->n == 0 ? '[' : ',') != 0) return err_memory(s->e);
    if (put_candidate(s, b, &v) != 0 || put_others(s, b, others) != 0) return -1;
    if (buf_addc(b, '}') != 0) return err_memory(s->e);
  }
  return 0;
}

int gemini_logprobs(struct gemini *s, struct str json) {
  struct str array = STR_NONE;
  struct buf b;
  buf_init(&b, s->p->m);
  int r = put_tokens(s, &b, json);
  if (r == 0 && b.n > 0 && (buf_addc(&b, ']') != 0 || (array = arena_dup(s->p->a, buf_str(&b))).p == NULL))
    r = err_memory(s->e);
  buf_free(&b);
  if (r != 0 || array.n == 0) return r;
  return gemini_push(s, PART_LOGPROBS, 0, array) != NULL ? 0 : -1;
}
