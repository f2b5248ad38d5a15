/* schema.c: tools' schemas as Gemini takes them: as JSON Schemas, and in the subset of OpenAPI's. */
#define CODEC codec_gemini
#include "codec/render.h"

#define HI_OUT "{'role':'user','parts':[{'text':'hi'}]}"
#define ASKS(schema) "{'model':'m','tools':[{'name':'f','parameters':" schema "}],'messages':[" HI "]}"
#define TOOLS(members) "{'tools':[{'functionDeclarations':[{'name':'f'" members "}]}],'contents':[" HI_OUT "]}"

/* A property's schema, and what is made of it. */
#define HOLDS(in) "{'type':'object','properties':{'a':" in "}}"
#define SCHEMA(in, out) \
  expect(__FILE__, __LINE__, NULL, ASKS(HOLDS(in)), \
         TOOLS(",'parametersJsonSchema':{'properties':{'a':" out "},'type':'object'}"), "")
/* A whole schema as a JSON Schema. */
#define WHOLE(in, out) expect(__FILE__, __LINE__, NULL, ASKS(in), TOOLS(",'parametersJsonSchema':" out), "")

#define OPENAPI "{'openapi_schema':true}"
#define SUBSET_WARNS(in, out, warnings) \
  expect(__FILE__, __LINE__, OPENAPI, ASKS(HOLDS(in)), \
         TOOLS(",'parameters':{'properties':{'a':" out "},'type':'object'}"), warnings)
#define SUBSET(in, out) SUBSET_WARNS(in, out, "")
#define SUBSET_WHOLE(in, out) expect(__FILE__, __LINE__, OPENAPI, ASKS(in), TOOLS(out), "")

static void test_json_schema(void) {
  SCHEMA("{'$schema':'x','examples':[1],'discriminator':{},'type':'string'}", "{'type':'string'}");
  SCHEMA("{'const':'x'}", "{'enum':['x']}");
  SCHEMA("{'type':'integer','exclusiveMinimum':1,'exclusiveMaximum':9}", "{'maximum':8,'minimum':2,'type':'integer'}");
  SCHEMA("{'type':'integer','exclusiveMinimum':1,'minimum':5}", "{'minimum':5,'type':'integer'}");
  SCHEMA("{'type':'integer','exclusiveMinimum':7,'minimum':5}", "{'minimum':8,'type':'integer'}");
  SCHEMA("{'type':'number','description':'d','exclusiveMinimum':1.5}",
         "{'description':'d {exclusiveMinimum: 1.5}','type':'number'}");
  /* Older schemas have flags. */
  SCHEMA("{'type':'integer','minimum':1,'exclusiveMinimum':true,'maximum':9,'exclusiveMaximum':false}",
         "{'maximum':9,'minimum':2,'type':'integer'}");
  SCHEMA("{'type':'number','maximum':1.5,'exclusiveMaximum':true,'exclusiveMinimum':true}",
         "{'description':'{exclusiveMaximum: 1.5}','type':'number'}");
  SCHEMA("{'$ref':'#/$defs/x'}", "{'$ref':'#/$defs/x'}");
  SCHEMA("{'$ref':'#/$defs/x','$comment':'c'}", "{'$comment':'c','$ref':'#/$defs/x'}");
  SCHEMA("{'$ref':'#/$defs/x','description':'d'}", "{'anyOf':[{'$ref':'#/$defs/x'}],'description':'d'}");
  SCHEMA("{'$ref':'#/$defs/x','anyOf':[{'type':'null'}]}",
         "{'allOf':[{'$ref':'#/$defs/x'}],'anyOf':[{'type':'null'}]}");
  SCHEMA("{'$ref':'#/$defs/x','anyOf':[],'allOf':[{}]}", "{'allOf':[{},{'$ref':'#/$defs/x'}],'anyOf':[]}");
  SCHEMA("{'anyOf':[{'const':1}],'items':{'const':2},'$defs':{'d':{'const':3}},'properties':{'const':{'const':4}}}",
         "{'$defs':{'d':{'enum':[3]}},'anyOf':[{'enum':[1]}],'items':{'enum':[2]},"
         "'properties':{'const':{'enum':[4]}}}");
  SCHEMA("{'items':[{'const':1},{}]}", "{'prefixItems':[{'enum':[1]},{}]}");
  SCHEMA("{'items':[{}],'prefixItems':[{'const':1}]}", "{'prefixItems':[{'enum':[1]}]}");
  /* Keywords unknown to the service are no error to it. */
  SCHEMA("{'type':'string','format':'uri','pattern':'^a','not':{},'default':'b'}",
         "{'default':'b','format':'uri','not':{},'pattern':'^a','type':'string'}");
  /* Definitions under their older name. */
  WHOLE("{'properties':{'a':{'$ref':'#/definitions/x'}},'definitions':{'x':{'const':1}}}",
        "{'$defs':{'x':{'enum':[1]}},'properties':{'a':{'$ref':'#/$defs/x'}},'type':'object'}");
  WHOLE("{'properties':{'a':{}},'definitions':{'x':{'const':1},'y':{}},'$defs':{'x':{}}}",
        "{'$defs':{'x':{},'y':{}},'properties':{'a':{}},'type':'object'}");
  /* Recursion stays: the service unrolls it. */
  WHOLE("{'properties':{'a':{'$ref':'#/$defs/x'}},'$defs':{'x':{'properties':{'b':{'$ref':'#/$defs/x'}}}}}",
        "{'$defs':{'x':{'properties':{'b':{'$ref':'#/$defs/x'}}}},'properties':{'a':{'$ref':'#/$defs/x'}},"
        "'type':'object'}");
}

#define DEFS(name, definition) "'" name "':{'x':" definition ",'y/z~':{'type':'null'}}"
#define REFERS(schema, definition) "{'type':'object','properties':{'a':" schema "}," DEFS("$defs", definition) "}"
#define REFERENCE(schema, definition, out) \
  SUBSET_WHOLE(REFERS(schema, definition), ",'parameters':{'properties':{'a':" out "},'type':'object'}")
#define REF "'$ref':'#/$defs/x'"

static void test_references(void) {
  REFERENCE("{" REF "}", "{'type':'string'}", "{'type':'string'}");
  REFERENCE("{" REF ",'description':'d'}", "{'type':'string','description':'e'}",
            "{'description':'d','type':'string'}");
  REFERENCE("{" REF ",'properties':{'b':{'type':'null'}},'required':['b']}",
            "{'type':'object','properties':{'b':{'type':'string'},'c':{'type':'string'}},'required':['b','c']}",
            "{'properties':{'b':{'type':'null'},'c':{'type':'string'}},'propertyOrdering':['b','c'],"
            "'required':['b','c'],'type':'object'}");
  REFERENCE("{'items':{" REF "}}", "{'$ref':'#/$defs/y~1z~0'}", "{'items':{'type':'null'},'type':'array'}");
  REFERENCE("{'allOf':[{" REF "},{'description':'d'},true]}", "{'type':'string'}",
            "{'description':'d','type':'string'}");
  REFERENCE("{'type':'object','properties':{'b':{" REF "},'c':{" REF "}}}", "{'type':'string'}",
            "{'properties':{'b':{'type':'string'},'c':{'type':'string'}},'propertyOrdering':['b','c'],'type':'object'}");
  SUBSET_WHOLE("{" REF "," DEFS("$defs", "{'type':'object','properties':{'b':{'type':'string'}}}") "}",
               ",'parameters':{'properties':{'b':{'type':'string'}},'type':'object'}");
  SUBSET_WHOLE("{'properties':{'a':{'$ref':'#/definitions/x'}}," DEFS("definitions", "{'type':'string'}") "}",
               ",'parameters':{'properties':{'a':{'type':'string'}},'type':'object'}");
}

/* The schema is refused, and the message names what in it. */
static void refuses(int line, const char *request, const char *named) {
  static struct result r;
  struct mem m = mem_libc();
  expect_error(__FILE__, line, OPENAPI, request, "tools[1].parameters");
  CHECK(run(OPENAPI, request, 0, &m, &r) != 0);
  if (strstr(r.e.message, named) == NULL) test_str(__FILE__, line, r.e.message, strlen(r.e.message), named);
}

/* 40 definitions, each of which has two references to the next: a billion schemas. */
static void test_explosion(void) {
  static char request[8192];
  static const char HEAD[] = "{'model':'m','messages':[" HI "],'tools':[{'name':'f','parameters':{'properties':{'a':"
                             "{'$ref':'#/$defs/d0'}},'$defs':{'d40':{'type':'string'}";
  size_t n = (size_t)snprintf(request, sizeof request, "%s", HEAD);
  for (int i = 0; i < 40; i++)
    n += (size_t)snprintf(request + n, sizeof request - n, ",'d%d':{'properties':{'a':{'$ref':'#/$defs/d%d'},"
                          "'b':{'$ref':'#/$defs/d%d'}}}", i, i + 1, i + 1);
  snprintf(request + n, sizeof request - n, "}}}]}");
  refuses(__LINE__, request, "20,000");
}

static void test_refused(void) {
  refuses(__LINE__, ASKS(REFERS("{" REF "}", "{'properties':{'b':{" REF "}}}")), "got #/$defs/x");
  refuses(__LINE__, ASKS(REFERS("{" REF "}", "{" REF "}")), "got #/$defs/x");
  refuses(__LINE__, ASKS(REFERS("{'allOf':[{" REF "}]}", "{'items':{'allOf':[{" REF "}]}}")), "got #/$defs/x");
  refuses(__LINE__, ASKS(REFERS("{'anyOf':[{" REF "},{'type':'null'}]}",
          "{'anyOf':[{'items':{" REF "}},{'type':'null'}]}")),
          "got #/$defs/x");
  refuses(__LINE__, ASKS(HOLDS("{'$ref':'#'}")), "got #");
  refuses(__LINE__, ASKS(HOLDS("{'$ref':'#/properties/a'}")), "got #/properties/a");
  refuses(__LINE__, ASKS(HOLDS("{'$ref':'https://a.test/x'}")), "got https://a.test/x");
  refuses(__LINE__, ASKS(HOLDS("{'enum':['a',1]}")), "enum");
  refuses(__LINE__, ASKS(HOLDS("{'enum':[true,1]}")), "enum");
  refuses(__LINE__, ASKS(HOLDS("{'enum':[{}]}")), "enum");
  test_explosion();
}

static void test_values(void) {
  SUBSET("{'const':'x'}", "{'enum':['x'],'type':'string'}");
  SUBSET("{'type':'string','enum':['x','',null]}", "{'enum':['x'],'nullable':true,'type':'string'}");
  SUBSET("{'type':'integer','enum':[1,2]}", "{'enum':['1','2'],'format':'enum','type':'string'}");
  SUBSET("{'type':'number','enum':[0.5,-1]}", "{'enum':['0.5','-1'],'format':'enum','type':'string'}");
  SUBSET("{'const':true}", "{'enum':['true'],'format':'enum','type':'string'}");
  SUBSET("{'type':'string','format':'uri','description':'d'}",
         "{'description':'d {format: \\'uri\\'}','type':'string'}");
  SUBSET("{'type':'string','format':'date-time'}", "{'format':'date-time','type':'string'}");
  SUBSET("{'type':'integer','format':'int64'}", "{'format':'int64','type':'integer'}");
  SUBSET("{'type':'integer','exclusiveMinimum':0,'exclusiveMaximum':9}", "{'maximum':8,'minimum':1,'type':'integer'}");
  SUBSET("{'type':'number','exclusiveMinimum':0}", "{'description':'{exclusiveMinimum: 0}','type':'number'}");
  SUBSET("{'type':'string','minLength':1,'maxLength':9,'pattern':'^a','title':'t','default':'a','example':'b'}",
         "{'default':'a','example':'b','maxLength':9,'minLength':1,'pattern':'^a','title':'t','type':'string'}");
}

static void test_types(void) {
  SUBSET("{'type':['string','null']}", "{'nullable':true,'type':'string'}");
  SUBSET("{'type':['string','integer','null'],'minLength':1,'minimum':2,'description':'d'}",
         "{'anyOf':[{'minLength':1,'type':'string'},{'minimum':2,'type':'integer'}],'description':'d',"
         "'nullable':true}");
  SUBSET("{'type':['array','object','null'],'items':{'const':'x'},'properties':{'b':true}}",
         "{'anyOf':[{'items':{'enum':['x'],'type':'string'},'type':'array'},{'properties':{'b':{}},'type':'object'}],"
         "'nullable':true}");
  SUBSET("{'type':[]}", "{}");
  SUBSET("{'type':'STRING'}", "{'type':'string'}");
  SUBSET("{'type':'any'}", "{}");
  SUBSET("{'properties':{'b':{'maxLength':2}}}",
         "{'properties':{'b':{'maxLength':2,'type':'string'}},'type':'object'}");
  SUBSET("{'type':'string','properties':{},'required':['x'],'items':{}}", "{'type':'string'}");
  SUBSET("true", "{}");
  SUBSET("{'type':'object','properties':{'b':{'type':'null'},'c':false}}",
         "{'properties':{'b':{'type':'null'}},'type':'object'}");
}

static void test_choices(void) {
  SUBSET("{'anyOf':[{'type':'string','minLength':1},{'type':'null'}]}",
         "{'minLength':1,'nullable':true,'type':'string'}");
  SUBSET("{'anyOf':[{'const':null},{'type':'string'}],'description':'d'}",
         "{'description':'d','nullable':true,'type':'string'}");
  SUBSET("{'oneOf':[{'type':'string'},{'type':'integer'},{'type':'null'}]}",
         "{'anyOf':[{'type':'string'},{'type':'integer'}],'nullable':true}");
  SUBSET("{'anyOf':[{'anyOf':[{'const':'x'},{'const':'y'}]},{'type':'null'}]}",
         "{'anyOf':[{'enum':['x'],'type':'string'},{'enum':['y'],'type':'string'}],'nullable':true}");
  SUBSET("{'anyOf':[{'type':'string'}],'oneOf':[{'type':'integer'}]}", "{'type':'string'}");
  /* One that takes everything leaves no choice. */
  SUBSET("{'type':'object','properties':{'b':{'type':'null'}},'anyOf':[{'required':['b']},{'required':['c']}]}",
         "{'properties':{'b':{'type':'null'}},'type':'object'}");
  SUBSET("{'allOf':[{'properties':{'b':{'type':'string'}},'required':['b']},{'type':'object',"
         "'properties':{'c':{'type':'null'}},'required':['c','b']}]}",
         "{'properties':{'b':{'type':'string'},'c':{'type':'null'}},'propertyOrdering':['b','c'],"
         "'required':['b','c'],'type':'object'}");
}

static void test_containers(void) {
  SUBSET_WARNS("{'type':'array'}", "{'items':{'type':'string'},'type':'array'}", "tools");
  SUBSET_WARNS("{'type':'object','properties':{'b':{'type':'array'},'c':{'type':'array','items':false}}}",
               "{'properties':{'b':{'items':{'type':'string'},'type':'array'},'c':{'items':{'type':'string'},"
               "'type':'array'}},'propertyOrdering':['b','c'],'type':'object'}", "tools");
  SUBSET("{'type':'array','items':true,'minItems':1,'maxItems':2,'uniqueItems':true}",
         "{'items':{},'maxItems':2,'minItems':1,'type':'array'}");
  SUBSET("{'type':'array','prefixItems':[{'type':'string'},{'const':'x'}]}",
         "{'items':{'anyOf':[{'type':'string'},{'enum':['x'],'type':'string'}]},'type':'array'}");
  SUBSET("{'items':[{'type':'integer'}]}", "{'items':{'type':'integer'},'type':'array'}");
  /* Keywords without a place. */
  SUBSET("{'type':'object','$schema':'x','$id':'y','additionalProperties':{'type':'string'},'examples':[{}],"
         "'patternProperties':{'a':{}},'not':{},'if':{},'then':{},'else':{},'discriminator':{},'propertyNames':{},"
         "'$comment':'c','properties':{'b':{'type':'null'}},'minProperties':1,'multipleOf':2}",
         "{'minProperties':1,'properties':{'b':{'type':'null'}},'type':'object'}");
  /* Names of properties that there are. */
  SUBSET("{'type':'object','properties':{'b':{'type':'null'}},'required':['b','c'],'propertyOrdering':['d']}",
         "{'properties':{'b':{'type':'null'}},'required':['b'],'type':'object'}");
  SUBSET("{'type':'object','properties':{},'required':['c']}", "{'type':'object'}");
  SUBSET_WHOLE("{'type':'object','properties':{},'description':'d'}", "");
  SUBSET_WHOLE("{'type':'object','additionalProperties':{'type':'string'}}", "");
}

int main(void) {
  test_json_schema();
  test_references();
  test_refused();
  test_values();
  test_types();
  test_choices();
  test_containers();
  return test_done("codec/gemini/schema");
}
