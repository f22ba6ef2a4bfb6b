#pragma once
// Finds the documents of a sample that are parts of others, or share a passage. An index in memory judges
// them.

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"

namespace doppel {

struct SampleParts {
  struct Example {
    Relation relation = Relation::shares;
    std::string document, original;  // their names
    uint64_t shared = 0;             // shingles
    uint32_t of_document_ppm = 0, of_original_ppm = 0;
  };
  RelationRule rule;
  uint64_t documents = 0, near = 0;  // near: includes equal texts
  std::array<uint64_t, 3> unique{};  // unique documents by their strongest relation
  std::vector<Example> examples;     // for each relation, the ones that share most, then the earliest
};

class SampleRelations {
 public:
  // Uses the relations of the settings; if the settings name only `near`: all relations, with their defaults.
  explicit SampleRelations(const EngineOptions& options);
  absl::Status add(std::string_view text, std::string_view scope, std::string_view name);
  absl::StatusOr<SampleParts> finish();

 private:
  absl::Status judge();
  void add_example(const Outcome& outcome, const std::string& name);

  EngineOptions options_;
  std::unique_ptr<Bodies> bodies_;
  Engine engine_;
  Signer signer_;
  Work work_;
  size_t waiting_ = 0;  // documents of work_
  SampleParts out_;
};

}  // namespace doppel
