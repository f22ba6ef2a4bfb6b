#pragma once
// doppel sign: SIGN alone. Records of a Source become signed records, in order, for a SignedOutput.

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/signed_file.h"
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
  // Returns when the batch will not be lost by a later one.
  virtual absl::Status write(const SignedBatchOut& out) = 0;
  // A signed record is no larger: that of a rejected document loses the document.
  virtual size_t bytes_max() const { return std::numeric_limits<uint32_t>::max(); }
  virtual absl::Status idle() { return absl::OkStatus(); }
  virtual absl::Status finish() { return absl::OkStatus(); }
};

// Frames behind a header (engine/signed_file.h). "-" is stdout; what ends in .gz or .zst is packed. Nothing
// is there under the name before finish().
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
  // Where the ranges of partitions begin that were signed in part; of all others at 0.
  std::map<std::pair<std::string, int32_t>, uint64_t> begins;
  std::function<bool()> stop = [] { return false; };
  std::function<void(const std::string&)> report = [](const std::string&) {};  // of records and inputs
  std::function<void(const SignCounters&)> progress = [](const SignCounters&) {};
};

// Returns when the source ends or stop() says so, without output.finish().
absl::StatusOr<SignCounters> sign_stream(SignStream& stream);

}  // namespace doppel
