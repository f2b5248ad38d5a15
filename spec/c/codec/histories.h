/*
** histories.h: long histories of many shapes, and their way through every codec's render, so that tools/linear.sh can see
** that what a history costs grows with its length alone.
*/
#ifndef KOINE_SPEC_C_CODEC_HISTORIES_H
#define KOINE_SPEC_C_CODEC_HISTORIES_H

#include "kit.h"

/* Pieces that are written again and again, or once: ' stands for ", # for the number of the round, ~ for the same from
** the last one down. */
struct repeated {
  const char *head, *unit, *tail;
  int once;
};

#define CALL_OF(id, more) "{'type':'tool_use','id':'" id "','name':'f','arguments':{'a':1}" more "}"
#define ANSWER_TO(id) "{'type':'tool_result','tool_use_id':'" id "','content':'r'}"
#define SAYS(role, blocks) "{'role':'" role "','content':[" blocks "]}"
#define ALL_OF(role, unit) { "{'role':'" role "','content':[", unit, "]}", 0 }
#define FIRST SAYS("user", "{'type':'text','text':'a'}")
#define DOCUMENT_OF(title) \
  "{'type':'document','title':'" title "','media_type':'text/plain','source':'aGVsbG8='}"
#define OWN(provider, raw) ",'provider_data':{'provider':'" provider "','model':'m','raw':'" raw "'}"

#define ONCE(message) { "", message, "", 1 }
#define TURNS(messages) { "", messages, "", 0 }

static const struct history_shape {
  const char *name;
  struct repeated parts[3];
} history_shapes[] = {
  { "history-turns", { TURNS(FIRST "," SAYS("assistant", CALL_OF("t#", "")) "," SAYS("user", ANSWER_TO("t#"))) } },
  { "history-calls", { ONCE(FIRST), ALL_OF("assistant", CALL_OF("t#", "")),
                       ALL_OF("user", ANSWER_TO("t#")) } },
  { "history-reversed", { ONCE(FIRST), ALL_OF("assistant", CALL_OF("t#", "")),
                          ALL_OF("user", ANSWER_TO("t~")) } },
  { "history-late-results", { TURNS(FIRST "," SAYS("assistant", CALL_OF("t#", ""))), ONCE(FIRST),
                              ALL_OF("user", ANSWER_TO("t~")) } },
  { "history-equal-ids", { TURNS(SAYS("assistant", CALL_OF("t", "")) "," SAYS("user", ANSWER_TO("t"))) } },
  { "history-blank-ids", { ONCE(FIRST), ALL_OF("assistant", CALL_OF("", "")),
                           ALL_OF("user", ANSWER_TO("")) } },
  { "history-no-results", { ONCE(FIRST), ALL_OF("assistant", CALL_OF("t#", "")), ONCE(FIRST) } },
  { "history-no-calls", { ONCE(FIRST), ALL_OF("user", ANSWER_TO("t#")), ONCE(FIRST) } },
  { "history-said-twice", { ONCE(FIRST), ALL_OF("assistant", CALL_OF("t#", "") "," CALL_OF("t#", "")),
                            ALL_OF("user", ANSWER_TO("t#") "," ANSWER_TO("t#")) } },
  { "history-foreign", { ONCE(FIRST), ALL_OF("assistant", "{'type':'text','text':'a'},{'type':'text','text':''},"
                           "{'type':'thinking','thinking':'b'},{'type':'opaque'" OWN("x", "{}") "}"),
                         ONCE(FIRST) } },
  { "history-own", { ONCE(FIRST), ALL_OF("assistant", "{'type':'thinking','thinking':'b','signature':'s'"
                       OWN("here", "{\\'a\\':1}") "},{'type':'text','text':'a'" OWN("here", "{\\'b\\':1}") "},"
                       "{'type':'opaque'" OWN("here", "{\\'type\\':\\'x\\'}") "}"), ONCE(FIRST) } },
  { "history-media", { ALL_OF("user", "{'type':'image','media_type':'image/png','source':'aGVsbG8='}") } },
  { "history-documents", { ALL_OF("user", DOCUMENT_OF("a")), ONCE(SAYS("assistant", "{'type':'text','text':'b'}")),
                           ALL_OF("user", DOCUMENT_OF("a #")) } },
  { "history-result-media", { ONCE(FIRST), ALL_OF("assistant", CALL_OF("t#", "")),
      ALL_OF("user", "{'type':'tool_result','tool_use_id':'t~','is_error':true,'content':[{'type':'image',"
                     "'media_type':'image/gif','source':'aGVsbG8='},{'type':'text','text':''}]}") } },
  { "history-parallel", { ONCE(FIRST),
      ALL_OF("assistant", CALL_OF("t#_1", OWN("here", "{\\'parallel\\':\\'t#\\',\\'item\\':{\\'type\\':\\'function_call\\',"
        "\\'name\\':\\'parallel\\',\\'arguments\\':\\'{\\\\\\'tool_uses\\\\\\':[{\\\\\\'recipient_name\\\\\\':"
        "\\\\\\'functions.f\\\\\\',\\\\\\'parameters\\\\\\':{\\\\\\'a\\\\\\':1}},{\\\\\\'recipient_name\\\\\\':"
        "\\\\\\'functions.f\\\\\\',\\\\\\'parameters\\\\\\':{\\\\\\'a\\\\\\':1}}]}\\'}}"))
        "," CALL_OF("t#_2", OWN("here", "{\\'parallel\\':\\'t#\\'}"))),
      ALL_OF("user", ANSWER_TO("t~_1") "," ANSWER_TO("t~_2")) } },
};

#undef CALL_OF
#undef ANSWER_TO
#undef SAYS
#undef ALL_OF
#undef FIRST
#undef ONCE
#undef TURNS
#undef DOCUMENT_OF
#undef OWN

#define HISTORY_SHAPES (sizeof history_shapes / sizeof *history_shapes)

/* The wires, with the settings that ask more of a history. */
static const struct { const struct codec *codec; const char *quirks; } history_wires[] = {
  { &codec_anthropic, "{}" }, { &codec_bedrock, "{'family':'claude'}" }, { &codec_bedrock, "{'family':'llama'}" },
  { &codec_bedrock_invoke, "{}" }, { &codec_chat, "{'tool_result_name':true,'tool_id':'alnum9'}" },
  { &codec_chat, "{'reasoning_field':'reasoning_details','reasoning_replay':'always'}" },
  { &codec_gemini, "{}" }, { &codec_gemini, "{'before_gemini_3':true}" }, { &codec_ollama, "{}" },
  { &codec_responses, "{}" }
};

/* Appends the text for round i of n. 0 or -1. */
static inline int history_add(struct buf *b, const char *s, size_t i, size_t n) {
  char number[24];
  int bad = 0;
  for (; *s != '\0' && !bad; s++) {
    if (*s == '#' || *s == '~') {
      snprintf(number, sizeof number, "%zu", *s == '#' ? i : n - 1 - i);
      bad = buf_adds(b, number) != 0;
    } else bad = buf_addc(b, *s == '\'' ? '"' : *s) != 0;
  }
  return bad ? -1 : 0;
}

/* The request whose history has this shape, n rounds of each part. 0 or -1. */
static inline int history_write(struct buf *b, const struct history_shape *shape, size_t n) {
  int bad = history_add(b, "{'model':'m','cache_retention':'short','messages':[", 0, 0) != 0;
  for (size_t k = 0; k < 3 && !bad && shape->parts[k].unit != NULL; k++) {
    const struct repeated *p = &shape->parts[k];
    size_t rounds = p->once ? 1 : n;
    if (k > 0) bad = buf_addc(b, ',') != 0;
    bad |= history_add(b, p->head, 0, 0);
    for (size_t i = 0; i < rounds && !bad; i++)
      bad = (i > 0 && buf_addc(b, ',') != 0) || history_add(b, p->unit, i, n) != 0;
    bad |= history_add(b, p->tail, 0, 0);
  }
  return bad || buf_adds(b, "]}") != 0 ? -1 : 0;
}

/* The bytes that a wire makes of the request; 0 and a word of it where it refuses. */
static inline size_t history_render(size_t wire, struct str request) {
  struct mem m = mem_libc();
  struct rendering x;
  size_t n = 0;
  int bad;
  if (rendering_open(&x, history_wires[wire].codec, &m, "{}") != 0) return 0;
  set_quirks(&x.quirks, history_wires[wire].quirks);
  x.r.request = json_tree(&x.a, request, 64, &x.e);
  bad = x.r.request == NULL || history_wires[wire].codec->render(&x.r, &x.e) != 0;
  if (bad) fprintf(stderr, "%s: %s\n", history_wires[wire].codec->name, x.e.message);
  else n = x.body.n;
  rendering_close(&x);
  return n;
}

/* Renders the history of n rounds for every wire: the bytes of all requests, or 0 where one was refused. */
static inline size_t history_render_all(const struct history_shape *shape, size_t n) {
  struct mem m = mem_libc();
  struct buf b;
  size_t sum = 0, got = 1;
  buf_init(&b, &m);
  if (history_write(&b, shape, n) != 0) got = 0;
  for (size_t i = 0; i < sizeof history_wires / sizeof *history_wires && got > 0; i++)
    sum += got = history_render(i, buf_str(&b));
  buf_free(&b);
  return got > 0 ? sum : 0;
}

#endif
