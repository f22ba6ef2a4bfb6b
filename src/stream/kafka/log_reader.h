#pragma once
// Reads an index log, or any other partition: committed records only, to an end that is asked for first.
// Positions are compared, never the offsets of records: commit markers and compaction leave gaps.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "stream/kafka/client.h"

namespace doppel::kafka {

struct LogMessage {  // views are valid during the call
  std::string_view key, value;
  bool has_value = true;
  int64_t offset = 0;
  int64_t timestamp_ms = 0;
};

class LogReader {
 public:
  static absl::StatusOr<LogReader> open(const ClientOptions& options, const std::string& topic,
                                        int32_t partition = 0);
  // One that reads what is not committed, too.
  static absl::StatusOr<LogReader> open_uncommitted(const ClientOptions& options, const std::string& topic,
                                                    int32_t partition = 0);

  // Another one for the same log, to be read beside this one.
  absl::StatusOr<LogReader> again() const { return open(options_, topic_, partition_); }

  // The first offset there is and the end of what can be read. Of what is committed, ask after
  // Transactor::open(): only then is every transaction of a predecessor settled.
  absl::StatusOr<Watermarks> bounds();

  // Every record in [from, to), in order. `visit` may end it with an error. Called again as often as wished.
  absl::Status read(int64_t from, int64_t to, const std::function<absl::Status(const LogMessage&)>& visit);

 private:
  LogReader(Client client, ClientOptions options, std::string topic, int32_t partition)
      : client_(std::move(client)),
        options_(std::move(options)),
        topic_(std::move(topic)),
        partition_(partition) {}
  static absl::StatusOr<LogReader> make(const ClientOptions& options, const std::string& topic,
                                        int32_t partition, const std::string& isolation);
  absl::Status seek(int64_t from);

  Client client_;
  ClientOptions options_;
  std::string topic_;
  int32_t partition_;
};

}  // namespace doppel::kafka
