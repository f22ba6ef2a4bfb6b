/* Judges three pages, keeps them in an index, opens the index again, and asks about a page. usage: pages
 * DIRECTORY */
#include <doppel/doppel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BEGIN \
  "the quick brown fox jumps over the lazy dog near the river bank while seven old men watch from a bench "
#define END "and nobody in the whole village can remember a summer as hot and as long as this one was"

static void check(int good, char* error) {
  if (good) return;
  fprintf(stderr, "%s\n", error == NULL ? "out of memory" : error);
  doppel_free(error);
  exit(1);
}

static doppel_document page(const char* id, const char* text) {
  doppel_document out = {
      .struct_size = sizeof out, .id = id, .id_size = strlen(id), .text = text, .text_size = strlen(text)};
  return out;
}

static void show(const doppel_document* pages, size_t count, const doppel_judgements* said) {
  for (size_t i = 0; i < count; ++i) {
    const doppel_judgement* judgement = doppel_judgement_of(said, i);
    printf("%s", pages[i].id);
    if (judgement->verdict == DOPPEL_DUPLICATE) {
      printf(" repeats %s\n", judgement->duplicate_of);
      continue;
    }
    printf(" is unique");
    for (size_t j = 0; j < judgement->related; ++j) {
      const doppel_related* related = doppel_related_of(said, i, j);
      if (related->relation == DOPPEL_IS_CONTAINED) printf(", and a part of %s", related->id);
    }
    printf("\n");
  }
}

int main(int argc, char** argv) {
  char* error = NULL;
  if (argc != 2) return 2;
  doppel_options* options = doppel_options_new();
  check(options != NULL, NULL);
  check(doppel_set(options, "threshold", "0.7", &error) == 0, error);
  check(doppel_set(options, "relations", "contained", &error) == 0, error);
  check(doppel_set(options, "passage_words", "12", &error) == 0, error);
  doppel_index* index = doppel_open(argv[1], options, &error);
  doppel_options_free(options);
  check(index != NULL, error);
  const doppel_document pages[] = {page("whole", BEGIN END), page("copy", BEGIN END " indeed"),
                                   page("half", BEGIN)};
  doppel_judgements* said = doppel_insert(index, pages, 3, &error);
  check(said != NULL, error);
  show(pages, 3, said);
  doppel_judgements_free(said);
  doppel_close(index);

  /* Options that are not given are those of the index. */
  index = doppel_open(argv[1], NULL, &error);
  check(index != NULL, error);
  const doppel_document question = page("question", BEGIN);
  said = doppel_query(index, &question, 1, &error);
  check(said != NULL, error);
  show(&question, 1, said);
  doppel_judgements_free(said);
  printf("%zu originals\n", doppel_size(index));
  doppel_close(index);
  return 0;
}
