/* thinking.c: the bytes of requests that ask for thinking, and what thinking gives way to. */
#include "requests.h"

#define THINK(mode, value) ASK("'thinking_mode':'" mode "','thinking':" value ",")
#define BUDGET(max, n) "{'model':'m','max_tokens':" #max ",'thinking':{'type':'enabled','budget_tokens':" #n "}," HI_SENT
#define ADAPTIVE(effort) SENT("'thinking':{'type':'adaptive'},'output_config':{'effort':'" effort "'},")
#define FORCED "'tool_choice':'any','tools':[" TOOL "],"
#define FORCED_SENT "'tools':[" TOOL_SENT "}],'tool_choice':{'type':'any'},"

static void test_thinking_modes(void) {
  RENDER(THINK("budget", "{'budget_tokens':8000}"), BUDGET(12096, 8000));
  RENDER(THINK("budget", "'medium'"), BUDGET(12288, 8192));
  RENDER(THINK("budget", "'low'"), BUDGET(8192, 2048));
  RENDER(THINK("budget", "'high'"), BUDGET(28672, 24576));
  RENDER(ASK("'max_tokens':16384,'thinking_mode':'budget','thinking':'medium',"), BUDGET(16384, 8192));
  RENDER(ASK("'max_tokens':16384,'max_output':10000,'thinking_mode':'budget','thinking':'medium',"),
         BUDGET(10000, 8192));
  RENDER_REST(ASK("'max_output':8192,'thinking_mode':'budget','thinking':'high',"), BUDGET(8192, 7168),
              WARNED("adjusted_option", "thinking", "the budget was lowered to what the answer leaves room for"));
  RENDER_REST(THINK("budget", "{'budget_tokens':5}"), BUDGET(8192, 1024),
              WARNED("adjusted_option", "thinking", "the budget was raised to 1024 tokens, the least there is"));
  RENDER(ASK("'thinking':{'budget_tokens':2000.0},"), BUDGET(8192, 2000));
  RENDER(THINK("adaptive", "'minimal'"), ADAPTIVE("low"));
  RENDER(THINK("adaptive", "'max'"), ADAPTIVE("max"));
  RENDER(ASK("'thinking':'high',"), ADAPTIVE("high"));
  static const struct { const char *budget, *sent; } NEAREST[] = {
    { THINK("adaptive", "{'budget_tokens':4096}"), ADAPTIVE("low") },
    { THINK("adaptive", "{'budget_tokens':4097}"), ADAPTIVE("medium") },
    { THINK("adaptive", "{'budget_tokens':12288}"), ADAPTIVE("medium") },
    { THINK("adaptive", "{'budget_tokens':12289}"), ADAPTIVE("high") }
  };
  for (size_t i = 0; i < sizeof NEAREST / sizeof *NEAREST; i++)
    RENDER_REST(NEAREST[i].budget, NEAREST[i].sent,
                WARNED("adjusted_option", "thinking", "the model takes no budget: the nearest effort was sent"));
  RENDER(THINK("effort", "'xhigh'"), SENT("'output_config':{'effort':'xhigh'},"));
  RENDER_REST(THINK("none", "'low'"), SENT(""),
              WARNED("unsupported_option", "thinking", "the model does not think: left out"));
}

static void test_thinking_off(void) {
  RENDER(THINK("budget", "false"), SENT(""));
  RENDER(ASK("'temperature':0.2,'thinking_mode':'budget','thinking':{'budget_tokens':0},"), SENT("'temperature':0.2,"));
  RENDER_QUIRK(THINK("adaptive", "false"), "{'thinking_default':true}", SENT("'thinking':{'type':'disabled'},"), NONE);
  RENDER_QUIRK(ASK("'thinking_mode':'adaptive',"), "{'thinking_default':true}", SENT(""), NONE);
  REFUSE(THINK("budget", "'xhigh'"), "thinking: false, low, medium, high or {budget_tokens = n} expected, got 'xhigh'");
  REFUSE(THINK("adaptive", "'loud'"),
         "thinking: false, low, medium, high, xhigh, max or {budget_tokens = n} expected, got 'loud'");
  REFUSE(THINK("none", "''"), "thinking: false, low, medium, high, xhigh, max or {budget_tokens = n} expected, got ''");
  REFUSE(THINK("budget", "{}"), "thinking.budget_tokens: integer, 0 or more expected, got nothing");
  REFUSE(THINK("budget", "{'budget_tokens':-4}"),
         "thinking.budget_tokens: integer, 0 or more expected, got something else");
  REFUSE(THINK("budget", "true"), "thinking: false, a level or {budget_tokens = n} expected, got something else");
}

static void test_thinking_conflicts(void) {
  RENDER_REST(ASK("'temperature':0.2,'thinking_mode':'adaptive','thinking':'low',"), ADAPTIVE("low"),
              WARNED("conflicting_options", "temperature", "a model that thinks does not take it: left out"));
  RENDER_REST(ASK("'top_k':40,'thinking_mode':'adaptive','thinking':'low',"), ADAPTIVE("low"),
              WARNED("conflicting_options", "top_k", "a model that thinks does not take it: left out"));
  RENDER_REST(ASK(FORCED "'thinking_mode':'budget','thinking':'low',"), SENT(FORCED_SENT),
              WARNED("conflicting_options", "thinking", "tool_choice forces a call: thinking was left off"));
  RENDER_QUIRK(ASK(FORCED "'thinking_mode':'adaptive','temperature':1,'thinking':'low',"), "{'thinking_default':true}",
               "{'model':'m','max_tokens':8192,'temperature':1," FORCED_SENT "'thinking':{'type':'disabled'}," HI_SENT,
               WARNED("conflicting_options", "thinking", "tool_choice forces a call: thinking was left off"));
  RENDER_QUIRK(ASK(FORCED "'thinking_mode':'adaptive',"), "{'thinking_default':true}",
               SENT(FORCED_SENT "'thinking':{'type':'disabled'},"), NONE);
  RENDER(ASK(FORCED "'thinking_mode':'effort','thinking':'low',"),
         SENT(FORCED_SENT "'output_config':{'effort':'low'},"));
  RENDER_REST("{'model':'m','thinking_mode':'budget','thinking':'low','messages':[{'role':'user','content':'q'},"
              CALLED "]}",
              "{'model':'m','max_tokens':8192,'messages':[{'role':'user','content':[{'type':'text','text':'q'}]},"
              CALLED_SENT "]}",
              WARNED("conflicting_options", "thinking",
                     "the last assistant message with calls has lost its thinking: thinking was left off"));
  RENDER("{'model':'m','thinking_mode':'adaptive','thinking':'low','messages':[{'role':'user','content':'q'},"
         CALLED "]}",
         "{'model':'m','max_tokens':8192,'thinking':{'type':'adaptive'},'output_config':{'effort':'low'},"
         "'messages':[{'role':'user','content':[{'type':'text','text':'q'}]}," CALLED_SENT "]}");
}

static void test_prefill(void) {
  static const char PREFILL[] = "{'model':'m','thinking':'low','messages':[{'role':'user','content':'q'},"
                                "{'role':'assistant','content':'Sure: \\n'}]}";
  RENDER_REST(PREFILL,
              "{'model':'m','max_tokens':8192,'messages':[{'role':'user','content':[{'type':'text','text':'q'}]},"
              "{'role':'assistant','content':[{'type':'text','text':'Sure:'}]}]}",
              WARNED("conflicting_options", "thinking",
                     "the last message is an answer to continue: thinking was left off"));
  expect_refusal(__FILE__, __LINE__, PREFILL, "{'no_prefill':true}",
               "messages[2]: a user message at the end (the model does not continue an answer) expected, "
               "got an assistant message");
}

int main(void) {
  test_thinking_modes();
  test_thinking_off();
  test_thinking_conflicts();
  test_prefill();
  return test_done("codec/anthropic/thinking");
}
