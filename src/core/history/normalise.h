/*
** normalise.h: the rules that make any legal-looking history a legal request (docs/normalisation.md, by number).
** Works on the canonical request tree (codec.h), in place: the tree is a private copy. A well-formed history passes
** unchanged. Deterministic and idempotent.
*/
#ifndef KOINE_HISTORY_NORMALISE_H
#define KOINE_HISTORY_NORMALISE_H

#include "core/json/json.h"

#pragma GCC visibility push(hidden)

#define TOOL_NAME_MAX 64 /* of a tool's name: the least that any wire allows (N18) */

/* Where an answer comes from: the row's name, the model as requested, the name of the wire format. */
struct origin {
  struct str provider, model, wire;
};

/* The rules that a wire format sets for a history. */
struct norm {
  struct origin origin;        /* what may be replayed (N13) */
  int signed_thinking;         /* thinking without provider_data but with a signature is this wire's own */
  int drop_blank_text;         /* white-space-only text is refused too (N3) */
  int merge_blocks;            /* N9/N10: same-role messages become one, thinking dropped from a merged-in assistant */
  int keep_thinking;           /* N10 not: a merged-in assistant keeps its thinking */
  int keep_signed_text;        /* N3 not: text without text goes back where provider_data.raw is the wire's own */
  int merge_text;              /* N11: same-role messages joined; assistant messages with calls stay apart */
  int results_first;           /* N8 inside a user message */
  int result_names;            /* a tool_result gets the name of its call, as its member `name` */
  const char *id_chars;        /* N7: "word-" = [A-Za-z0-9_-], and what stands behind that; "alnum9" = exactly nine [A-Za-z0-9]; NULL = any */
  size_t id_max;               /* N7: longest id; 0 = no limit */
};

/*
** Checks the request's shapes: messages (roles, block types, required fields and their types), system, tools (names,
** duplicates), tool_choice. 0, or -1 and KIND_ARGUMENT with the path of the field, e.g. `messages[2].content[1].text`.
** A trailing assistant message with tool calls, which nothing can have answered yet, is an argument error here (N5).
*/
int normalise_check(const struct node *request, struct err *e);
/* The same for a request without its first `known` messages, which were checked before: the last of them, if there is
** one, is of the user. */
int normalise_check_after(const struct node *request, size_t known, struct err *e);
/* One block or message alone, as the constructors check it; `path` begins the field's name. */
int normalise_check_message(const struct node *message, const char *path, struct err *e);

/* Returns what is expected where this source of an image or a document is neither a URL nor base64 data; NULL: it may
** be. `type`: its MIME type, empty where that is not said. */
const char *normalise_source(struct str source, struct str type, int document);

/* True for a tool that is the provider's own: its type is neither absent nor "function". */
int normalise_is_server_tool(const struct node *tool);
/* True when a tool_choice of that name means the tool: those of a provider's own may be without a name, the type
** says all. */
int normalise_is_chosen(const struct node *tool, struct str name);
/*
** True when a block with this provider_data came from there (N13). One without a wire counts as of the wire in use:
** it was kept before wires were, or is an author's own.
*/
int normalise_is_own(const struct node *provider_data, const struct origin *from);
/*
** Rules N1, N13, N3, N4, N5, N8, N7, N9/N10 or N11 over request.messages, in that order. Content is an array of blocks
** in every message afterwards, never empty; every tool_use has exactly one tool_result, in the next user message. With
** drop_blank_text, white space that ends a trailing assistant message goes too. In the names of calls what no
** tool's name may hold becomes "_", and they are cut to TOOL_NAME_MAX (N18). 0, or -1: memory, or KIND_ARGUMENT when
** nothing is left to send.
*/
int normalise_messages(struct arena *a, struct node *request, const struct norm *n, struct err *e);
/* N12: *system is the system prompt as an array of text blocks without blank ones, NULL when nothing is left. 0, or -1
** (memory). */
int normalise_system(struct arena *a, const struct node *request, struct node **system, struct err *e);
/*
** N18: schemas made sendable in place: missing parameters = {type="object",properties={}}, `properties` an object,
** `required`, `enum`, `anyOf`, `oneOf`, `allOf`, `prefixItems` arrays even when empty; root type filled in; with
** strip_additional, additionalProperties removed at every level. Without any tool, the members tools and tool_choice
** are removed from the request. Tools of the provider's own are left as they are. 0, or -1 (memory).
*/
int normalise_tools(struct arena *a, struct node *request, int strip_additional, struct err *e);
/* N14 outbound: the JSON text of a tool_use block's arguments: the model's own bytes where they still decode to
** `arguments`, else sorted JSON; {"INVALID_JSON": …} where arguments_error is set. p NULL when out of memory. */
struct str normalise_arguments(struct arena *a, const struct node *tool_use, int depth);
/*
** N14 inbound: reads a model's argument bytes. *arguments is an OBJECT node (empty when bad; null members dropped),
** *json the bytes to keep (trimmed, double encoding undone; "{}" for nothing; borrowed or in the arena), *problem NULL
** or why they are no JSON object (in the arena or constant). *values as in json_tree_within: calls may share the cap,
** beyond it is a *problem, too. 0, or -1 (memory).
*/
int normalise_read_arguments_within(struct arena *a, struct str bytes, int depth, size_t *values,
                                    struct node **arguments, struct str *json, const char **problem);
/* N22: text of an is_error result where the wire has no flag: "Error: " before it unless it already begins so. */
struct str normalise_error_text(struct arena *a, struct str text);

#pragma GCC visibility pop

#endif
