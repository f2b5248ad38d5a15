/*
** workdir_git.c: which paths are git's own. Whoever writes a repository's settings or hooks has the next git run
** programs, so no walk that writes may end there. A name counts in every spelling that some file system, or git itself,
** takes for `.git`; a repository's directory under another name is known by what lies in it.
*/
#include <fcntl.h>
#include <sys/stat.h>

#include "workdir_private.h"

/* Code points that case-insensitive file systems leave out when they compare names: Unicode's default ignorables. */
static const struct { unsigned first, last; } IGNORED[] = {
  { 0xAD, 0xAD }, { 0x34F, 0x34F }, { 0x61C, 0x61C }, { 0x115F, 0x1160 }, { 0x17B4, 0x17B5 }, { 0x180B, 0x180F },
  { 0x200B, 0x200F }, { 0x202A, 0x202E }, { 0x2060, 0x206F }, { 0x3164, 0x3164 }, { 0xFE00, 0xFE0F },
  { 0xFEFF, 0xFEFF }, { 0xFFA0, 0xFFA0 }, { 0xFFF0, 0xFFF8 }, { 0x1BCA0, 0x1BCA3 }, { 0x1D173, 0x1D17A },
  { 0xE0000, 0xE0FFF }
};

static int is_ignored(unsigned code) {
  for (size_t i = 0; i < sizeof IGNORED / sizeof *IGNORED; i++)
    if (code >= IGNORED[i].first && code <= IGNORED[i].last) return 1;
  return 0;
}

/* The code point of several bytes at p, before `end`, and how many they are; 0 when there is none. */
static unsigned code_at(const char *p, const char *end, int *n) {
  unsigned lead = (unsigned char)*p, code;
  *n = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC0 || end - p < *n) return 0;
  code = lead & (0x7Fu >> *n);
  for (int i = 1; i < *n; i++) code = code << 6 | ((unsigned char)p[i] & 0x3Fu);
  return code;
}

static const char *skip_ignored(const char *p, const char *end) {
  int n;
  while (p < end && is_ignored(code_at(p, end, &n))) p += n;
  return p;
}

/* True when the name of n bytes at p means `word`: whatever its case, with dots and spaces behind it, or a stream. */
static int means(const char *p, size_t n, const char *word) {
  const char *end = p + n;
  for (; *word != '\0'; word++, p++) {
    p = skip_ignored(p, end);
    if (p == end || str_lower(*p) != *word) return 0;
  }
  for (;; p++) {
    p = skip_ignored(p, end);
    if (p == end || *p == ':') return 1;
    if (*p != '.' && *p != ' ') return 0;
  }
}

int workdir_names_git(const char *path) {
  while (*path != '\0') {
    size_t n = strcspn(path, "/\\"); /* some systems take a backslash for a slash */
    if (means(path, n, ".git") || means(path, n, "git~1")) return 1;
    path += n;
    if (*path != '\0') path++;
  }
  return 0;
}

static int has(int dir, const char *name) {
  struct stat st;
  return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* True when the directory has that entry, or would have it with `made`. */
static int will_have(int dir, const char *name, const char *made) {
  return means(made, strlen(made), name) || has(dir, name);
}

/* True when git would take the directory for a repository's once `made` is in it. */
static int is_repository(int dir, const char *made) {
  if (!means(made, strlen(made), "head") && !has(dir, "HEAD")) return 0;
  return will_have(dir, "commondir", made) || (will_have(dir, "objects", made) && will_have(dir, "refs", made));
}

int workdir_in_repository(const struct workdir_walk *w) {
  int dir = workdir_walk_dir(w);
  if (is_repository(dir, w->name)) return 1;
  return w->depth > 0 && w->inside[w->depth - 1] && !has(dir, ".git"); /* a working tree has a `.git` of its own */
}
