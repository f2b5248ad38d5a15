/*
** cut.c: whether the server left out a part of the history. It drops the oldest messages until the rest fits the context
** that the model was loaded with, and says nothing; what gives it away is how many tokens it read.
** Owns nothing; nothing here fails.
*/
#include "ollama.h"

/* No text has so many characters in a token, repeated ones not counted: English has about five. */
#define TOKEN_MAX 8
/* Shorter ones are not judged: counts of a few tokens say little. */
#define CHARACTERS_MIN 2048

/* Characters of a string as it stands in JSON: bytes that begin one, but for those that repeat the one before and for
** white space behind white space. */
static size_t count(struct str s) {
  size_t n = 0;
  char last = '\0';
  for (size_t i = 0; i < s.n; i++) {
    char c = s.p[i];
    if (c == '\\' && i + 1 < s.n) c = s.p[++i] == 'n' || s.p[i] == 't' || s.p[i] == 'r' ? ' ' : s.p[i];
    if (((unsigned char)c & 0xC0) == 0x80) continue;
    if (c != last) n++;
    last = c;
  }
  return n;
}

static int read_options(struct ollama_sent *s, struct json *j) {
  enum token t = json_next(j);
  if (t != J_OBJECT) return t == J_ERROR ? -1 : json_skip(j);
  while ((t = json_next(j)) == J_KEY)
    if ((json_is(j, "num_ctx") ? codec_count(j, &s->context) : json_skip(j)) != 0) return -1;
  return t == J_ERROR ? -1 : 0;
}

/* One message; j stands behind its opening brace. */
static int read_message(struct ollama_sent *s, struct json *j) {
  enum token t;
  while ((t = json_next(j)) == J_KEY) {
    if (!json_is(j, "content")) {
      if (json_skip(j) != 0) return -1;
    } else if ((t = json_next(j)) == J_STRING) {
      s->characters += count(j->text);
    } else if (t == J_ERROR || json_skip(j) != 0) return -1;
  }
  return t == J_ERROR ? -1 : 0;
}

static int read_messages(struct ollama_sent *s, struct json *j) {
  enum token t = json_next(j);
  if (t != J_ARRAY) return t == J_ERROR ? -1 : json_skip(j);
  while ((t = json_next(j)) != J_ARRAY_END)
    if (t == J_OBJECT ? read_message(s, j) != 0 : t == J_ERROR || json_skip(j) != 0) return -1;
  return 0;
}

void ollama_sent_read(struct ollama_sent *s, struct str body) {
  struct err scratch;
  struct json j;
  if (body.n == 0) return;
  err_clear(&scratch);
  json_open(&j, body, JSON_DEPTH_MAX, &scratch);
  if (json_next(&j) != J_OBJECT) return;
  while (json_next(&j) == J_KEY) {
    int r = json_is(&j, "options") ? read_options(s, &j)
          : json_is(&j, "messages") ? read_messages(s, &j) : json_skip(&j);
    if (r != 0) return;
  }
}

struct ollama_cut ollama_cut_of(const struct ollama_sent *s, int64_t input, int64_t output) {
  static const struct ollama_cut CUT = { "history_cut",
    "the server read far fewer tokens than the messages have: it left the oldest out, as they did not fit its context "
    "(num_ctx)" };
  static const struct ollama_cut FULL = { "context_full",
    "prompt and answer fill the context (num_ctx): the server leaves out the oldest messages, or ends the answer" };
  if (input > 0 && s->characters >= CHARACTERS_MIN && (int64_t)(s->characters / TOKEN_MAX) > input) return CUT;
  if (s->context > 0 && input >= 0 && output >= 0 && input + output >= s->context) return FULL;
  return (struct ollama_cut){ NULL, NULL };
}
