/* logprobs.c: how likely the tokens of a Chat Completions answer were, in each of the forms that servers have. */
#include "chunks.h"
#include "codec/many.h"

/* A chunk with logprobs. */
#define L(delta, logprobs) "{'choices':[{'index':0,'delta':" delta ",'logprobs':" logprobs "}]}"
#define STOP F("{}", "stop")

static void test_own_form(void) {
  STREAM("logprobs [{'token':'a','logprob':-0.5,'bytes':[97],'top_logprobs':[]}]\ntext 0 a\n"
         "logprobs [{'token':'b'}]\ntext 0 b\nstop end_turn stop\n",
         L("{'content':'a'}", "{'content':[{'token':'a','logprob':-0.5,'bytes':[97],'top_logprobs':[]}],'refusal':null}"),
         L("{'content':'b'}", "{'content':[{'token':'b'}]}"), STOP);
  STREAM("logprobs [{'token':'no'}]\nrefusal 0 no\nstop refusal stop\n",
         L("{'refusal':'no'}", "{'content':null,'refusal':[{'token':'no'}]}"), STOP);
  BODY("logprobs [{'token':'a'}]\ntext 0 a\nstop end_turn stop\n",
       "{'choices':[{'logprobs':{'content':[{'token':'a'}]},'message':{'content':'a'},'finish_reason':'stop'}]}");
}

/* Values of another form say nothing. */
static void test_nothing(void) {
  STREAM("text 0 a\nstop end_turn stop\n", L("{'content':'a'}", "null"), L("{}", "-0.5"), L("{}", "[]"), L("{}", "{}"),
         L("{}", "{'content':null,'tokens':{'a':'b'},'x':[1]}"), L("{}", "{'content':'a'}"), STOP);
}

static void test_arrays(void) {
  STREAM("logprobs [{'token':'a','logprob':-0.5},{'token':'b','logprob':null},"
         "{'token':'c'}]\ntext 0 abc\nstop end_turn stop\n",
         L("{'content':'abc'}", "{'tokens':['a','b','c'],'token_logprobs':[-0.5,null],'token_ids':[1,2,3]}"), STOP);
  STREAM("logprobs [{'token':'a','logprob':-0.5,'top_logprobs':[{'token':'a','logprob':-0.5},{'token':'b','logprob':-2}]},"
         "{'token':'c','logprob':-1}]\ntext 0 ac\nstop end_turn stop\n",
         L("{'content':'ac'}", "{'top_logprobs':[{'a':-0.5,'b':-2},null],'token_logprobs':[-0.5,-1],'tokens':['a','c']}"),
         STOP);
  STREAM("logprobs [{'token':'a','logprob':-1}]\ntext 0 a\nstop end_turn stop\n",
         L("{'content':'a'}", "{'content':null,'refusal':null,'tokens':['a'],'token_logprobs':[-1]}"), STOP);
  /* Of the two forms OpenAI's counts. */
  STREAM("logprobs [{'token':'a'}]\ntext 0 a\nstop end_turn stop\n",
         L("{'content':'a'}", "{'tokens':['b'],'token_logprobs':[1],'content':[{'token':'a'}]}"), STOP);
}

/* A whole message that repeats what the stream said says nothing of its tokens either. */
static void test_repeated(void) {
  STREAM("logprobs [{'token':'a'}]\ntext 0 a\nstop end_turn stop\n", L("{'content':'a'}", "{'content':[{'token':'a'}]}"),
         "{'choices':[{'index':0,'logprobs':{'content':[{'token':'a'}]},'message':{'content':'a'},"
         "'finish_reason':'stop'}]}");
}

/* Very many short values take little more memory than their own. */
static void test_many(void) {
#define BEFORE "{\"choices\":[{\"delta\":{},\"logprobs\":{\"tokens\":["
  CHECK(many_scratch(&codec_chat, BEFORE "0", ",1", "]}}]}") == 0);
  CHECK(many_scratch(&codec_chat, BEFORE "\"\"", ",\"\"", "]}}]}") <= 10);
  CHECK(many_scratch(&codec_chat, BEFORE "\"\"],\"token_logprobs\":[0", ",1", "]}}]}") == 0);
  CHECK(many_scratch(&codec_chat, BEFORE "\"\"],\"top_logprobs\":[{}", ",{}", "]}}]}") == 0);
  CHECK(many_scratch(&codec_chat, BEFORE "\"\"],\"top_logprobs\":[{\"\":0", ",\"\":0", "}]}}]}") <= 10);
}

int main(void) {
  test_own_form();
  test_nothing();
  test_arrays();
  test_repeated();
  test_many();
  return test_done("codec/chat/logprobs");
}
