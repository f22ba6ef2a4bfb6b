/* The same in C, with an index in a directory that is given: opened, closed, opened again, asked. */
#include <doppel/doppel.h>
#include <stdio.h>
#include <string.h>

static doppel_document document(const char* id, const char* text) {
  doppel_document out = {.id = id, .id_size = strlen(id), .text = text, .text_size = strlen(text)};
  return out;
}

static int failed(const char* what, char* error) {
  fprintf(stderr, "%s: %s\n", what, error == NULL ? "not as expected" : error);
  doppel_free(error);
  return 1;
}

int main(int argc, char** argv) {
  char* error = NULL;
  if (argc != 2 || strcmp(doppel_version(), DOPPEL_VERSION_STRING) != 0) return failed("version", NULL);
  doppel_options options = {.threshold = 0.5};
  doppel_index* index = doppel_open(argv[1], &options, &error);
  if (index == NULL) return failed("open", error);
  doppel_document first =
      document("first", "the quick brown fox jumps over the lazy dog near the river bank");
  doppel_judgement* said = doppel_insert(index, &first, 1, &error);
  if (said == NULL || said->verdict != DOPPEL_UNIQUE) return failed("insert", error);
  doppel_free(said);
  doppel_close(index);

  options.threshold = 0.9; /* not what the index was made with */
  if (doppel_open(argv[1], &options, &error) != NULL || strstr(error, "threshold") == NULL)
    return failed("open with another threshold", error);
  doppel_free(error);
  error = NULL;
  index = doppel_open(argv[1], NULL, &error);
  if (index == NULL) return failed("open again", error);
  doppel_document both[2] = {
      document("second", "The quick brown fox jumps over the lazy dog near the river."),
      document("third", "something else that nobody has said before, at all")};
  said = doppel_query(index, both, 2, &error);
  if (said == NULL || said[0].verdict != DOPPEL_DUPLICATE || said[0].kind != DOPPEL_NEAR ||
      said[1].verdict != DOPPEL_UNIQUE || said[1].duplicate_of != NULL)
    return failed("query", error);
  printf("%s %g\n", said[0].duplicate_of, said[0].similarity);
  doppel_free(said);
  if (doppel_size(index) != 1 || doppel_save(index, &error) != 0) return failed("save", error);
  if (doppel_remove(index, "second", 6, &error) != 0 || doppel_remove(index, "first", 5, &error) != 1)
    return failed("remove", error);
  if (doppel_size(index) != 0) return failed("size", NULL);
  doppel_close(index);
  return 0;
}
