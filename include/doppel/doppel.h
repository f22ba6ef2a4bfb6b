#ifndef DOPPEL_DOPPEL_H
#define DOPPEL_DOPPEL_H
/* The index (doppel/index.h) for C and for bindings of other languages.
 *
 *   char* error = NULL;
 *   doppel_index* index = doppel_open("pages.index", NULL, &error);
 *   doppel_document page = {.id = "a", .id_size = 1, .text = text, .text_size = strlen(text)};
 *   doppel_judgement* said = doppel_insert(index, &page, 1, &error);
 *   if (said != NULL && said->verdict == DOPPEL_DUPLICATE) puts(said->duplicate_of);
 *   doppel_free(said);
 *   doppel_close(index);
 *
 * A function that fails returns NULL or a negative number. If `error` is not NULL, the function sets it to a
 * message, which the caller releases with doppel_free(). All functions are as thread-safe as doppel/index.h.
 */

#include <stddef.h>
#include <stdint.h>

#include "doppel/version.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DOPPEL_EXPORT __attribute__((visibility("default")))

typedef struct doppel_index doppel_index;

/* The members mean the same as those of Index::Options. 0 (NULL) means unset: the value stored in the index,
 * or the default for a new one. */
typedef struct doppel_options {
  double threshold;
  double recall;
  int num_perm;
  int bands;
  int rows;
  int shingle_words;
  int verify_by_signature;
  int max_listed;
  int max_checks;
  int64_t expire_after_ms;
  const char* hash_key;
  int shards;
  int threads;
  int must_exist; /* 1: fail if the directory has no index */
} doppel_options;

typedef struct doppel_document {
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

typedef struct doppel_judgement {
  int verdict;
  int kind;
  double similarity;
  const char* duplicate_of; /* the original's id, null-terminated; NULL if not a duplicate */
  size_t duplicate_of_size;
} doppel_judgement;

/* Returns the version of the library, such as "0.1.0". */
DOPPEL_EXPORT const char* doppel_version(void);

/* If `directory` is NULL or "", the index is in memory. `options` may be NULL: all are unset. */
DOPPEL_EXPORT doppel_index* doppel_open(const char* directory, const doppel_options* options, char** error);
DOPPEL_EXPORT void doppel_close(doppel_index* index);

/* Returns an array of `count` judgements in the order of the documents. The caller releases the array, with
 * all that it points to, by one call of doppel_free(). */
DOPPEL_EXPORT doppel_judgement* doppel_insert(doppel_index* index, const doppel_document* documents,
                                              size_t count, char** error);
DOPPEL_EXPORT doppel_judgement* doppel_query(const doppel_index* index, const doppel_document* documents,
                                             size_t count, char** error);

/* Returns 1 if a document was forgotten, 0 if none has this id, -1 on error. */
DOPPEL_EXPORT int doppel_remove(doppel_index* index, const char* id, size_t id_size, char** error);
/* Returns 0, or -1 on error. */
DOPPEL_EXPORT int doppel_save(doppel_index* index, char** error);
DOPPEL_EXPORT size_t doppel_size(const doppel_index* index);
/* `memory` may be NULL. */
DOPPEL_EXPORT void doppel_free(void* memory);

#ifdef __cplusplus
}
#endif
#endif
