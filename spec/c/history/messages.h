/*
** messages.h: histories written as JSON, and what the rules make of them: twice the same as once.
*/
#ifndef KOINE_SPEC_C_HISTORY_MESSAGES_H
#define KOINE_SPEC_C_HISTORY_MESSAGES_H

#include "test.h"

/* {{{ running */

/* The request with these messages. */
static inline struct node *request_of(struct arena *a, const char *messages) {
  struct err e;
  struct node *request = node_new(a, NODE_OBJECT), *list;
  err_clear(&e);
  list = json_tree(a, (struct str){ messages, strlen(messages) }, DEPTH, &e);
  if (list == NULL) fprintf(stderr, "test input: %s: %s\n", e.message, messages);
  return request != NULL && node_set(request, STR("messages"), list) == 0 ? request : NULL;
}

/* Runs the rules twice over the messages; both times they must be `out`, "" meaning that nothing is left to send. */
static inline void expect_messages(const char *file, int line, const struct norm *n, const char *in, const char *out) {
  struct mem m = mem_libc();
  struct arena a;
  struct err e;
  struct node *request;
  arena_init(&a, &m);
  request = request_of(&a, in);
  for (int i = 0; i < 2 && request != NULL; i++) {
    int got;
    err_clear(&e);
    got = normalise_messages(&a, request, n, &e);
    if (*out != '\0' && got == 0) expect_json(file, line, &a, node_get(request, "messages"), out);
    else test_str(file, line, e.message, strlen(e.message),
                  *out != '\0' ? "success" : "messages: a message with content (results without their calls are not sent) expected, got nothing to send");
    if (got != 0) break;
  }
  arena_free(&a);
}

#define GIVES(n, in, out) expect_messages(__FILE__, __LINE__, (n), (in), (out))
#define SAME(n, in) GIVES((n), (in), (in))

/* Shorthands for histories. */
#define MSG(role, blocks) "{\"role\":\"" role "\",\"content\":[" blocks "]}"
#define USER(blocks) MSG("user", blocks)
#define MODEL(blocks) MSG("assistant", blocks)
#define TEXT(s) "{\"type\":\"text\",\"text\":\"" s "\"}"
#define CALL(id) "{\"type\":\"tool_use\",\"id\":\"" id "\",\"name\":\"f\",\"arguments\":{}}"
#define RESULT(id) "{\"type\":\"tool_result\",\"tool_use_id\":\"" id "\",\"content\":\"r\"}"
#define MISSING(id) \
  "{\"type\":\"tool_result\",\"tool_use_id\":\"" id "\",\"content\":\"no result recorded\",\"is_error\":true}"
#define THINK(s) "{\"type\":\"thinking\",\"thinking\":\"" s "\",\"signature\":\"sig\"}"
#define HIDDEN "{\"type\":\"redacted_thinking\",\"data\":\"d\"}"
#define FROM(p, m) "\"provider_data\":{\"provider\":\"" p "\",\"model\":\"" m "\",\"raw\":\"{}\"}"
#define IMAGE "{\"type\":\"image\",\"source\":\"https://h/i.png\"}"

/* }}} */

#endif
