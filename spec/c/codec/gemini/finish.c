/* finish.c: every two reasons for the end of one of Gemini's answers, in both orders: the worse news counts, of equal ones the
** later, and the answer ends as with that reason alone. */
#define CODEC codec_gemini
#include "codec/parts.h"

/* The meaning of a reason for an answer, from bad to worse; EMPTY: that of an answer that says nothing. */
enum news { WHOLE, UNCLEAR, CUT, EMPTY, HELD_BACK, NONE };

enum content { NOTHING, TEXT, CALL, CONTENTS };

static const struct { const char *parts; } CONTENT[CONTENTS] = { { "" }, { "{'text':'a'}" },
                                                                  { "{'functionCall':{'name':'f'}}" } };

/* A reason; "!" before it: why the prompt was refused. */
static const struct { const char *word; enum news of[CONTENTS]; } REASONS[] = {
  { "STOP", { WHOLE, WHOLE, WHOLE } },
  { "FINISH_REASON_UNSPECIFIED", { UNCLEAR, UNCLEAR, UNCLEAR } },
  { "NEW_WORD", { UNCLEAR, UNCLEAR, UNCLEAR } },
  { "MAX_TOKENS", { CUT, CUT, CUT } },
  { "OTHER", { EMPTY, UNCLEAR, UNCLEAR } },
  { "NO_IMAGE", { EMPTY, UNCLEAR, UNCLEAR } },
  { "IMAGE_OTHER", { EMPTY, UNCLEAR, UNCLEAR } },
  { "SAFETY", { HELD_BACK, HELD_BACK, HELD_BACK } },
  { "RECITATION", { HELD_BACK, HELD_BACK, HELD_BACK } },
  { "BLOCKLIST", { HELD_BACK, HELD_BACK, HELD_BACK } },
  { "PROHIBITED_CONTENT", { HELD_BACK, HELD_BACK, HELD_BACK } },
  { "SPII", { HELD_BACK, HELD_BACK, HELD_BACK } },
  { "LANGUAGE", { HELD_BACK, HELD_BACK, HELD_BACK } },
  { "IMAGE_SAFETY", { HELD_BACK, HELD_BACK, HELD_BACK } },
  { "IMAGE_PROHIBITED_CONTENT", { HELD_BACK, HELD_BACK, HELD_BACK } },
  { "IMAGE_RECITATION", { HELD_BACK, HELD_BACK, HELD_BACK } },
  { "MODEL_ARMOR", { HELD_BACK, HELD_BACK, HELD_BACK } },
  { "!SAFETY", { HELD_BACK, HELD_BACK, HELD_BACK } },
  { "!OTHER", { HELD_BACK, HELD_BACK, HELD_BACK } },
  { "!JAILBREAK", { HELD_BACK, HELD_BACK, HELD_BACK } },
  { "UNEXPECTED_TOOL_CALL", { NONE, NONE, UNCLEAR } },
  { "MALFORMED_FUNCTION_CALL", { NONE, NONE, NONE } },
  { "TOO_MANY_TOOL_CALLS", { NONE, NONE, NONE } },
};

#define REASON_COUNT (sizeof REASONS / sizeof *REASONS)

/* The chunk with a reason; without a word one that says nothing. */
static const char *chunk(char *to, size_t size, const char *word) {
  if (word == NULL) (void)snprintf(to, size, "{}");
  else if (word[0] == '!') (void)snprintf(to, size, "{'promptFeedback':{'blockReason':'%s'}}", word + 1);
  else (void)snprintf(to, size, "{'candidates':[{'finishReason':'%s'}]}", word);
  return to;
}

/* Logs the outcome of an answer with this content that ends with these reasons. */
static void answer(struct log *log, enum content content, const char *first, const char *second) {
  static char says[128], a[128], b[128];
  struct mem m = mem_libc();
  struct quirks q;
  quirks_default(&q);
  (void)snprintf(says, sizeof says, "{'candidates':[{'content':{'parts':[%s]}}]}", CONTENT[content].parts);
  const char *const chunks[] = { says, chunk(a, sizeof a, first), chunk(b, sizeof b, second), NULL };
  (void)run(&(struct input){ NULL, chunks, NULL }, &q, &m, log, 0);
}

/* How the news shows. */
static void check_news(enum content content, size_t i) {
  static const char *const SHOWN[] = { "stop end_turn", "stop ", "stop max_tokens", "error server", "stop sensitive",
                                       "error server" };
  static struct log log;
  const char *word = REASONS[i].word[0] == '!' ? REASONS[i].word + 1 : REASONS[i].word;
  answer(&log, content, REASONS[i].word, NULL);
  CHECK(strstr(log.s, SHOWN[REASONS[i].of[content]]) != NULL && strstr(log.s, word) != NULL);
}

/* A part between two reasons may make the first one moot. */
static void test_more_between(void) {
#define REASON(word) "{'candidates':[{'finishReason':'" word "'}]}"
#define SAYS "{'candidates':[{'content':{'parts':[{'text':'a'}]}}]}"
  STREAM("text 0 a\nwarning unknown_stop_reason stop_reason OTHER\nstop end_turn OTHER\n", REASON("OTHER"), SAYS);
  STREAM("text 0 a\nstop max_tokens MAX_TOKENS\n", REASON("OTHER"), SAYS, REASON("MAX_TOKENS"));
  STREAM("text 0 a\nstop end_turn STOP\n", REASON("SAFETY"), SAYS, REASON("STOP"));
  STREAM("text 0 a\nstop sensitive SAFETY\n", REASON("SAFETY"), SAYS);
}

int main(void) {
  static struct log pair, alone;
  test_more_between();
  for (enum content content = NOTHING; content < CONTENTS; content++) {
    for (size_t i = 0; i < REASON_COUNT; i++) {
      check_news(content, i);
      for (size_t k = 0; k < REASON_COUNT; k++) {
        size_t counts = REASONS[i].of[content] > REASONS[k].of[content] ? i : k;
        answer(&pair, content, REASONS[i].word, REASONS[k].word);
        answer(&alone, content, REASONS[counts].word, NULL);
        if (strcmp(pair.s, alone.s) != 0) fprintf(stderr, "%s, %s:\n", REASONS[i].word, REASONS[k].word);
        test_str(__FILE__, __LINE__, pair.s, pair.n, alone.s);
      }
    }
  }
  return test_done("codec/gemini/finish");
}
