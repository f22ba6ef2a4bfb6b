#pragma once
// Whether what the daemon left in Kafka is right: the uncompacted index log tells in which order the
// documents were taken, the sequential engine of the tests says what must have come of them, and everything
// that is committed is compared: none lost, none doubled, none wrong.

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "config/options.h"
#include "kafka/client.h"
#include "state/index_log.h"
#include "text/hash_key.h"

namespace doppel::testing {

// Topic and partition -> offset.
using Offsets = std::map<std::pair<std::string, int32_t>, int64_t>;

// Where the produced messages end.
Offsets ends_of(const std::vector<Message>& messages, size_t count);

// Reads an index log as it grows.
// What event ids call a topic: "documents", and "documents@2" for the second one of this name.
std::string topic_of(const LogProgress& progress);

class LogFollower {
 public:
  // Waits until there is such a topic.
  LogFollower(const std::string& bootstrap, const std::string& index_log, const Properties& properties = {});
  // Waits until everything before `ends` is committed and the end of all that has expired is told. False: it
  // takes longer than `patience`, or `stop` (asked each second) says that there is nothing to wait for.
  bool await(const Offsets& ends, std::chrono::seconds patience, const std::function<bool()>& stop = {});
  const Offsets& progress() const { return progress_; }

 private:
  Reader reader_;
  Offsets progress_;
  LogExpire expire_;
};

struct Verification {
  std::vector<std::string> findings;  // empty: all is right
  std::set<std::string> forgotten;    // event ids: as it says; whether someone asked for it is not known here
  size_t documents = 0, originals = 0, related = 0, duplicates = 0, removed = 0, expired = 0, rejected = 0,
         better = 0, batches = 0;
  std::string text() const;  // for a person
};

// All that is committed in a topic.
using ReadTopic = std::function<std::vector<Message>(const std::string& topic)>;

// The topics named by `options` must hold all that was ever written to them. `inputs`: their names, without
// expressions.
Verification verify_run(const std::string& bootstrap, const Options& options, const HashKey& key,
                        const std::vector<std::string>& inputs, const Properties& properties = {});
Verification verify_topics(const ReadTopic& read, const Options& options, const HashKey& key,
                           const std::vector<std::string>& inputs);

}  // namespace doppel::testing
