#pragma once
// Reads a state directory without changing or locking it, so it may be in use. Shows the newest commit at
// the time of open().

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/bodies.h"
#include "engine/resolved.h"
#include "state/journal.h"

namespace doppel {

struct Snapshot {  // one of the journals
  std::string file;
  CommitRecord checkpoint;  // without `removed`
  uint64_t last_commit = 0;
  uint64_t bytes = 0;
};

struct Damage {
  std::string file;
  uint64_t offset = 0;
  std::string what;
};

// An original with all that is stored about it; the views are valid until the next one.
struct StoredDocument {
  const StoredRow& row;  // `removed` is set
  bool live = false;     // neither removed nor below the lowest live number
  Body body;
  std::string_view shown = {};  // the better copy that its cluster shows; empty: none
};

class StateView {
 public:
  // DataLoss: no journal can be read.
  static absl::StatusOr<std::unique_ptr<StateView>> open(const std::string& directory);
  ~StateView();

  const Epoch& epoch() const;
  const Identity& identity() const;
  const CommitRecord& last() const;  // `removed` has all numbers that are not below keep_from
  const std::vector<Snapshot>& snapshots() const;
  uint64_t hot_bytes() const;
  uint64_t bodies_bytes() const;
  // Bytes that hot and bodies take on disk, without freed space.
  uint64_t disk_bytes() const;

  // Reads each kept row and its body, ascending, and verifies all checksums. `visit` may be empty; it stops
  // the loop by returning false. `progress` receives the share that is done.
  void read(const std::function<bool(const StoredDocument&)>& visit,
            const std::function<void(double)>& progress);
  // Calls `visit` for the live rows, ascending; their views are valid during the call. Does not read
  // bodies. DataLoss: a row is damaged. Use it only while no process writes to the directory.
  absl::Status live_rows(const std::function<absl::Status(StoredRow&)>& visit) const;
  // The bodies of the rows; valid as long as the view.
  const Bodies& bodies() const;
  // The damage that open() and read() have found; more_damage() counts what is not listed.
  const std::vector<Damage>& damage() const;
  uint64_t more_damage() const;

 private:
  struct Impl;
  explicit StateView(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// A checksum of the live content of an index, regardless of where it is stored and of dead originals. Two
// directories with the same sum hold the same index.
class IndexChecksum {
 public:
  void add(const StoredDocument& document, int num_perm, int mask_words);
  std::string hex() const;

 private:
  uint64_t sum_ = 0;
};

// The settings that the index in a directory was made with. Empty if the directory holds no index, or one
// that cannot be read; StateDir::open() says why.
Identity stored_identity(const std::string& directory);

}  // namespace doppel
