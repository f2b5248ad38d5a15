/* text.c: answers that hold reasoning and tool calls in their text, as the codec hands them to a message:
** streamed in pieces of every size and plain they give the same message, and each allocation fails in turn. */
#include "codec/kit.h"
#include "core/message/message.h"

static const struct origin HERE = { { "here", 4 }, { "m", 1 }, { "chat", 4 } };

struct scene {
  const char *reasoning;   /* of a field of its own, before the text; NULL = none */
  const char *content;     /* the text */
  const char *calls;       /* real calls (JSON, ' for "), behind `split` bytes of the text; NULL = none */
  const char *thought;     /* more reasoning, there; NULL = none */
  size_t split;
  const char *finish;
  int think, leaked, offered;
};

struct result {
  struct err e;
  char message[4096], deltas[4096];
};

/* ' stands for ". */
static void add(struct buf *b, const char *s) { CHECK(buf_adds(b, json(s)) == 0); }

static void member(struct buf *b, const char *name, struct str text) {
  if (text.n == 0) return;
  if (b->p[b->n - 1] != '{') add(b, ",");
  add(b, "'");
  add(b, name);
  add(b, "':");
  CHECK(json_write_string(b, text) == 0);
}

/* A delta or message of these. */
static void say(struct buf *b, const char *what, const struct scene *s, struct str reasoning, struct str text,
                int calls, int end) {
  b->n = 0;
  add(b, "{'id':'c1','model':'m','choices':[{'index':0,'");
  add(b, what);
  add(b, "':{");
  member(b, "reasoning_content", reasoning);
  member(b, "content", text);
  if (calls && s->calls != NULL) {
    if (b->p[b->n - 1] != '{') add(b, ",");
    add(b, "'tool_calls':");
    add(b, s->calls);
  }
  add(b, "}");
  if (end) {
    add(b, ",'finish_reason':'");
    add(b, s->finish);
    add(b, "'");
  }
  add(b, "}]}");
}

/* Hands parts on; what the deltas say is noted, fragments of one block joined. */
static int pass_on(struct message *msg, struct events *parts, struct events *deltas, struct buf *log, struct err *e) {
  const struct event *ev;
  while ((ev = events_take(parts)) != NULL)
    if (message_add(msg, ev, deltas, e) != 0) return -1;
  while ((ev = events_take(deltas)) != NULL) {
    if (ev->text.n == 0) add(log, event_form(ev->type)->name);
    CHECK(buf_addstr(log, ev->text) == 0);
    if (ev->text.n == 0) add(log, "\n");
  }
  return 0;
}

struct machine {
  struct parsing x;
  struct events deltas;
  struct message msg;
  struct buf log;
};

/* The parts that the codec has read go on to the message. */
static int hand_on(struct machine *k) { return pass_on(&k->msg, &k->x.parts, &k->deltas, &k->log, &k->x.e); }

static int event(struct machine *k, const struct buf *data) {
  arena_reset(&k->x.a);
  return parsing_record(&k->x, "", buf_str(data)) != 0 ? -1 : hand_on(k);
}

/* Sends the scene: as one body (piece 0), or as events of `piece` bytes of text. 0 or -1. */
static int send(struct machine *k, const struct scene *s, size_t piece) {
  struct mem sure = mem_libc();
  struct str text = z(s->content), reasoning = s->reasoning != NULL ? z(s->reasoning) : STR_NONE;
  size_t at = 0;
  struct buf b;
  int r = 0;
  buf_init(&b, &sure);
  if (piece == 0) {
    say(&b, "message", s, reasoning, text, 1, 1);
    arena_reset(&k->x.a);
    r = codec_chat.parse_body(k->x.state, buf_str(&b), &k->x.parts, &k->x.e);
    if (r == 0) r = hand_on(k);
  }
  if (piece > 0 && reasoning.n > 0) {
    say(&b, "delta", s, reasoning, STR_NONE, 0, 0);
    r = event(k, &b);
  }
  while (piece > 0 && r == 0 && at < text.n) {
    size_t n = text.n - at < piece ? text.n - at : piece;
    if (at < s->split && at + n > s->split) n = s->split - at;
    say(&b, "delta", s, STR_NONE, (struct str){ text.p + at, n }, at + n == s->split, 0);
    r = event(k, &b);
    at += n;
    if (r != 0 || s->thought == NULL || at != s->split) continue;
    say(&b, "delta", s, z(s->thought), STR_NONE, 0, 0);
    r = event(k, &b);
  }
  if (piece > 0 && r == 0) {
    say(&b, "delta", s, STR_NONE, STR_NONE, 0, 1);
    r = event(k, &b);
  }
  buf_free(&b);
  return r;
}

/* 0 or -1. */
static int run(const struct mem *m, const struct scene *s, size_t piece, struct result *out) {
  struct mem sure = mem_libc();
  struct machine k;
  struct arena names, message;
  struct node *node;
  int r;
  arena_init(&names, &sure);
  arena_init(&message, &sure);
  parsing_open(&k.x, &codec_chat, m);
  k.x.quirks.inline_think = s->think;
  k.x.quirks.leaked_calls = s->leaked;
  if (s->offered) k.x.p.tool_names = json_tree(&names, STR("[\"f\",\"g\"]"), 4, &k.x.e);
  events_init(&k.deltas, m);
  buf_init(&k.log, &sure);
  message_init(&k.msg, m, &k.x.limits, &HERE, 1);
  parsing_begin(&k.x);
  r = send(&k, s, piece);
  arena_reset(&k.x.a);
  if (r == 0) r = codec_chat.parse_end(k.x.state, &k.x.parts, &k.x.e);
  if (r == 0) r = hand_on(&k);
  if (r == 0) r = message_end(&k.msg, &k.deltas, &k.x.e);
  if (r == 0) r = hand_on(&k);
  out->message[0] = out->deltas[0] = '\0';
  if (r == 0) {
    struct buf b;
    buf_init(&b, &sure);
    node = message_node(&k.msg, &message, 0);
    CHECK(node != NULL && json_write(&b, node, &k.x.e) == 0);
    snprintf(out->message, sizeof out->message, "%.*s", (int)b.n, b.p);
    snprintf(out->deltas, sizeof out->deltas, "%.*s", (int)k.log.n, k.log.n > 0 ? k.log.p : "");
    buf_free(&b);
  }
  out->e = k.x.e;
  message_free(&k.msg);
  events_free(&k.deltas);
  buf_free(&k.log);
  parsing_close(&k.x);
  arena_free(&names);
  arena_free(&message);
  return r;
}

static void fails_in_turn(const struct scene *s, size_t piece) {
  static struct result again;
  for (size_t at = 1; at < 2000; at++) {
    struct failing f = { .fail_at = at };
    struct mem fm = failing_mem(&f);
    int r = run(&fm, s, piece, &again);
    CHECK(f.live == 0 && f.wrong == 0 && (f.asked < at ? r == 0 : r == -1 && again.e.kind == KIND_MEMORY));
    if (f.asked < at) return;
  }
  CHECK(0);
}

/* The message holds these pieces of JSON, in this order (' for "). However the text is cut, and plain, message and deltas
** (those of one block joined) are the same. */
static void expect(const char *file, int line, const struct scene *s, int plain_too, const char *const *wanted) {
  static struct result first, other;
  struct mem m = mem_libc();
  const char *at = first.message;
  int r = run(&m, s, strlen(s->content) + 1, &first);
  if (r != 0) fprintf(stderr, "%s:%d: %s\n", file, line, first.e.message);
  CHECK(r == 0);
  for (; *wanted != NULL; wanted++) {
    const char *piece = json(*wanted);
    at = strstr(at, piece);
    if (at == NULL) fprintf(stderr, "%s:%d: no %s behind the others in %s\n", file, line, piece, first.message);
    CHECK(at != NULL);
    if (at == NULL) return;
    at += strlen(piece);
  }
  for (size_t piece = plain_too ? 0 : 1; piece < 24; piece++) {
    CHECK(run(&m, s, piece, &other) == 0);
    test_str(file, line, other.message, strlen(other.message), first.message);
    test_str(file, line, other.deltas, strlen(other.deltas), first.deltas);
  }
  fails_in_turn(s, 5);
  if (plain_too) fails_in_turn(s, 0);
}

#define TURN(of, ...) expect(__FILE__, __LINE__, &(struct scene)of, 1, (const char *const[]){ __VA_ARGS__, NULL })
#define STREAMED(of, ...) \
  expect(__FILE__, __LINE__, &(struct scene)of, 0, (const char *const[]){ __VA_ARGS__, NULL })
#define SCENE(...) { __VA_ARGS__ }

#define THINK .finish = "stop", .think = 1
#define LEAKED .finish = "stop", .leaked = 1, .offered = 1
#define INVOKE "<invoke name=\"f\"><a>1</a></invoke>"
#define REAL "[{'index':0,'id':'c9','function':{'name':'g','arguments':'{}'}}]"

static void test_off(void) {
  TURN(SCENE(.content = " <think>a</think> " INVOKE, .finish = "stop", .offered = 1),
       "'content':[{'type':'text','text':' <think>a</think> <invoke name=\\'f\\'><a>1</a></invoke>'}],'model'",
       "'stop_reason':'end_turn'");
  TURN(SCENE(.content = INVOKE, .finish = "stop", .leaked = 1), "'content':[{'type':'text','text':'<invoke");
}

static void test_think(void) {
  TURN(SCENE(.content = "<think>why</think>\n\nbecause", THINK), "'content':[{'type':'thinking','thinking':'why'",
       "{'type':'text','text':'\\n\\nbecause'}],'model'");
  TURN(SCENE(.content = "<think>a</think> <think>b</think>c", THINK), "'thinking':'a'", "'thinking':'b'",
       "{'type':'text','text':' c'}],");
  TURN(SCENE(.content = "<think>why", THINK), "'content':[{'type':'thinking','thinking':'why'", "'degenerate':true");
  TURN(SCENE(.content = "<think>why</think>\n", THINK), "'thinking':'why'", "'degenerate':true");
  TURN(SCENE(.content = "so <think>why</think>", THINK), "'content':[{'type':'text','text':'so <think>why</think>'}],");
  TURN(SCENE(.reasoning = "hm", .content = "<think>why</think>so", THINK), "'thinking':'hm'", "'thinking':'why'",
       "'text':'so'");
}

static void test_think_and_calls(void) {
  STREAMED(SCENE(.content = "<think>why</think>\n", .calls = REAL, .split = 19, .finish = "tool_calls", .think = 1),
           "'content':[{'type':'thinking','thinking':'why'", "},{'type':'tool_use','id':'c9','name':'g'", "}],'model'");
  TURN(SCENE(.content = "<think>why</think>" INVOKE, .finish = "stop", .think = 1, .leaked = 1, .offered = 1),
       "'content':[{'type':'thinking','thinking':'why'", "},{'type':'tool_use','id':'call_", "'name':'f'");
}

static void test_leaked(void) {
  TURN(SCENE(.content = "Let me see.\n" INVOKE "\n", LEAKED),
       "'content':[{'type':'text','text':'Let me see.'},{'type':'tool_use','id':'call_",
       "'name':'f','arguments':{'a':'1'}", "}],'model'", "'stop_reason':'tool_use','raw_stop_reason':'stop'",
       "'code':'recovered_tool_calls'");
  TURN(SCENE(.content = "<tool_call>{\"name\":\"f\"}</tool_call>" INVOKE " so", LEAKED),
       "'content':[{'type':'text','text':'so'}",
       "'name':'f','arguments':{'a':'1'}", "'name':'f','arguments':{}");
  TURN(SCENE(.content = "No call: <invoke name=\"rm\"></invoke> \n", LEAKED),
       "'content':[{'type':'text','text':'No call: <invoke name=\\'rm\\'></invoke> \\n'}],'model'",
       "'stop_reason':'end_turn'", "'warnings':[]");
  TURN(SCENE(.content = "<tool_call>{\"name\":\"f\",\"arguments\":\"{\"}</tool_call>", LEAKED), "'name':'f'",
       "'arguments_error'");
  /* a server that announces calls and leaves them in the text */
  TURN(SCENE(.content = INVOKE, .finish = "tool_calls", .leaked = 1, .offered = 1), "'name':'f'",
       "'stop_reason':'tool_use'");
}

static void test_cut(void) {
  TURN(SCENE(.content = "<invoke name=\"f\"><a>half", .finish = "length", .leaked = 1, .offered = 1),
       "'name':'f','arguments':{}", "'arguments_error'", "'stop_reason':'max_tokens'");
}

/* Text that waits ends no block of reasoning; text that was shown does, and goes on in a block of its own. */
static void test_thoughts_between(void) {
  TURN(SCENE(.reasoning = "a", .content = INVOKE, LEAKED), "'thinking':'a'", "'name':'f'");
  STREAMED(SCENE(.reasoning = "a", .content = INVOKE, .thought = "b", .split = 18, LEAKED),
           "'content':[{'type':'thinking','thinking':'ab'", "},{'type':'tool_use'", "'name':'f'", "}],'model'");
  STREAMED(SCENE(.reasoning = "a", .content = "so" INVOKE, .thought = "b", .split = 20, LEAKED),
           "'thinking':'a'", "{'type':'text','text':'so'}", "'thinking':'b'", "},{'type':'tool_use'", "}],'model'");
  STREAMED(SCENE(.content = "so" INVOKE " <invoke name=\"rm\">", .thought = "b", .split = 20, LEAKED),
           "'text':'so'}", "'thinking':'b'", "'text':' <invoke name=\\'rm\\'>'}", "'name':'f'", "}],'model'");
  STREAMED(SCENE(.content = "so <invoke", .thought = "b", .split = 10, LEAKED),
           "'text':'so <invoke'}", "'thinking':'b'");
}

/* Real calls win: the markup is text, before the call and behind it. */
static void test_real_calls(void) {
  STREAMED(SCENE(.content = "a " INVOKE " b " INVOKE, .calls = REAL, .split = 2 + sizeof INVOKE + 2,
                 .finish = "tool_calls", .leaked = 1, .offered = 1),
           "'content':[{'type':'text','text':'a <invoke name=\\'f\\'><a>1</a></invoke> b '}",
           ",{'type':'tool_use','id':'c9'",
           "},{'type':'text','text':'<invoke name=\\'f\\'><a>1</a></invoke>'}],'model'", "'warnings':[]");
  STREAMED(SCENE(.content = "a " INVOKE, .calls = "[]", .split = 1, LEAKED), "'text':'a'},{'type':'tool_use'");
}

int main(void) {
  test_off();
  test_think();
  test_think_and_calls();
  test_leaked();
  test_cut();
  test_thoughts_between();
  test_real_calls();
  return test_done("codec/chat/text");
}
