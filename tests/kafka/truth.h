#pragma once
// Checks what the daemon left in Kafka. The uncompacted index log tells the order in which the documents were
// taken, and the tests' sequential engine gives the expected results. Everything that is committed is
// compared with them: nothing may be lost, doubled or wrong.

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

// The ends of the produced messages.
Offsets ends_of(const std::vector<Message>& messages, size_t count);

// The name of a topic in event ids: "documents", and "documents@2" for the second topic of this name.
std::string topic_of(const LogProgress& progress);

// Follows an index log as it grows.
class LogFollower {
 public:
  // Waits until the topic exists.
  LogFollower(const std::string& bootstrap, const std::string& index_log, const Properties& properties = {});
  // Waits until everything before `ends` is committed and all expired originals are announced. Returns false
  // after `patience`, or if `stop` (called each second) says that waiting is useless.
  bool await(const Offsets& ends, std::chrono::seconds patience, const std::function<bool()>& stop = {});
  const Offsets& progress() const { return progress_; }

 private:
  Reader reader_;
  Offsets progress_;
  LogExpire expire_;
};

struct Verification {
  std::vector<std::string> findings;  // empty: everything is right
  // Event ids, as the log says; whether someone asked for it is not checked here.
  std::set<std::string> forgotten;
  size_t documents = 0, originals = 0, related = 0, duplicates = 0, removed = 0, expired = 0, rejected = 0,
         better = 0, batches = 0;
  std::string text() const;  // for a person
};

// Reads everything that is committed in a topic.
using ReadTopic = std::function<std::vector<Message>(const std::string& topic)>;

// The topics named by `options` must hold all records that were ever written to them. `inputs`: their names,
// without expressions.
Verification verify_run(const std::string& bootstrap, const Options& options, const HashKey& key,
                        const std::vector<std::string>& inputs, const Properties& properties = {});
// `moved`: those of them that are the topic before, which lost records or is on another cluster now.
Verification verify_topics(const ReadTopic& read, const Options& options, const HashKey& key,
                           const std::vector<std::string>& inputs, const std::set<std::string>& moved = {});

}  // namespace doppel::testing
