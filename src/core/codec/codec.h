/*
** codec.h: the contract of a wire format, the quirks that rows may set, and what all formats share (error bodies).
** A codec is a const table of functions over its own state; it never waits, never allocates outside mem, and knows
** no provider: what differs between providers of one format is a quirk.
*/
#ifndef KOINE_CODEC_H
#define KOINE_CODEC_H

#include "core/base/mem.h"
#include "core/base/err.h"
#include "core/message/event.h"
#include "core/json/json.h"
#include "core/base/limits.h"
#include "core/framing/framing.h"
#include "core/history/normalise.h"
#include "list.h"

#pragma GCC visibility push(hidden)

/*
** All that a row (or a model's row) may say about its dialect. A name here is a quirk's name in the row; strings are
** NUL-terminated and borrowed from quirks.c's own table of allowed words. quirks.c: QUIRKS[] lists them with type,
** default and meaning; an unknown name or word is an error.
*/
struct quirks {
  /* both formats */
  int context_window;        /* tokens; 0 = unknown */
  /* structured output, which Lua decides: no codec heeds these */
  const char *structured;    /* what the answer can be held to: "none" | "object" (any JSON object) | "schema" (one that
                                fits a JSON Schema, or any) */
  int structured_tools;      /* a request may have tools, too */
  int structured_strict;     /* takes `strict`, which tells a schema that is enforced from one that is a wish */
  int no_json_object;        /* takes a schema, but not to be asked for any object */
  const char *forced_choice; /* whether the model can be made to call a tool: "always" | "unthinking" (not while it
                                thinks) | "never" */
  const char *schema_dialect; /* what it takes of JSON Schema (lua/koine/data/schema/rewrite): "plain" (not known: as
                                 it is) | "openai_strict" | "anthropic" | "bedrock" | "gemini" | "ollama" | "gbnf" */
  /* Anthropic Messages */
  int thinking_default;      /* model thinks unless told not to: "off" must be sent */
  int no_sampling;           /* temperature, top_p are refused by the model: dropped with a warning (Chat too) */
  int no_prefill;            /* a trailing assistant message is refused: ArgumentError (Chat ignores it) */
  const char *route;         /* path of a chat: "versioned" = /v1/messages | "unversioned" = /messages, where the base URL
                                has the version | "raw_predict" = /models/MODEL:rawPredict or :streamRawPredict,
                                with the version in the body */
  int unsigned_thinking;     /* thinking has no signature and goes back without one. This format also heeds: no_images,
                                no_documents, image_data_only, no_stop, effort ("template") */
  /* OpenAI Chat */
  const char *max_tokens_field;  /* "max_tokens" | "max_completion_tokens" */
  const char *system_role;       /* "system" | "developer" | "user" */
  int no_stream_usage;           /* do not send stream_options */
  const char *null_content;      /* assistant without text but with calls: "null" | "empty" | "omit" */
  const char *reasoning_field;   /* name for replaying reasoning: "none" | "reasoning_content" | "reasoning" |
                                    "reasoning_text" | "reasoning_details" | "content" (array form) */
  const char *reasoning_replay;  /* "origin" = where the origin matches; "always" = on every assistant reply once tools
                                    are used, "" if none; "never" */
  const char *effort;            /* how an effort goes out: "reasoning_effort" | "reasoning" (object) | "thinking"
                                    (object {type}, reasoning_effort beside it) | "enable_thinking" | "none_or_high"
                                    (reasoning_effort, which is one of these) | "none" (dropped with a warning) |
                                    "template" (what llama.cpp's server tells the model's template, on every wire:
                                    chat_template_kwargs {enable_thinking}, reasoning_effort, "none" to
                                    switch it off, thinking_budget_tokens) */
  const char *tool_choice_any;   /* word for "any": "required" | "any" */
  const char *tool_id;           /* "any" | "alnum9" (exactly 9 of [A-Za-z0-9]) */
  int tool_id_max;               /* longest tool id; 0 = no limit */
  int image_string;              /* image_url is a plain string, not an object */
  int image_data_only;           /* http image URLs are refused: ArgumentError */
  int no_documents;              /* no file parts: ArgumentError naming the block */
  int no_images;                 /* no image parts: ArgumentError naming the block */
  int tool_result_name;          /* role "tool" messages carry `name` */
  int no_additional_properties;  /* strip additionalProperties from tool schemas */
  int no_effort_with_tools;      /* tools are refused unless reasoning_effort is "none": sent so, thinking left out */
  int no_stop;                   /* stop sequences are refused or not heeded: dropped with a warning */
  int no_strict;                 /* `strict` on tools is refused: dropped */
  const char *seed_field;        /* name of the seed: "seed" | "random_seed" | "none" (dropped with a warning) */
  int top_k;                     /* takes top_k, which is none of OpenAI's: else dropped with a warning */
  int min_p;                     /* the same of min_p */
  const char *logprobs;          /* how logprobs are asked for (Responses and Gemini heed "none"): "top_logprobs" (as
                                    the format has it) | "count" (`logprobs` is the number of alternatives) | "flag"
                                    (no alternatives are told) | "none" (dropped with a warning) */
  int logprobs_most;             /* the most alternatives there are to a token; 0 = 20 (Responses and Gemini too) */
  int bare_output;               /* response_format takes a schema alone, without name, description or strict */
  int dedup_reasoning;           /* identical consecutive reasoning deltas are one */
  int reasoning_outside_output;  /* completion_tokens excludes reasoning tokens */
  int reports_cost;              /* usage says what the answer cost in USD: cost (a number, or an object with
                                    total_cost), or cost_in_usd_ticks (Responses too) */
  int inline_think;              /* leading <think>…</think> in the text is reasoning (think.h). For servers that hand
                                    the model's tags through: vLLM without --reasoning-parser, llama.cpp with
                                    --reasoning-format none, MiniMax's own without reasoning_split. The reasoning goes
                                    back as reasoning_field says, never as tags in the text */
  int leaked_calls;              /* calls of the tools offered are read from the text of an answer that has no real
                                    ones (leaked.h). For models that write <invoke>, <tool_call>, [TOOL_CALLS] where
                                    their server should have read them: MiniMax, Mistral and Hermes templates behind
                                    compatible servers. Off: an answer that only shows such markup would be obeyed.
                                    From the first marker on, text waits for the end of the message */
  /* OpenAI Responses, which also heeds: no_sampling, effort ("none", "template"), tool_choice_any, no_images, no_documents,
     image_data_only, no_additional_properties, no_strict, system_role */
  int system_in_input;           /* the system prompt is the first input item, not `instructions` */
  int no_encrypted_reasoning;       /* the model does not reason, and refuses to be asked for what it thought */
  /* Bedrock Converse, which also heeds: no_sampling, no_prefill, thinking_default, system_role ("user"), tool_id,
     inline_think (<thinking> of family nova), no_images, no_documents */
  const char *family;               /* whose model it is, which decides what of the format it takes: "other" | "claude" |
                                       "nova" | "nova2" | "llama" | "mistral_large" | "gpt_oss" | "thinker" (takes its
                                       reasoning back, has no setting for it) */
  /* Gemini, which also heeds: no_images, no_documents */
  int before_gemini_3;       /* an older model: media stand beside a tool's result, not in it; own tools are not offered
                                beside the provider's; no call needs a thought signature */
  int no_system_prompt;      /* the model has no place for one: it goes before the first message */
  int thinking_least;        /* tokens: the smallest budget there is; 0 = no lower bound */
  int thinking_most;         /* tokens: the largest, which "high" asks for; 0 = 24,576 */
  int thinking_always;       /* the model cannot be told not to think: as little as there is */
  const char *least_level;   /* the word for thinking little: "low" | "minimal" */
  int metadata_labels;       /* metadata are `labels`; else they are dropped with a warning */
  int plain_count;           /* tokens are counted of system prompt, tools, contents and their settings alone, not of a
                                whole request that names its model */
  int no_tool_invocations;   /* refuses to be asked for what the provider's tools did */
  int openapi_schema;        /* takes a subset of OpenAPI's schemas alone, as `parameters` */
  /* Any wire */
  const char *refusals;      /* the wire in whose form requests are refused: "own" | "bedrock" (what stands before the
                                wire's own server is AWS) */
};

/* Everything at its default. */
void quirks_default(struct quirks *q);
/* Sets one quirk from a row's value (boolean, integer or string node). 0, or -1 and KIND_ARGUMENT naming it. */
int quirks_set(struct quirks *q, struct str name, const struct node *value, struct err *e);

/*
** The canonical request, an object node (what the binding makes of the caller's tables; checked by normalise_check before):
**   model          string, as the caller named it, prefix resolved
**   messages       array of {role, content}; content a string or an array of blocks (design vocabulary)
**   stream         boolean (always present)
** options, which a codec that cannot send them warns of:
**   system         string | array of text blocks
**   tools          array of {name, description, parameters, strict, cache_control}, and of the provider's own:
**                  {type, …}, with server_tool = true where the type need not be known
**   max_tokens     integer
**   thinking       false | string | {budget_tokens = n}
**   tool_choice    "auto" | "any" | "none" | {type = "tool", name}
**   temperature, top_p, min_p  number    seed, top_k  integer    stop_sequences  array of strings
**   logprobs       integer, from 0 to 20: alternatives to each token of the answer whose likelihood is to be told, too
**   cache_retention "none" | "short" | "long"     metadata object     betas array of strings
**   output         {name, description?, schema?, strict?}: what shape the answer shall have; without a schema any JSON
**                  object. Set only where the wire has a field for that (chosen before, by row and model)
**   extra          object: merged in sorted order just before the messages, never over a field already written
** and what is known besides:
**   no_reasoning, no_encrypted, no_container, no_thinking, no_logprobs, no_seed
**                  true: what a remedy (below) leaves out
**   thinking_mode  "budget" | "adaptive" | "effort" | "level" | "none": from the model's row; absent = not known
**   max_output     integer, from the model's row
** Absent members are absent, never null.
*/
struct render {
  struct arena *a;             /* scratch */
  const struct quirks *quirks;
  struct str provider;         /* row name: what provider_data.provider is compared with */
  struct node *request;        /* may be changed in place: it is a private copy of the caller's tables */
  /* out: */
  struct buf *body;            /* the request's bytes */
  struct buf *path;            /* empty at first: what comes behind the base URL, "/v1/messages" */
  const struct framing *framing; /* of the streamed answer: the codec's at first */
  struct node *headers;        /* OBJECT, empty at first: headers this request needs (a betas list) */
  struct node *warnings;       /* ARRAY, empty at first: {code, field, message} */
  unsigned remedies;           /* 0 at first: bit i is set when the codec's remedies[i] would change the body */
};

/*
** A feature that a request can do without when the provider refuses it: the request is sent once more with the member
** `without` set. It fits a refusal (400 to 499, or the `status` named) with that code, or whose message has these
** words, whatever their case.
*/
struct remedy {
  const char *without;         /* NULL: the end of the list */
  const char *code, *says;     /* NULL: does not matter */
  int status;                  /* 0: any refusal */
  int lasts;                   /* what was refused is refused always: the adapter's later requests go without it */
};

/* What a record says that says one text and, in some formats, counts besides. */
#define SAID_COUNTS 3
struct said {
  struct str text;                 /* the part's; empty: it says something else */
  struct str digits[SAID_COUNTS];  /* of counts: they stand in the data; empty where a count is not there, or is no plain integer */
};

/* The facts of the call that parsing needs. */
struct parse {
  const struct mem *m;
  struct arena *a;             /* scratch, emptied by the caller once the parts were taken */
  const struct quirks *quirks;
  const struct limits *limits;
  const struct node *tool_names; /* ARRAY of the names of the tools offered, for the quirk leaked_calls; NULL = none */
  int64_t max_tokens;            /* how many tokens the caller allows the answer; 0 = not said */
  unsigned long *events;         /* counts the events of a stream that were read; NULL: not counted */
  struct str request;            /* the body that was sent, for init alone; empty where it is not known */
  struct said *said;             /* NULL, or empty, and filled by parse_record: see parse_text */
};

/* ENDED_SO_FAR: the answer is complete as it is, but there may be more of it; ENDED_FOR_GOOD: the wire's own terminal
** signal was seen, and only usage may follow. parse_end is for both. */
enum ended { NOT_ENDED, ENDED_FOR_GOOD, ENDED_SO_FAR };

struct codec {
  const char *name;            /* as in list.h */
  size_t state_size;
  const struct framing *framing; /* of a streamed answer, unless render says another */
  const struct remedy *remedies; /* NULL: none */
  int id_in_header;            /* its answers have no id of their own: the request's stands for it */
  const char *error_header;    /* of a refusal: the header, in lower case, that says its type; NULL: the body says all */
  const char *const *options;  /* the request's options that render sends, or warns of itself; ended by NULL */
  /* Writes body and path. 0, or -1: KIND_ARGUMENT with field and expected, KIND_NOT_IMPLEMENTED, KIND_MEMORY. */
  int (*render)(struct render *r, struct err *e);
  /* The same for counting tokens, or NULL where the wire has no such call. */
  int (*render_count)(struct render *r, struct err *e);
  /* Readies zeroed state; p outlives it. */
  void (*init)(void *state, const struct parse *p);
  void (*free)(void *state);
  /* One record of the stream, pushed as parts. 0, or -1: the wire's own error event (status it maps to) or
  ** KIND_PROTOCOL. */
  int (*parse_record)(void *state, const struct record *r, struct events *out, struct err *e);
  /* One more record like the last one, which filled *said because it said nothing else: parse_record's, where the bytes are the
  ** same but for that text, which is not empty, for the digits, and for what is unread. NULL: there are none such. */
  int (*parse_text)(void *state, struct str text, unsigned flags, struct events *out, struct err *e);
  /* And then, the counts of that record; -1: as in the last one. NULL: such records have none. */
  int (*parse_counts)(void *state, const int64_t *counts, struct events *out, struct err *e);
  const char *const *unread;   /* members of such records that no reader looks at, and that differ from record to record:
                                  plain strings or integers; ended by NULL, or NULL */
  /* A whole plain answer (also a plain answer to a streaming request), pushed as parts. */
  int (*parse_body)(void *state, struct str body, struct events *out, struct err *e);
  /* Nothing more comes: pushes what was held back (the stop reason among it). Called once, only when ended(). */
  int (*parse_end)(void *state, struct events *out, struct err *e);
  /* Reads a refusal where codec_error is not enough: type is what error_header says; NULL: codec_error. */
  void (*read_error)(struct arena *a, int status, struct str type, struct str body, struct err *e);
  /* Returns what a close of the stream would be now: an enum ended. */
  int (*ended)(const void *state);
};

#define CODEC_DECLARE(name) extern const struct codec codec_##name;
CODEC_LIST(CODEC_DECLARE)
#undef CODEC_DECLARE
/* The codec of that name, or NULL. */
const struct codec *codec_by_name(struct str name);

/*
** Readies the tools of the provider's own for the body: their types are among `known` (ended by NULL; one that ends
** in "_" is followed by a date, others may be, as in web_search_20250305 or web_search_2025_08_26), or server_tool
** says that this does not matter, and is removed. 0, or -1 and KIND_ARGUMENT that lists those known.
*/
int codec_server_tools(struct node *request, const char *const *known, struct err *e);
/* After a render: a warning for each option of the request that is not one of the codec's. 0, or -1 (memory). */
int codec_warn_options(const struct codec *codec, const struct render *r);
/* Where the answer to a request comes from, in this wire format. */
struct origin codec_origin(const struct render *r, const struct codec *codec);
/* The remedy among those of the mask that fits a refusal, or NULL. */
const struct remedy *codec_remedy(const struct codec *codec, unsigned mask, int status, struct str code,
                                  struct str message);
/*
** Reads an error answer: status (200 for an error object inside a stream), body bytes (JSON in any of the shapes known,
** SSE-framed JSON, HTML, text, empty). Fills kind, status, code, request_id, message, retryable; KIND_MEMORY when the JSON
** found no room.
*/
void codec_error(struct arena *a, int status, struct str body, struct err *e);
/* The codec that reads what is refused of this codec's requests. */
const struct codec *codec_of_refusals(const struct codec *codec, const struct quirks *q);
/* The same as the codec reads it; type: what its error_header says, empty where it is not there. */
void codec_read_error(const struct codec *codec, struct arena *a, int status, struct str type, struct str body,
                      struct err *e);
/* The same from an error object already read ({type, code, message, status…}, a string, or the object holding "error"). */
void codec_error_node(struct arena *a, int status, const struct node *error, struct err *e);
/* Appends {code, field, message} to an array of warnings; 0 or -1 (memory). The strings are borrowed. */
int codec_warn(struct arena *a, struct node *warnings, const char *code, const char *field, const char *message);

#pragma GCC visibility pop

#endif
