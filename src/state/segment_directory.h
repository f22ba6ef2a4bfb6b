#pragma once
// Segments of old originals as files FIRST-END in a directory of their own.

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/segment_store.h"

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

}  // namespace doppel
