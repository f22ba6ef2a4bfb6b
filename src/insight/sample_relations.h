#pragma once
// Which documents of a sample are parts of others, or share a passage: an index in memory judges them.

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
  uint64_t documents = 0, near = 0;  // near: also those of equal texts
  std::array<uint64_t, 3> unique{};  // unique documents by their strongest relation
  std::vector<Example> examples;     // of each relation those that share most, then the earliest
};

class SampleRelations {
 public:
  // The relations of the settings; all of them, with their defaults, where the settings name `near` only.
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
