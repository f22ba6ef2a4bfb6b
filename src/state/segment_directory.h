#pragma once
// Segments of old originals as files FIRST-END in a directory of their own.

#include <future>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/engine.h"
#include "engine/old_originals.h"
#include "state/state_dir.h"

namespace doppel {

class SegmentDirectory final : public SegmentStore {
 public:
  // Of an index whose stored originals end at `end`. Removes segments with an original from there on, and
  // unfinished ones.
  static absl::StatusOr<std::unique_ptr<SegmentDirectory>> open(const std::string& path, Seq end);
  // A directory in `place` (empty: $TMPDIR or /tmp) that ends with the object.
  static absl::StatusOr<std::unique_ptr<SegmentDirectory>> temporary(const std::string& place);
  // Removes what a state directory has of such directories, whose names begin with kFolder, except these.
  static constexpr std::string_view kFolder = "segments-";
  // How many bytes such directories have.
  static uint64_t bytes_of(const std::string& state_directory);
  static void remove_others(const std::string& state_directory, const std::vector<std::string>& except);
  ~SegmentDirectory() override;

  std::vector<SegmentName> list() const override;
  absl::StatusOr<std::unique_ptr<SegmentBeingWritten>> create(const SegmentName& name) override;
  absl::StatusOr<std::unique_ptr<SegmentSource>> open(const SegmentName& name) override;
  void remove(const SegmentName& name) override;
  const PageReader& reader() const override { return *reader_; }

 private:
  SegmentDirectory(std::string path, bool temporary);
  std::string path_of(const SegmentName& name) const;

  const std::string path_;
  const bool temporary_;
  std::unique_ptr<PageReader> reader_;
};

// Where an index keeps its old originals, by the setting `memory`. The same for files and Kafka.
struct SegmentSettings {
  uint64_t memory = 0;              // bytes of the index from which old originals move to disk; 0: never
  std::string directory;            // of the index
  std::string temporary_directory;  // for an index without a directory
  bool after_others = false;  // whether originals of other indexes have the lowest numbers (state/against.h)
};

using SegmentStores = std::vector<std::unique_ptr<SegmentStore>>;

// Gives the shares of an engine their segments, in this state directory (nullptr: temporary ones). They must
// outlive the engine. Call it when everything else in `engine` is set. Without `memory` none; it then removes
// the segments that an earlier run left, because nobody would remove those that become wrong.
absl::StatusOr<SegmentStores> open_segments(const SegmentSettings& settings, const StateDir* state,
                                            EngineOptions& engine, std::launch merge_on = std::launch::async);

}  // namespace doppel
