#include "kafka/workload.h"

#include <algorithm>
#include <map>
#include <random>

#include "oracle/corpus.h"

namespace doppel::testing {
namespace {

using Random = std::mt19937_64;

bool chance(Random& random, double share) { return static_cast<double>(random() >> 11) * 0x1p-53 < share; }

std::string poison(Random& random) {
  switch (random() % 4) {
    case 0:
      return "{ this is not JSON";
    case 1:
      return R"({"id": "without a text"})";
    case 2:
      return "";
    default:
      return std::string("\xff\xfe\0\x01", 4);
  }
}

}  // namespace

std::vector<Message> make_workload(const WorkloadOptions& options) {
  const oracle::CorpusOptions corpus{
      .seed = options.seed, .copies = options.copies, .mean_words = options.mean_words};
  Random random(options.seed);
  std::vector<Message> out;
  std::vector<std::pair<std::string, size_t>> keys;  // and the topic of each
  for (size_t n = 0; n < options.documents; ++n) {
    Message m;
    size_t topic = random() % options.topics.size();
    m.key = "k" + std::to_string(n);
    // Mostly a recent key: its document is probably an original that still lives.
    const auto old_key = [&] {
      const size_t back = random() % std::min<size_t>(keys.size(), chance(random, 0.8) ? 50 : keys.size());
      std::tie(m.key, topic) = keys[keys.size() - 1 - back];
    };
    const bool old = !keys.empty();
    if (old && chance(random, options.null_values)) {
      old_key();
    } else {
      if (old && chance(random, options.same_keys)) old_key();
      if (chance(random, 0.02)) m.key.reset();
      m.value =
          chance(random, options.poison) ? poison(random) : oracle::to_json(oracle::make_document(corpus, n));
      if (m.key) keys.emplace_back(*m.key, topic);
    }
    if (chance(random, 0.1)) m.headers = {{"crawl", "c" + std::to_string(n % 7)}, {"none", std::nullopt}};
    m.topic = options.topics[topic];
    m.partition = static_cast<int32_t>((m.key ? std::hash<std::string>()(*m.key) : random()) %
                                       static_cast<size_t>(options.partitions));
    m.timestamp_ms = options.first_ms + static_cast<int64_t>(n) * options.step_ms -
                     static_cast<int64_t>(random() % 5) * options.step_ms;
    out.push_back(std::move(m));
  }
  return out;
}

void produce(Client& client, std::vector<Message>& messages, size_t begin, size_t end) {
  std::map<std::string, std::vector<size_t>> by_topic;
  for (size_t i = begin; i < end; ++i) by_topic[messages[i].topic].push_back(i);
  for (const auto& [topic, places] : by_topic) {
    std::vector<Message> some;
    for (const size_t i : places) some.push_back(messages[i]);
    client.produce(topic, some);
    for (size_t i = 0; i < places.size(); ++i) messages[places[i]].offset = some[i].offset;
  }
}

}  // namespace doppel::testing
