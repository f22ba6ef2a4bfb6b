#pragma once
// A document that is given again is no copy of itself. After a kill, a program or a pipe gives again what the
// index has already; a file is read again where it was replaced, or where another program had read it.

#include <string_view>

#include "absl/container/flat_hash_set.h"
#include "index/index.h"

namespace doppel {

struct Outcome;

// The source of documents that a program gives: they have no place.
inline constexpr std::string_view kProgramSource = "python";

// Whether both encoded metadata are of one document, given that the texts are equal: they have the same place
// in a file, or the same name of their own (an id, a key). Not where both say a date, and not the same one: a
// page that is fetched again later is another capture.
bool is_same_document(std::string_view original, std::string_view document);

// Of one run over documents. Within a run each document is one of its own: what comes twice in it is a copy.
class KnownAgain {
 public:
  // The run makes originals from `first` on; those below `own` are of indexes that are only read, and always
  // others.
  explicit KnownAgain(Seq first, Seq own = 0) : own_(own), first_(first) {}

  // Makes the verdict of a document that is its own original: unique again, with that one's number.
  void correct(Outcome& outcome, std::string_view document);

 private:
  Seq own_, first_;
  absl::flat_hash_set<Seq> met_;  // below it, those whose documents have come in this run
};

}  // namespace doppel
