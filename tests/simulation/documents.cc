#include "simulation/documents.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "config/config.h"
#include "simulation/scheduler.h"

namespace doppel::simulation {
namespace {

// Some have no score.
std::string record(size_t n, const std::string& text) {
  const std::string score = n % 5 == 0 ? "null" : std::to_string(n * 37 % 23);
  return fmt::format(R"({{"id":"d{}","score":{},"text":"{}"}})", n, score, text);
}

// Returns a new text, a copy, a part of an earlier text, one within other words, or two of them; some have
// the same bar of words before or after.
std::string related_text(Random& random, const std::vector<std::string>& texts) {
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  std::vector<std::string> words;
  const auto fresh = [&](size_t count) {
    for (; count > 0; --count) words.push_back(fmt::format("w{}", below(1000)));
  };
  const auto old = [&](bool part) {
    const std::vector<std::string> all = absl::StrSplit(texts[below(texts.size())], ' ');
    const size_t begin = part ? below(all.size() / 2 + 1) : 0;
    const size_t count = part ? below(all.size() - begin + 1) : all.size();
    const auto from = all.begin() + static_cast<std::ptrdiff_t>(begin);
    words.insert(words.end(), from, from + static_cast<std::ptrdiff_t>(count));
  };
  const size_t kind = texts.empty() ? 0 : below(8);
  if (kind == 2 || kind == 3) fresh(1 + below(30));
  if (kind != 0) old(kind != 1 && kind != 3);
  if (kind == 4) old(false);
  if (kind == 0 || kind == 2 || kind == 5) fresh(kind == 0 ? 14 + below(60) : 1 + below(30));
  const std::string text =
      absl::StrJoin(words.begin(), words.begin() + std::min<std::ptrdiff_t>(std::ssize(words), 200), " ");
  constexpr std::string_view kBar =
      "home news sport weather travel about us contact privacy terms imprint help";
  return below(4) != 0   ? text
         : below(2) == 0 ? fmt::format("{} {}", kBar, text)
                         : fmt::format("{} {}", text, kBar);
}

// Mostly, ten originals are in memory, or two, of which a batch makes more than one segment.
const char* memory_of(uint64_t seed) { return seed % 17 >= 12 ? "0" : seed % 17 < 6 ? "5000" : "1200"; }

const char* best_of(uint64_t seed) {
  return seed % 9 < 3 ? "" : seed % 9 < 6 ? "longest" : seed % 9 == 6 ? "score:min" : "score:max";
}

const char* fsync_of(uint64_t seed) {
  return seed % 4 == 0 ? "none" : seed % 4 == 1 ? "commit" : "checkpoint";
}

}  // namespace

bool relates(uint64_t seed) { return seed % 13 < 5; }

std::vector<testing::Message> make_documents(uint64_t seed, int partitions) {
  std::vector<testing::Message> out;
  Random random(seed * 7919 + 17);
  const size_t count = 30 + random() % 60;
  std::vector<std::string> texts;
  for (size_t n = 0; n < count; ++n) {
    testing::Message m;
    m.key = fmt::format("k{}", random() % (n + 5));
    const uint64_t kind = random() % 20;
    if (kind == 0) {
      m.value.reset();
    } else if (kind == 1) {
      m.value = "{ this is not JSON";
    } else if (relates(seed)) {
      texts.push_back(related_text(random, texts));
      m.value = record(n, texts.back());
    } else if (kind < 10 && !texts.empty()) {
      std::string text = texts[random() % texts.size()];
      if (random() % 2 == 0) text += " and";
      m.value = record(n, text);
    } else {
      std::string text;
      for (int w = 0; w < 14; ++w) text += fmt::format("{}w{}", w == 0 ? "" : " ", random() % 1000);
      texts.push_back(text);
      m.value = record(n, text);
    }
    if (random() % 40 == 0) m.key = std::string(120'000, 'x');   // more than an output accepts
    if (random() % 15 == 0) m.key = fmt::format("k{:0800}", n);  // more than it may accept later
    if (kind <= 1 && n % 4 == 0) {                               // no byte at all
      m.key.reset();
      if (m.value) m.value = "";
    }
    m.partition = static_cast<int32_t>(random() % static_cast<uint64_t>(partitions));
    m.timestamp_ms = 1'600'000'000'000 + static_cast<int64_t>(n) * 60'000;
    out.push_back(std::move(m));
  }
  return out;
}

Options options_of_seed(uint64_t seed) {
  const auto config =
      load_config({.file = "",
                   .sets = {{"kafka.brokers", "simulated"},
                            {"kafka.topics", seed % 3 == 0 ? "^(in|ev|dead|ind).*" : "in"},
                            {"kafka.index_log", "index"},
                            {"kafka.create_topics", "true"},
                            {"kafka.partitions", "2"},
                            {"kafka.batch_documents", "5"},
                            {"kafka.commit_deadline", "2s"},
                            {"kafka.properties.transaction.timeout.ms", "10000"},
                            {"kafka.properties.topic.metadata.refresh.interval.ms", "2000"},
                            {"kafka.takeover", seed % 11 < 4 ? "standby" : "now"},
                            {"output.topic", "events"},
                            {"output.dead_letters", "dead"},
                            {"output.unique_topic", seed % 2 == 0 ? "unique" : ""},
                            {"output.best", best_of(seed)},
                            {"tombstones", "key"},
                            {"on_update", seed % 5 == 0 ? "replace" : "keep"},
                            {"max_documents", seed % 7 == 0 ? "20" : "0"},
                            {"memory", memory_of(seed)},
                            {"relations", relates(seed) ? "near,contained,contains,shares" : "near"},
                            {"partial", seed % 3 == 1 ? "duplicate" : "report"},
                            {"passage_words", "12"},
                            {"common_after", "4"},
                            {"max_related", "3"},
                            {"state.fsync", fsync_of(seed)},
                            {"state.checkpoint_documents", "15"},
                            {"http.listen", ""},
                            {"threads", "1"}},
                   .environment = {}});
  if (!config.ok()) {
    fmt::print(stderr, "simulation: {}\n", std::string(config.status().message()));
    std::abort();
  }
  return config->options;
}

}  // namespace doppel::simulation
