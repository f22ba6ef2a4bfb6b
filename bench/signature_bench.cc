// Text to signature, and shingles to signature: doppel at every SIMD level beside the textbook way
// (reference.h), on the very same documents, in turns within one process. Prints "name value unit" lines;
// medians of the rounds, ratios taken within a round.
//
//   signature_bench [--rounds=15] [--documents=200] [--bytes=4096] [--only=text|prehashed]
//
// Time is this thread's processor time. Documents are English-like, of equal size, too many for a branch
// predictor to learn and few enough for the second-level cache, where a document that was just
// read is.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/simd.h"
#include "engine/sign.h"
#include "oracle/corpus.h"
#include "reference.h"

namespace doppel {
namespace {

constexpr int kNumPerm = 128;
constexpr size_t kShingles = 579;  // of the mean document of public web text

double now() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void line(const std::string& name, double value, const char* unit) {
  std::printf("%s %.6g %s\n", name.c_str(), value, unit);
}

// Of exactly `bytes` bytes each, cut between words.
std::vector<std::string> texts(size_t count, size_t bytes) {
  oracle::CorpusOptions options{.english = true, .copies = 0};
  std::vector<std::string> result;
  std::string text;
  for (uint64_t number = 0; result.size() < count; ++number) {
    text += oracle::make_document(options, number).text + "\n";
    if (text.size() < bytes) continue;
    text.resize(bytes);
    const size_t space = text.find_last_of(" \n");
    std::fill(text.begin() + static_cast<ptrdiff_t>(space), text.end(), ' ');
    result.push_back(std::move(text));
    text.clear();
  }
  return result;
}

struct Contestant {
  std::string name;
  Simd level;
  std::function<uint64_t()> once;  // all documents once; the sum keeps the compiler honest
  std::vector<double> seconds;     // for all documents, one for each round
};

// Every contestant runs for some milliseconds before any of them runs again.
void run_in_turns(std::vector<Contestant>& contestants, int rounds) {
  constexpr double kTurn = 0.03;
  uint64_t sum = 0;
  for (int round = -1; round < rounds; ++round) {  // the first one warms up
    for (Contestant& c : contestants) {
      force_simd(c.level);
      int times = 0;
      const double start = now();
      double spent = 0;
      while (spent < kTurn) {
        sum += c.once();
        ++times;
        spent = now() - start;
      }
      if (round >= 0) c.seconds.push_back(spent / times);
    }
  }
  if (sum == 42) std::puts("");
}

void text_to_signature(int rounds, size_t count, size_t bytes) {
  const std::vector<std::string> documents = texts(count, bytes);
  const reference::MinHash minhash(kNumPerm);
  const Scheme scheme{.key = {1, 2}, .num_perm = kNumPerm};
  SignedDocument signed_document;
  std::vector<uint8_t> slices(kNumPerm);

  std::vector<Contestant> contestants;
  contestants.push_back({"reference",
                         Simd::scalar,
                         [&] {
                           uint64_t sum = 0;
                           for (const std::string& text : documents) sum += minhash.signature(text)[0];
                           return sum;
                         },
                         {}});
  for (Simd level : simd_levels()) {
    force_simd(level);  // a Signer chooses its kernels when it is made
    contestants.push_back({std::string(simd_name(level)),
                           level,
                           [&, signer = std::make_shared<Signer>(scheme, false)] {
                             uint64_t sum = 0;
                             for (const std::string& text : documents) {
                               signer->sign(text, {}, signed_document, slices.data());
                               sum += slices[0] + signed_document.digest.low;
                             }
                             return sum;
                           },
                           {}});
  }
  run_in_turns(contestants, rounds);

  Shingler shingler(scheme.key, scheme.shingle_words, scheme.normalisation);
  PodVector<uint64_t> shingles;
  for (const std::string& text : documents) {
    shingler.update(text, shingles);
    shingler.finish(shingles);
  }
  const auto n = static_cast<double>(documents.size());
  line("text_documents", n, "documents");
  line("text_bytes", static_cast<double>(bytes), "bytes");
  line("text_shingles", static_cast<double>(shingles.size()) / n, "shingles/document");
  for (const Contestant& c : contestants) {
    line("text_" + c.name, median(c.seconds) / n * 1e6, "us/document");
    line("text_" + c.name + "_rate", n * static_cast<double>(bytes) / median(c.seconds) / 1e6, "MB/s");
    std::vector<double> ratios;
    ratios.reserve(c.seconds.size());
    for (size_t i = 0; i < c.seconds.size(); ++i) ratios.push_back(contestants[0].seconds[i] / c.seconds[i]);
    line("text_" + c.name + "_ratio", median(ratios), "x");
  }
}

void prehashed_to_signature(int rounds, size_t count) {
  std::vector<std::vector<uint64_t>> documents(count);
  std::mt19937_64 random(1);
  for (auto& document : documents) {
    document.resize(kShingles);
    for (uint64_t& shingle : document) shingle = random();
  }
  const Sketcher sketcher(SketchFamily::fast, kNumPerm, {1, 2});
  std::vector<uint64_t> slots(kNumPerm);
  std::vector<Contestant> contestants;
  for (Simd level : simd_levels()) {
    contestants.push_back({std::string(simd_name(level)),
                           level,
                           [&] {
                             uint64_t sum = 0;
                             for (const auto& document : documents) {
                               sketcher.clear(slots.data());
                               sketcher.update(slots.data(), document);
                               sum += slots[0];
                             }
                             return sum;
                           },
                           {}});
  }
  run_in_turns(contestants, rounds);
  line("prehashed_shingles", static_cast<double>(kShingles), "shingles/document");
  for (const Contestant& c : contestants) {
    line("prehashed_" + c.name, static_cast<double>(count) / median(c.seconds), "documents/s");
  }
  line("prehashed_best", static_cast<double>(count) / median(contestants.back().seconds), "documents/s");
}

}  // namespace
}  // namespace doppel

int main(int argc, char** argv) {
  int rounds = 15;
  size_t documents = 200;
  size_t bytes = 4096;
  std::string_view only;
  for (int i = 1; i < argc; ++i) {
    const std::string_view arg = argv[i];
    const size_t at = arg.find('=');
    const std::string_view text = at == arg.npos ? "" : arg.substr(at + 1);
    const long value = at == arg.npos ? 0 : std::atol(argv[i] + at + 1);
    if (arg.starts_with("--rounds=")) rounds = std::max(1, static_cast<int>(value));
    if (arg.starts_with("--documents=")) documents = static_cast<size_t>(std::max(1L, value));
    if (arg.starts_with("--bytes=")) bytes = static_cast<size_t>(std::max(100L, value));
    if (arg.starts_with("--only=")) only = text;
  }
  if (only != "prehashed") doppel::text_to_signature(rounds, documents, bytes);
  if (only != "text") doppel::prehashed_to_signature(rounds, documents);
}
