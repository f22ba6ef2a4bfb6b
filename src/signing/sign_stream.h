#pragma once
// doppel sign: the stage SIGN alone. Turns the records of a Source into signed records, in order, for a
// SignedOutput.

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "config/options.h"
#include "engine/engine.h"
#include "engine/signed_record.h"
#include "pipeline/sign_record.h"
#include "pipeline/stream.h"

namespace doppel {

struct SignedBatchOut {
  const Batch& batch;
  const std::vector<std::string>& signed_records;  // one for each record of the batch
};

class SignedOutput {
 public:
  virtual ~SignedOutput() = default;
  // Returns when a failure of a later batch can no longer lose this one.
  virtual absl::Status write(const SignedBatchOut& out) = 0;
  // The limit of a signed record. The record of a rejected document omits the document if it would exceed the
  // limit.
  virtual size_t bytes_max() const { return std::numeric_limits<uint32_t>::max(); }
  virtual absl::Status idle() { return absl::OkStatus(); }
  virtual absl::Status finish() { return absl::OkStatus(); }
};

// Writes frames after a header (engine/signed_record.h). "-" is stdout; a path that ends in .gz or .zst is
// compressed. The file appears under its name only with finish().
absl::StatusOr<std::unique_ptr<SignedOutput>> signed_file_output(const std::string& path,
                                                                 const SignedFileHeader& header);

struct SignCounters {
  uint64_t records = 0, bytes = 0, signed_bytes = 0, rejected = 0, problems = 0;
};

struct SignStream {
  Source& source;
  SignedOutput& output;
  Scheme scheme;
  bool with_sets = true;
  FormatOptions format;
  int threads = 1;
  // Where the next ranges of partially signed partitions start; others start at 0.
  std::map<std::pair<std::string, int32_t>, uint64_t> begins;
  std::function<bool()> stop = [] { return false; };
  // Receives messages about records and inputs.
  std::function<void(const std::string&)> report = [](const std::string&) {};
  std::function<void(const SignCounters&)> progress = [](const SignCounters&) {};
};

// Returns when the source ends or stop() returns true. Does not call output.finish().
absl::StatusOr<SignCounters> sign_stream(SignStream& stream);

// doppel sign --from: writes the originals of an index as signed records, in order.
struct SignIndex {
  const Options& options;  // with the settings of the index
  const EngineOptions& engine;
  std::string directory;  // its state directory; another process may have it open
  std::string output;
  std::function<bool()> stop = [] { return false; };
};

// The counters give the number of originals. A damaged index is an error, because only a part of it could be
// written.
absl::StatusOr<SignCounters> sign_index(const SignIndex& job);

}  // namespace doppel
