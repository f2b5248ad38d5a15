/*
** message.h: the accumulator: a codec's parts become one message, and the deltas that users see.
** It owns copies of everything it keeps. Failure: -1 and an err (KIND_LIMIT, KIND_PROTOCOL, KIND_MEMORY).
*/
#ifndef KOINE_MESSAGE_H
#define KOINE_MESSAGE_H

#include "event.h"
#include "core/json/json.h"
#include "core/history/normalise.h"
#include "core/base/limits.h"

#pragma GCC visibility push(hidden)

/* Bytes of a tool call's id and of its name, as the provider sends them; more is KIND_LIMIT. */
#define TOOL_CALL_ID_MAX 4096
#define TOOL_CALL_NAME_MAX 4096
/* Bytes of the container's JSON; more is KIND_LIMIT. */
#define CONTAINER_MAX 65536
/* Bytes of the JSON of all logprobs; more is KIND_LIMIT: 20 alternatives for each of 20,000 tokens take as many. */
#define LOGPROBS_MAX (32 << 20)

struct block;

struct message {
  const struct mem *m;
  const struct limits *limits;
  struct origin origin;         /* its strings are borrowed and outlive the message */
  size_t request_messages;      /* how many messages the request had: part of synthetic ids */
  struct str output_tool;       /* the tool whose call is the answer itself, no call to make; borrowed; empty = none */
  struct block *blocks;
  size_t n, cap;
  int open;                     /* index of the open text, thinking or refusal block, -1 = none */
  int last;                     /* index of the block that the last part went to */
  int tools, tools_open;        /* tool calls so far; those that started and did not end */
  struct buf id, reported_model, raw_stop, stop_sequence;
  struct buf container;         /* JSON object; empty = none */
  struct buf logprobs;          /* JSON arrays, one behind the other; empty = none */
  struct buf warnings;          /* NUL-separated triples */
  struct buf scratch;           /* the last fragment, rewritten */
  size_t warning_count;
  enum stop stop;
  struct usage usage;
};

/* Initialises an empty message; frees its memory. The origin's strings stay the caller's. */
void message_init(struct message *msg, const struct mem *m, const struct limits *l, const struct origin *from,
                  size_t request_messages);
void message_free(struct message *msg);
/* Takes one part; pushes the deltas it causes. The deltas' strings borrow from the part or from the message. */
int message_add(struct message *msg, const struct event *part, struct events *deltas, struct err *e);
/* The message is complete: closes what is open, gives late tool calls their ids, settles the stop reason. KIND_LIMIT when
** the arguments of its calls hold more than JSON_VALUES_MAX values. */
int message_end(struct message *msg, struct events *deltas, struct err *e);
/* Bytes held from the allocator. */
size_t message_held(const struct message *msg);
/* Adds a warning ({code, field, message}); field may be "". */
int message_warn(struct message *msg, const char *code, const char *field, const char *text);
/*
** The message as a canonical tree: {id?, model, content, stop_reason, raw_stop_reason?, stop_sequence?, usage, container?,
** logprobs?, warnings, degenerate?}; with partial set: stop_reason "error", partial = true. Strings borrow from the message. Arguments
** beyond JSON_VALUES_MAX values, all calls together, are not read: an arguments_error. NULL: memory. usage: {input_tokens?,
** output_tokens?, cache_read_tokens?, cache_creation_tokens?, reasoning_tokens?, cache_creation_1h_tokens? (more than
** none), cost? = {total} and cost_source = "provider", unpriced?}. logprobs: array of {token, logprob?, bytes?, top =
** array of {token, logprob?, bytes?}}, bytes a string of just these bytes.
*/
struct node *message_node(struct message *msg, struct arena *a, int partial);

#pragma GCC visibility pop

#endif
