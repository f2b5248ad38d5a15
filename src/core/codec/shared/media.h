/*
** media.h: where the data of images and documents are: a URL, or base64 and its type.
** Borrows from the block. Failure: -1.
*/
#ifndef KOINE_CODEC_SHARED_MEDIA_H
#define KOINE_CODEC_SHARED_MEDIA_H

#include "writer.h"

#pragma GCC visibility push(hidden)

struct media {
  struct str type, data, url; /* url, or MIME type and base64 data */
};

/* The sources that media_read takes, in words. */
#define MEDIA_SOURCES "http(s) URL, base64 data: URL, or base64 data with a media_type"

/* The media_type of a block, by its registered name. */
struct str media_type(const struct node *block);
/* Reads a block's source: 0, or -1 when it is none of: http(s) URL, base64 data: URL, base64 data with media_type. */
int media_read(const struct node *block, struct media *m);
/* True for a document of text whose data is there. */
int media_is_text(const struct node *block, const struct media *m);

#pragma GCC visibility pop

#endif
