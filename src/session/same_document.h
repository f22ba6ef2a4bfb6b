#pragma once
// Recognises documents that come a second time: they are not copies of themselves. After a kill, a program
// or a pipe repeats documents that the index already has. A file is read a second time if it was replaced,
// or if another program had read it.

#include <string_view>

#include "absl/container/flat_hash_set.h"
#include "index/index.h"

namespace doppel {

struct Outcome;

// The source of documents from a program, which have no place.
inline constexpr std::string_view kProgramSource = "python";
// The source of documents that came by HTTP, which have none either: their offset is their number in the
// index.
inline constexpr std::string_view kHttpSource = "http";

// Whether two encoded metadata, of documents with equal texts, belong to the same document: they have the
// same place in a file, or the same id or key. Different dates make them different: a page that was fetched
// twice has two captures.
bool is_same_document(std::string_view original, std::string_view document);

// The state of one run. Documents that come twice within a run are copies.
class SameDocuments {
 public:
  // The originals of this run have numbers from `first` on. Those below `own` belong to indexes that are
  // only read, and never count as the same document.
  explicit SameDocuments(Seq first, Seq own = 0) : own_(own), first_(first) {}

  // If the document is its own original, changes the verdict to unique (`again`), with the original's
  // number.
  void correct(Outcome& outcome, std::string_view document);

 private:
  Seq own_, first_;
  absl::flat_hash_set<Seq> met_;  // originals whose documents came in this run
};

}  // namespace doppel
