#ifndef DOPPEL_DOPPEL_H
#define DOPPEL_DOPPEL_H
/* The index (doppel/index.h) for C and for bindings of other languages.
 *
 *   char* error = NULL;
 *   doppel_index* index = doppel_open("pages.index", NULL, &error);
 *   doppel_document page = {.struct_size = sizeof page, .id = "a", .id_size = 1};
 *   page.text = text;
 *   page.text_size = strlen(text);
 *   doppel_judgements* said = doppel_insert(index, &page, 1, &error);
 *   if (said != NULL && doppel_judgement_of(said, 0)->verdict == DOPPEL_DUPLICATE)
 *     puts(doppel_judgement_of(said, 0)->duplicate_of);
 *   doppel_judgements_free(said);
 *   doppel_close(index);
 *
 * A function that fails returns NULL or a negative number. If `error` is not NULL, the function sets it to a
 * message, which the caller releases with doppel_free(). All functions of an index are as thread-safe as
 * doppel/index.h.
 *
 * A later version may add members at the end of a structure. So a program tells the size of structures that
 * it makes, and it never copies those that the library makes.
 */

#include <stddef.h>
#include <stdint.h>

#include "doppel/version.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DOPPEL_EXPORT __attribute__((visibility("default")))

typedef struct doppel_index doppel_index;
typedef struct doppel_options doppel_options;
typedef struct doppel_judgements doppel_judgements;

typedef struct doppel_document {
  size_t struct_size; /* sizeof(doppel_document) */
  const char* id;
  size_t id_size;
  const char* text;
  size_t text_size;
  const char* scope;
  size_t scope_size;
  int64_t timestamp_ms;
  int has_timestamp;
} doppel_document;

enum { DOPPEL_UNIQUE = 0, DOPPEL_DUPLICATE = 1, DOPPEL_UNSCORED = 2 };             /* verdict */
enum { DOPPEL_NONE = 0, DOPPEL_EXACT = 1, DOPPEL_NEAR = 2, DOPPEL_CONTAINED = 3 }; /* kind */
/* A relation to an original: it has (nearly) all of the document, the document has (nearly) all of it, both
 * have a passage, or they are less similar than the threshold and at least report_from. */
enum { DOPPEL_IS_CONTAINED = 0, DOPPEL_CONTAINS = 1, DOPPEL_SHARES = 2, DOPPEL_SIMILAR = 3 };

typedef struct doppel_judgement {
  int verdict;
  int kind;
  double similarity;
  const char* duplicate_of; /* the original's id, null-terminated; NULL if not a duplicate */
  size_t duplicate_of_size;
  size_t related; /* number of related originals, if the index knows relations */
} doppel_judgement;

/* Bytes of the document's text. */
typedef struct doppel_passage {
  uint64_t begin, end;
} doppel_passage;

typedef struct doppel_related {
  const char* id; /* null-terminated */
  size_t id_size;
  int relation;
  double of_document, of_original; /* the shared part of each; if similar, their similarity */
  const doppel_passage* passages;  /* that the original has, too */
  size_t passage_count;
} doppel_related;

typedef struct doppel_original {
  uint64_t number; /* in the order of insertion; never reused */
  const char* id;  /* valid during the call, and not null-terminated */
  size_t id_size;
} doppel_original;

/* Returns the version of the library, such as "0.1.0". */
DOPPEL_EXPORT const char* doppel_version(void);

/* Options have the names and meaning of Index::Options (doppel/index.h). NULL: no memory. */
DOPPEL_EXPORT doppel_options* doppel_options_new(void);
/* doppel_set(options, "threshold", "0.8", &error). Returns 0, or -1 on error: the message names the option,
 * the value, and what would be right. */
DOPPEL_EXPORT int doppel_set(doppel_options* options, const char* name, const char* value, char** error);
DOPPEL_EXPORT void doppel_options_free(doppel_options* options);

/* If `directory` is NULL or "", the index is in memory. `options` may be NULL: all are unset. The index keeps
 * no pointer to them. */
DOPPEL_EXPORT doppel_index* doppel_open(const char* directory, const doppel_options* options, char** error);
DOPPEL_EXPORT void doppel_close(doppel_index* index);

/* Returns a judgement for each document, in their order. */
DOPPEL_EXPORT doppel_judgements* doppel_insert(doppel_index* index, const doppel_document* documents,
                                               size_t count, char** error);
DOPPEL_EXPORT doppel_judgements* doppel_query(const doppel_index* index, const doppel_document* documents,
                                              size_t count, char** error);
/* All that these return is valid until doppel_judgements_free(). NULL: there is no such number. */
DOPPEL_EXPORT const doppel_judgement* doppel_judgement_of(const doppel_judgements* all, size_t document);
DOPPEL_EXPORT const doppel_related* doppel_related_of(const doppel_judgements* all, size_t document,
                                                      size_t number);
DOPPEL_EXPORT void doppel_judgements_free(doppel_judgements* all);

/* Returns 1 if a document was forgotten, 0 if none has this id, -1 on error. */
DOPPEL_EXPORT int doppel_remove(doppel_index* index, const char* id, size_t id_size, char** error);
/* Returns 0, or -1 on error. */
DOPPEL_EXPORT int doppel_save(doppel_index* index, char** error);
/* Calls `visit` for each remembered document, in order of insertion, until it returns 0. `visit` must not
 * change the index. Returns 0, or -1 on error. */
DOPPEL_EXPORT int doppel_for_each(const doppel_index* index,
                                  int (*visit)(void* context, const doppel_original* original), void* context,
                                  char** error);
DOPPEL_EXPORT size_t doppel_size(const doppel_index* index); /* documents remembered */
DOPPEL_EXPORT uint64_t doppel_memory_bytes(const doppel_index* index);
/* Releases a message. `memory` may be NULL. */
DOPPEL_EXPORT void doppel_free(void* memory);

#ifdef __cplusplus
}
#endif
#endif
