/*
** quirks.c: what every wire format shares: the quirks that rows may set, and the array of warnings.
** Owns nothing: words are borrowed from the table below. Failure: -1 and an err, or -1 (memory).
*/
#include "codec.h"

#include <limits.h>
#include <stddef.h>
#include <stdio.h>

/* {{{ quirks */

enum quirk_type { QUIRK_BOOL, QUIRK_INT, QUIRK_WORD };

#define WORDS_MAX 9

struct quirk {
  const char *name;
  enum quirk_type type;
  size_t at;                          /* where in struct quirks */
  const char *words[WORDS_MAX];       /* QUIRK_WORD: those allowed, the default first */
};

#define BOOL(name) { #name, QUIRK_BOOL, offsetof(struct quirks, name), { NULL } }
#define INT(name) { #name, QUIRK_INT, offsetof(struct quirks, name), { NULL } }
#define WORD(name, ...) { #name, QUIRK_WORD, offsetof(struct quirks, name), { __VA_ARGS__ } }

/* Meanings: codec.h. Flags and numbers are 0 by default, words the first of their list. */
static const struct quirk QUIRKS[] = {
  INT(context_window),
  WORD(structured, "none", "object", "schema"),
  BOOL(structured_tools),
  BOOL(structured_strict),
  BOOL(no_json_object),
  WORD(forced_choice, "always", "unthinking", "never"),
  WORD(schema_dialect, "plain", "openai_strict", "anthropic", "bedrock", "gemini", "ollama", "gbnf"),
  BOOL(thinking_default),
  BOOL(no_sampling),
  BOOL(no_prefill),
  WORD(route, "versioned", "unversioned", "raw_predict"),
  BOOL(unsigned_thinking),
  WORD(max_tokens_field, "max_tokens", "max_completion_tokens"),
  WORD(system_role, "system", "developer", "user"),
  BOOL(no_stream_usage),
  WORD(null_content, "null", "empty", "omit"),
  WORD(reasoning_field, "none", "reasoning_content", "reasoning", "reasoning_text", "reasoning_details", "content"),
  WORD(reasoning_replay, "origin", "always", "never"),
  WORD(effort, "reasoning_effort", "reasoning", "thinking", "enable_thinking", "none_or_high", "none",
       "template"),
  WORD(tool_choice_any, "required", "any"),
  WORD(tool_id, "any", "alnum9"),
  INT(tool_id_max),
  BOOL(image_string),
  BOOL(image_data_only),
  BOOL(no_documents),
  BOOL(no_images),
  BOOL(tool_result_name),
  BOOL(no_additional_properties),
  BOOL(no_effort_with_tools),
  BOOL(no_stop),
  BOOL(no_strict),
  WORD(seed_field, "seed", "random_seed", "none"),
  BOOL(top_k),
  BOOL(min_p),
  WORD(logprobs, "top_logprobs", "count", "flag", "none"),
  INT(logprobs_most),
  BOOL(bare_output),
  BOOL(dedup_reasoning),
  BOOL(reasoning_outside_output),
  BOOL(reports_cost),
  BOOL(inline_think),
  BOOL(leaked_calls),
  BOOL(system_in_input),
  BOOL(no_encrypted_reasoning),
  WORD(family, "other", "claude", "nova", "nova2", "llama", "mistral_large", "gpt_oss", "thinker"),
  BOOL(before_gemini_3),
  BOOL(no_system_prompt),
  INT(thinking_least),
  INT(thinking_most),
  BOOL(thinking_always),
  WORD(least_level, "low", "minimal"),
  BOOL(metadata_labels),
  BOOL(plain_count),
  BOOL(no_tool_invocations),
  BOOL(openapi_schema),
  WORD(refusals, "own", "bedrock"),
};

#define QUIRK_COUNT (sizeof QUIRKS / sizeof QUIRKS[0])

static int *int_at(struct quirks *q, const struct quirk *k) { return (int *)(void *)((char *)q + k->at); }

static const char **word_at(struct quirks *q, const struct quirk *k) {
  return (const char **)(void *)((char *)q + k->at);
}

void quirks_default(struct quirks *q) {
  memset(q, 0, sizeof *q);
  for (size_t i = 0; i < QUIRK_COUNT; i++)
    if (QUIRKS[i].type == QUIRK_WORD) *word_at(q, &QUIRKS[i]) = QUIRKS[i].words[0];
}

/* Describes the value that a row gave, for an error message. */
static const char *describe(const struct node *v, char *scratch, size_t n) {
  switch (v == NULL ? NODE_NULL : v->type) {
    case NODE_FALSE: return "false";
    case NODE_TRUE: return "true";
    case NODE_INT: snprintf(scratch, n, "%lld", (long long)v->u.i); return scratch;
    case NODE_STRING:
      snprintf(scratch, n, "\"%.*s\"", v->s.n > 40 ? 40 : (int)v->s.n, v->s.n > 0 ? v->s.p : "");
      return scratch;
    case NODE_DOUBLE: case NODE_BIG: return "another number";
    case NODE_ARRAY: return "an array";
    case NODE_OBJECT: return "an object";
    default: return "nothing";
  }
}

static int reject(const struct quirk *k, const char *expected, const struct node *v, struct err *e) {
  char field[64], got[64];
  snprintf(field, sizeof field, "quirks.%s", k->name);
  return err_argument(e, field, expected, describe(v, got, sizeof got));
}

static int set_word(const struct quirk *k, const char **word, const struct node *v, struct err *e) {
  char expected[128] = "one of";
  for (int i = 0; i < WORDS_MAX && k->words[i] != NULL; i++)
    if (node_is(v, NODE_STRING) && str_is(v->s, k->words[i], strlen(k->words[i]))) { *word = k->words[i]; return 0; }
  for (int i = 0; i < WORDS_MAX && k->words[i] != NULL; i++) {
    size_t n = strlen(expected);
    snprintf(expected + n, sizeof expected - n, "%s %s", i > 0 ? "," : "", k->words[i]);
  }
  return reject(k, expected, v, e);
}

/* A whole number from 0 on, as an integer or as a double without a fraction. */
static int set_int(const struct quirk *k, int *to, const struct node *v, struct err *e) {
  double d = node_is(v, NODE_INT) ? (double)v->u.i : node_is(v, NODE_DOUBLE) ? v->u.d : -1;
  if (!(d >= 0 && d <= INT_MAX && d == (double)(int)d)) return reject(k, "integer, 0 or more", v, e);
  *to = (int)d;
  return 0;
}

int quirks_set(struct quirks *q, struct str name, const struct node *value, struct err *e) {
  for (size_t i = 0; i < QUIRK_COUNT; i++) {
    const struct quirk *k = &QUIRKS[i];
    if (!str_is(name, k->name, strlen(k->name))) continue;
    if (k->type == QUIRK_WORD) return set_word(k, word_at(q, k), value, e);
    if (k->type == QUIRK_INT) return set_int(k, int_at(q, k), value, e);
    if (!node_is(value, NODE_TRUE) && !node_is(value, NODE_FALSE)) return reject(k, "true or false", value, e);
    *int_at(q, k) = node_is(value, NODE_TRUE);
    return 0;
  }
  char got[64];
  snprintf(got, sizeof got, "\"%.*s\"", name.n > 40 ? 40 : (int)name.n, name.n > 0 ? name.p : "");
  return err_argument(e, "quirks", "name of a known quirk", got);
}

/* }}} */

static struct node *c_string(struct arena *a, const char *s) {
  return node_string(a, (struct str){ s, strlen(s) });
}

int codec_warn(struct arena *a, struct node *warnings, const char *code, const char *field, const char *message) {
  struct node *w = node_new(a, NODE_OBJECT);
  if (w == NULL || node_set(w, STR("code"), c_string(a, code)) != 0) return -1;
  if (field[0] != '\0' && node_set(w, STR("field"), c_string(a, field)) != 0) return -1;
  if (node_set(w, STR("message"), c_string(a, message)) != 0) return -1;
  return node_add(warnings, w);
}
