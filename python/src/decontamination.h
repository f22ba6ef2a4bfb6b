#pragma once
// doppel decontaminate for a program: files of items, files of documents. Knows nothing of Python.

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "evals/decontaminate.h"

namespace doppel::python {

struct DecontaminateFiles {
  std::vector<std::string> evals, paths;
  ItemFields fields;
  ItemRule rule;
  std::string keep;                                       // as doppel decontaminate --keep; empty: nothing
  std::vector<std::pair<std::string, std::string>> sets;  // settings of doppel.yaml
};

struct DecontaminatedFiles {
  DecontaminateCounters counters;
  std::string lines;
  std::vector<std::string> items, too_short;  // ids
  std::vector<std::string> messages;          // what could not be read, the first ones
};

// Asked now and then, `go_on` ends the work by false.
absl::StatusOr<DecontaminatedFiles> decontaminate_files(const DecontaminateFiles& job,
                                                        const std::function<bool(uint64_t documents)>& go_on);

}  // namespace doppel::python
