/* usage.c: token counts and costs in chunks of Chat Completions. */
#include "chunks.h"

#define U(parts, u) STREAM(parts "open\n", USAGE(u))

static void test_usage(void) {
  U("usage in=60 out=5 read=40 written=0\n",
    "{'prompt_tokens':100,'completion_tokens':5,'prompt_tokens_details':{'cached_tokens':40}}");
  U("usage in=100 out=5\n", "{'prompt_tokens':100,'completion_tokens':5,'prompt_tokens_details':null}");
  U("usage in=100 out=5 read=0 written=0 reasoning=0\n",
    "{'prompt_tokens':100,'completion_tokens':5,'prompt_tokens_details':{},"
    "'completion_tokens_details':{'reasoning_tokens':null}}");
  U("usage in=50 out=5 read=40 written=10\n", "{'prompt_tokens':100,'completion_tokens':5,'prompt_tokens_details':"
    "{'cached_tokens':40,'cache_write_tokens':10}}");
  U("usage in=97 out=17 read=3\n", "{'prompt_tokens':100,'completion_tokens':17,'prompt_cache_hit_tokens':3}");
  U("usage in=97 out=17 read=3\n", "{'prompt_tokens':100,'completion_tokens':17,'cached_tokens':3}");
  U("usage out=17\n", "{'completion_tokens':17.0}");
  /* A cost counts where the quirk says that it is one. */
  U("usage out=17\n", "{'completion_tokens':17,'cost':0.5,'cost_details':{'x':[{}]},'is_byok':false}");
  STREAM_Q("{'reports_cost':true}", "usage out=17 cost=0.5\nopen\n", USAGE("{'completion_tokens':17,'cost':0.5,"
           "'cost_details':{'upstream_inference_cost':2},'is_byok':false}"));
  STREAM_Q("{'reports_cost':true}", "usage out=17 cost=2.5\nopen\n", USAGE("{'is_byok':true,'completion_tokens':17,"
           "'cost_details':{'x':{},'upstream_inference_cost':2},'cost':0.5}"));
  STREAM_Q("{'reports_cost':true}", "usage out=17\nopen\n",
           USAGE("{'is_byok':true,'completion_tokens':17,'cost':0.5}"));
  STREAM_Q("{'reports_cost':true}", "usage cost=0\nopen\n", USAGE("{'cost':{'a':[1],'total_cost':0,'b':{}}}"));
  STREAM_Q("{'reports_cost':true}", "usage out=1\nopen\n", USAGE("{'cost':'1','completion_tokens':1,'is_byok':[]}"));
  STREAM_Q("{'reports_cost':true}", "usage cost=0.25\nopen\n", USAGE("{'cost_in_usd_ticks':2500000000}"));
  U("usage out=1 unpriced=server_tools\n", "{'completion_tokens':1,'num_sources_used':2}");
  U("usage out=1 read=0 written=0 unpriced=audio\n",
    "{'completion_tokens':1,'prompt_tokens_details':{'audio_tokens':7}}");
  STREAM("usage unpriced=service_tier\nusage in=1 unpriced=service_tier\nopen\n",
         "{'service_tier':'flex','choices':[]}", "{'service_tier':'flex','choices':[],'usage':{'prompt_tokens':1}}");
  STREAM("usage in=1\nusage unpriced=service_tier\nopen\n",
         "{'choices':[],'usage':{'prompt_tokens':1},'service_tier':'priority'}");
  STREAM("usage in=1\nopen\n", "{'service_tier':null,'choices':[],'usage':{'prompt_tokens':1}}",
         "{'service_tier':'default','choices':[]}");
  U("", "{}");
  U("", "null");
  U("", "[1]");
  U("", "{'prompt_tokens':'many','completion_tokens':-5,'total_tokens':null}");
  /* More cached than prompt never gives less than nothing. */
  U("usage in=0 out=1 read=20 written=0\n",
    "{'prompt_tokens':10,'completion_tokens':1,'prompt_tokens_details':{'cached_tokens':20}}");
  /* More reasoning than output is reported as it came (Baseten). */
  U("usage in=4 out=10 reasoning=11\n", "{'prompt_tokens':4,'completion_tokens':10,"
    "'completion_tokens_details':{'reasoning_tokens':11}}");
  /* Apart from the output: the total says so (Copilot's Gemini models, top-level field). */
  U("usage in=6009 out=123 read=0 written=0 reasoning=92\n", "{'completion_tokens':31,'prompt_tokens':6009,"
    "'prompt_tokens_details':{'cached_tokens':0},'total_tokens':6132,'reasoning_tokens':92}");
  /* Cumulative usage replaces; x_groq and choice-level usage count as well; null says nothing. */
  STREAM("usage in=5 out=1\nusage in=5 out=2\nopen\n", USAGE("{'prompt_tokens':5,'completion_tokens':1}"),
         USAGE("null"),
         USAGE("{'prompt_tokens':5,'completion_tokens':2}"));
  STREAM("usage in=5 out=1 read=2 written=0\nusage in=3 out=9 read=2 written=0\nopen\n",
         "{'choices':[{'index':0,'delta':{},'usage':{'prompt_tokens':7,'completion_tokens':1,'prompt_tokens_details':"
         "{'cached_tokens':2}}}]}",
         "{'x_groq':{'id':'r','usage':{'prompt_tokens':5,'completion_tokens':9}}}");
  STREAM_Q("{'reasoning_outside_output':true}", "usage in=274 out=334 read=192 written=0 reasoning=266\nopen\n",
           USAGE("{'prompt_tokens':466,'completion_tokens':68,'total_tokens':800,"
                 "'prompt_tokens_details':{'cached_tokens':192},"
                 "'completion_tokens_details':{'reasoning_tokens':266}}"));
  STREAM_Q("{'reasoning_outside_output':true}", "usage in=10 out=1 read=20 written=0\nopen\n",
           USAGE("{'prompt_tokens':10,'completion_tokens':1,'prompt_tokens_details':{'cached_tokens':20}}"));
}

int main(void) {
  test_usage();
  return test_done("codec/chat/usage");
}
