/* outputs.c: calls that hold the answer itself, in histories. */
#include "messages.h"

static const struct norm BARE = { .origin = { { "p", 1 }, { "m", 1 }, { "w", 1 } } };

/* A call that holds the answer itself is text, but where a result was given for it. */
static void outputs(void) {
#define OUTPUT_OF(id) "{\"type\":\"tool_use\",\"id\":\"" id "\",\"name\":\"o\",\"arguments\":{\"a\":1},\"output\":true}"
  GIVES(&BARE, "[" USER(TEXT("q")) "," MODEL(OUTPUT_OF("a")) "," USER(TEXT("r")) "]",
        "[" USER(TEXT("q")) "," MODEL(TEXT("{\\\"a\\\":1}")) "," USER(TEXT("r")) "]");
  GIVES(&BARE, "[" USER(TEXT("q")) "," MODEL(TEXT("so") "," OUTPUT_OF("a")) "]",
        "[" USER(TEXT("q")) "," MODEL(TEXT("so") "," TEXT("{\\\"a\\\":1}")) "]");
  SAME(&BARE, "[" USER(TEXT("q")) "," MODEL(OUTPUT_OF("a")) "," USER(RESULT("a")) "]");
  /* a call beside it that was left undone goes: nothing answers it */
  GIVES(&BARE, "[" USER(TEXT("q")) "," MODEL(CALL("b") "," OUTPUT_OF("a")) "," USER(TEXT("r")) "]",
        "[" USER(TEXT("q")) "," MODEL(TEXT("{\\\"a\\\":1}")) "," USER(TEXT("r")) "]");
  GIVES(&BARE, "[" USER(TEXT("q")) "," MODEL(OUTPUT_OF("a") "," CALL("b")) "," USER(RESULT("b")) "]",
        "[" USER(TEXT("q")) "," MODEL(TEXT("{\\\"a\\\":1}") "," CALL("b")) "," USER(RESULT("b")) "]");
}

int main(void) {
  outputs();
  return test_done("history/outputs");
}
