#pragma once
// Random streams that are hard for the rule, and the slow rule's results for them.

#include <cstring>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "engine/engine.h"
#include "engine/slow_engine.h"

namespace doppel::testing {

struct Step {
  bool remove = false;
  std::vector<Seq> forget;  // the removals before the batch that begins with this step
  std::string id;
  std::string text;
  std::string payload;  // digest of the bytes that the text was made of; the texts may still differ
  std::string scope;
  int64_t timestamp_ms = kNoTime;
};

// Documents from few templates with few changed words, so that bands are hot, similarities are near the
// threshold, and removals and expiry hit originals that later documents would repeat.
inline std::vector<Step> make_steps(uint64_t seed, size_t n) {
  std::mt19937_64 random(seed);
  auto below = [&](uint64_t k) { return random() % k; };
  std::vector<std::vector<std::string>> templates;
  for (int t = 0; t < 6; ++t) {
    std::vector<std::string> words(20 + below(200));
    for (std::string& w : words) w = "w" + std::to_string(below(400));
    templates.push_back(words);
  }
  std::vector<Step> steps;
  int64_t clock = 1'700'000'000'000;
  for (size_t i = 0; i < n; ++i) {
    Step step{.forget = {}, .id = "d" + std::to_string(i)};
    if (i > 0 && below(6) == 0) step.id = "d" + std::to_string(below(i));  // a new text or the old one
    if (below(30) == 0) {
      for (auto k = below(3) + 1; k > 0; --k) step.forget.push_back(below(i + 1));
    }
    clock += static_cast<int64_t>(below(2000));
    if (below(4) != 0) step.timestamp_ms = clock - static_cast<int64_t>(below(5000));
    if (below(40) == 0) step.timestamp_ms = clock + 100'000'000;  // a wrong clock
    if (i > 0 && below(8) == 0) {
      step.remove = true;
      step.id = "d" + std::to_string(i - 1 - below(std::min<size_t>(i, 40)));
    } else if (below(12) == 0) {
      for (uint64_t w = below(5); w > 0; --w)
        step.text += "s" + std::to_string(below(3)) + " ";  // shorter than one shingle
    } else {
      std::vector<std::string> words = templates[below(templates.size())];
      uint64_t changes = below(4) * below(5);
      for (uint64_t c = 0; c < changes; ++c) words[below(words.size())] = "x" + std::to_string(below(50));
      for (const std::string& w : words) step.text += w + " ";
      if (below(10) == 0) step.scope = "other";
      if (below(3) == 0) step.payload = "sha1:" + std::to_string(below(60));
    }
    steps.push_back(step);
  }
  return steps;
}

// Like make_steps(), but the texts quote, contain and cut each other: some consist of pieces of several
// others, and some begin with the words of a site.
inline std::vector<Step> make_related_steps(uint64_t seed, size_t n) {
  std::vector<Step> steps = make_steps(seed, n);
  std::mt19937_64 random(seed + 1);
  const auto words_of = [](const std::string& text) {
    std::vector<std::string> out;
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find(' ', at), text.size());
      out.push_back(text.substr(at, end - at));
      at = end + 1;
    }
    return out;
  };
  std::vector<std::string> bars;
  for (int b = 0; b < 3; ++b) {
    std::string& bar = bars.emplace_back();
    for (uint64_t w = 10 + random() % 60; w > 0; --w) bar += "bar" + std::to_string(random() % 500) + " ";
  }
  std::vector<std::string> before;
  for (Step& step : steps) {
    if (!before.empty() && random() % 2 == 0) {
      std::string text;
      for (uint64_t pieces = 1 + random() % 3; pieces > 0; --pieces) {
        const std::vector<std::string> words = words_of(before[random() % before.size()]);
        if (random() % 3 == 0) {
          for (uint64_t w = random() % 80; w > 0; --w) text += "n" + std::to_string(random() % 5'000) + " ";
        }
        if (words.empty()) continue;
        const size_t from = random() % 2 == 0 ? 0 : random() % words.size();
        const size_t count = random() % 2 == 0 ? words.size() : random() % words.size() + 1;
        for (size_t w = from; w < std::min(words.size(), from + count); ++w)
          text += (random() % 60 == 0 ? "edit" + std::to_string(random() % 90) : words[w]) + " ";
      }
      step.text = text;
    }
    if (random() % 3 == 0) step.text = bars[random() % bars.size()] + step.text;
    if (!step.remove) before.push_back(step.text);
  }
  return steps;
}

inline void add_random_relations(std::mt19937_64& random, EngineOptions& options) {
  RelationRule& rule = options.rule.relations;
  const uint64_t which = 1 + random() % 7;
  rule.contained = (which & 1) != 0;
  rule.contains = (which & 2) != 0;
  rule.shares = (which & 4) != 0;
  rule.passage = options.scheme.passage = static_cast<uint32_t>(1 + random() % (random() % 2 == 0 ? 8 : 60));
  rule.containment_ppm = 300'000 + static_cast<uint32_t>(random() % 600'000);
  rule.common_after = 2 + static_cast<uint32_t>(random() % 20);
  rule.max_related = 1 + static_cast<uint32_t>(random() % 4);
  rule.partial_duplicate = random() % 3 == 0;
  rule.cut = random() % 2 == 0;
  options.rule.verify = Verify::exact;
}

inline SlowOutcome without_metadata(const Outcome& o) {
  SlowOutcome out{o.verdict,
                  o.kind,
                  o.verdict == Verdict::duplicate ? o.similarity : Overlap{0, 1},
                  o.verdict == Verdict::removal ? 0 : o.seq,
                  o.related,
                  o.related_more,
                  o.repeated,
                  o.estimated};
  for (Related& related : out.related) related.original.clear();
  return out;
}

struct History {
  std::vector<SlowOutcome> outcomes;
  std::vector<Removed> removed;
  Seq lowest_live = 0;
  uint64_t unread = 0, read_late = 0;
};

inline void sign(Signer& signer, const Step& step, const EngineOptions& options, uint64_t tag,
                 SignedDocument& out, uint8_t* slices) {
  out.replace = options.rule.replace;
  out.action = step.remove ? SignedDocument::Action::remove : SignedDocument::Action::judge;
  out.timestamp_ms = step.timestamp_ms;
  out.id_tag = tag;
  out.payload = step.remove ? Digest() : signer.payload(step.payload, step.scope);
  out.metadata =
      step.id + '\0' + std::string(reinterpret_cast<const char*>(&out.payload), sizeof out.payload);
  if (!step.remove) signer.sign(step.text, step.scope, out, slices);
}

inline Digest payload_of(std::string_view metadata) {
  Digest out;
  std::memcpy(static_cast<void*>(&out), metadata.data() + metadata.size() - sizeof out, sizeof out);
  return out;
}

template <class Rule = SlowEngine>
History run_slow(const EngineOptions& options, const std::vector<Step>& steps) {
  Rule slow(options);
  Signer signer(options.scheme);
  std::unique_ptr<Bodies> bodies = memory_bodies();
  Engine names(options, *bodies);
  History run;
  std::vector<uint8_t> slices(options.scheme.num_perm);
  for (const Step& step : steps) {
    SignedDocument document;
    for (const Seq seq : step.forget) slow.forget(seq);
    sign(signer, step, options, names.id_tag(step.id), document, slices.data());
    if (step.remove) {
      // A removal has a record time, too.
      SignedDocument nothing{.content = Content::empty, .timestamp_ms = step.timestamp_ms};
      slow.judge(nothing, nullptr);
      slow.remove(names.id_tag(step.id));
      run.outcomes.push_back({.verdict = Verdict::removal});
    } else {
      run.outcomes.push_back(slow.judge(document, slices.data()));
    }
  }
  run.removed = slow.removed();
  run.lowest_live = slow.lowest_live();
  return run;
}

inline void report_similar(EngineOptions& options) {
  const double threshold = options.rule.threshold_ppm / 1e6;
  const absl::Status status = report_from(options.rule, threshold * .7, .9, options.scheme.num_perm);
  DOPPEL_CHECK(status.ok(), "a rule may report similar originals", options.rule.threshold_ppm);
}

inline EngineOptions random_options(std::mt19937_64& random) {
  EngineOptions options;
  options.scheme.key = {random(), random()};
  options.track_ids = true;
  options.payload_of = payload_of;
  options.rule = make_rule(0.5 + 0.1 * static_cast<double>(random() % 5), 0.9, 128).value();
  if (random() % 3 == 0) report_similar(options);
  if (random() % 2 == 0) options.rule.banding = {.bands = 33 + static_cast<int>(random() % 10), .rows = 3};
  if (random() % 2 == 0) options.rule.max_listed = 2;
  if (random() % 2 == 0) options.rule.max_checks = 1 + static_cast<int>(random() % 3);
  if (random() % 3 == 0) options.rule.verify = Verify::signature;
  if (random() % 2 == 0) options.rule.max_documents = 1 + random() % 60;
  options.rule.replace = random() % 2 == 0;
  if (random() % 2 == 0) {
    options.rule.expire_after_ms = 50'000;
    options.rule.generation = 16;
    options.rule.watermark_rank = 10;
  }
  return options;
}

}  // namespace doppel::testing
