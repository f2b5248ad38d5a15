/* cache.c: which blocks of a request are marked for the provider's cache, and for how long. */
#include "requests.h"

/* Renders n messages of one block and lists the marked ones: "t" tools, "s" system, blocks of messages as numbers from
** 0, "h" behind what lasts an hour. `marked` are those that the caller marks, as <n>. */
static void cache_check(int line, int n, const char *fields, const char *marked, const char *expect) {
  struct mem m = mem_libc();
  static struct result r;
  struct arena a;
  char request[8192], got[256] = "", *p = request;
  struct node *body, *list;
  const char *const PART[] = { "tools", "system" };
  int at = 0;
  p += sprintf(p, "{'model':'m',%s'messages':[", fields);
  for (int i = 0; i < n; i++) {
    char number[16];
    sprintf(number, "<%d>", i);
    p += sprintf(p, "%s{'role':'%s','content':[{'type':'text','text':'b'%s}]}", i > 0 ? "," : "",
                 i % 2 ? "assistant" : "user", strstr(marked, number) ? ",'cache_control':{'type':'ephemeral'}" : "");
  }
  sprintf(p, "]}");
  CHECK(run(NULL, request, 0, &m, &r) == 0);
  arena_init(&a, &m);
  body = json_tree(&a, z(r.body), 64, &r.e);
  for (int i = 0; i < 2; i++) {
    list = node_get_(body, PART[i], strlen(PART[i]));
    for (struct node *v = list != NULL && list->type == NODE_ARRAY ? list->child : NULL; v != NULL; v = v->next)
      if (node_get(v, "cache_control") != NULL)
        sprintf(got + strlen(got), "%c%s ", PART[i][0], node_get(node_get(v, "cache_control"), "ttl") ? "h" : "");
  }
  list = node_get(body, "messages");
  for (struct node *v = list->child; v != NULL; v = v->next)
    for (struct node *b = node_get(v, "content")->child; b != NULL; b = b->next, at++)
      if (node_get(b, "cache_control") != NULL)
        sprintf(got + strlen(got), "%d%s ", at, node_get(node_get(b, "cache_control"), "ttl") ? "h" : "");
  test_str(__FILE__, line, got, strlen(got), expect);
  arena_free(&a);
}

#define CACHE(n, fields, marked, expect) cache_check(__LINE__, n, fields, marked, expect)
#define SHORT "'cache_retention':'short',"
#define LONG "'cache_retention':'long',"
#define SYSTEM "'system':'s',"
#define MARK "'cache_control':{'type':'ephemeral'}"
#define HOUR "'cache_control':{'type':'ephemeral','ttl':'1h'}"

static void test_cache(void) {
  CACHE(3, SYSTEM, "", "");
  CACHE(3, "'cache_retention':'none'," SYSTEM, "<0>", "0 ");
  CACHE(1, SHORT, "", "0 ");
  CACHE(19, SHORT, "", "18 ");
  CACHE(21, SHORT, "", "5 20 ");
  CACHE(25, SHORT, "", "9 24 ");
  CACHE(25, SHORT, "<24>", "9 24 ");
  CACHE(3, SHORT SYSTEM "'tools':[{'name':'f'},{'name':'g'}],", "", "t s 2 ");
  CACHE(9, SHORT SYSTEM "'tools':[{'name':'f'}],", "<2><4>", "t s 4 8 ");
  CACHE(9, SYSTEM, "<0><1><2><3><4><5>", "2 3 4 5 ");
  CACHE(25, SHORT SYSTEM "'tools':[{'name':'f'}],", "<20>", "t s 20 24 ");
  CACHE(3, SHORT "'tools':[{'name':'a'," MARK "},{'name':'b'," MARK "},{'name':'c'," MARK "},{'name':'d'," MARK
        "},{'name':'e'}]," SYSTEM, "<0>", "t t t t ");
}

static void test_cache_lifetimes(void) {
  CACHE(25, LONG SYSTEM "'tools':[{'name':'f'}],", "", "th sh 9h 24h ");
  CACHE(3, LONG SYSTEM "'tools':[{'name':'f'," MARK "}],", "", "t s 2 ");
  CACHE(3, LONG SYSTEM "'tools':[{'name':'f'," HOUR "}],", "", "th sh 2h ");
  CACHE(3, SHORT "'system':[{'type':'text','text':'s'," HOUR "}],'tools':[{'name':'f'}],", "", "th sh 2 ");
}

static void test_cache_blocks(void) {
  RENDER("{'model':'m'," SHORT "'messages':[{'role':'user','content':'q'}," CALLED "]}",
         "{'model':'m','max_tokens':8192,'messages':[{'role':'user','content':[{'type':'text','text':'q'}]},"
         "{'role':'assistant','content':[{'type':'tool_use','id':'c1','name':'f','input':{}}]},"
         "{'role':'user','content':[{'type':'tool_result','tool_use_id':'c1','content':'r'," MARK "}]}]}");
  RENDER("{'model':'m'," SHORT "'messages':[{'role':'user','content':'q'},{'role':'assistant','content':["
         "{'type':'thinking','thinking':'t','signature':'s','cache_control':{'type':'ephemeral'}}]}]}",
         "{'model':'m','max_tokens':8192,'messages':[{'role':'user','content':[{'type':'text','text':'q'," MARK "}]},"
         "{'role':'assistant','content':[{'type':'thinking','thinking':'t','signature':'s'}]}]}");
  REFUSE("{'model':'m','system':[{'type':'text','text':'s'," MARK "}],'tools':[{'name':'a'," MARK "},{'name':'b',"
         MARK "},{'name':'c'," MARK "},{'name':'d'," MARK "}],'messages':[{'role':'user','content':'q'}]}",
         "cache_control: at most 4 cache breakpoints on tools and system expected, got more");
}

int main(void) {
  test_cache();
  test_cache_lifetimes();
  test_cache_blocks();
  return test_done("codec/anthropic/cache");
}
