#pragma once
// doppel decontaminate for a program: searches files of documents for the items in other files. Independent
// of Python.

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
  std::vector<std::string> items, too_short, common;  // ids
  std::vector<std::string> messages;  // about records and files that could not be read; only the first ones
};

// Calls `go_on` now and then; false ends the work.
absl::StatusOr<DecontaminatedFiles> decontaminate_files(const DecontaminateFiles& job,
                                                        const std::function<bool(uint64_t documents)>& go_on);

}  // namespace doppel::python
