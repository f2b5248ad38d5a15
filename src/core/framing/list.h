/* list.h: the framings, by their names: a new one is a line here. framing_NAME is its table. */
#ifndef KOINE_FRAMING_LIST_H
#define KOINE_FRAMING_LIST_H

#define FRAMING_LIST(X) \
  X(eventstream) \
  X(ndjson) \
  X(sse)

#endif
