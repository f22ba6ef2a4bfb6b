// Text to shingle hashes, in bytes per second: one document of 4 KB after another, of several kinds, at
// every SIMD level.

#include <benchmark/benchmark.h>

#include <random>
#include <string>
#include <vector>

#include "base/simd.h"
#include "text/hash_key.h"
#include "text/shingler.h"

namespace doppel {
namespace {

constexpr size_t kDocuments = 64;
constexpr size_t kDocumentSize = 4096;

const std::vector<std::string> kEnglish = {"the",
                                           "of",
                                           "and",
                                           "to",
                                           "a",
                                           "in",
                                           "is",
                                           "that",
                                           "it",
                                           "was",
                                           "for",
                                           "on",
                                           "are",
                                           "with",
                                           "as",
                                           "his",
                                           "they",
                                           "be",
                                           "at",
                                           "one",
                                           "have",
                                           "this",
                                           "from",
                                           "or",
                                           "had",
                                           "by",
                                           "not",
                                           "but",
                                           "what",
                                           "some",
                                           "we",
                                           "can",
                                           "out",
                                           "other",
                                           "were",
                                           "all",
                                           "there",
                                           "when",
                                           "up",
                                           "use",
                                           "your",
                                           "how",
                                           "said",
                                           "an",
                                           "each",
                                           "she",
                                           "which",
                                           "their",
                                           "time",
                                           "if",
                                           "will",
                                           "way",
                                           "about",
                                           "many",
                                           "then",
                                           "them",
                                           "write",
                                           "would",
                                           "like",
                                           "so",
                                           "these",
                                           "her",
                                           "long",
                                           "make",
                                           "thing",
                                           "see",
                                           "him",
                                           "two",
                                           "has",
                                           "look",
                                           "more",
                                           "day",
                                           "could",
                                           "go",
                                           "come",
                                           "did",
                                           "number",
                                           "sound",
                                           "no",
                                           "most",
                                           "people",
                                           "my",
                                           "over",
                                           "know",
                                           "water",
                                           "than",
                                           "call",
                                           "first",
                                           "who",
                                           "may",
                                           "down",
                                           "government",
                                           "international",
                                           "development",
                                           "information",
                                           "university",
                                           "particular",
                                           "understanding",
                                           "London",
                                           "However",
                                           "President",
                                           "according",
                                           "January",
                                           "important",
                                           "different",
                                           "available",
                                           "research"};
const std::vector<std::string> kFrench = {
    "été",  "à",         "le",       "la",           "les",  "où",   "déjà", "être",     "après",
    "même", "années",    "français", "gouvernement", "de",   "des",  "une",  "première", "siècle",
    "et",   "président", "à",        "côté",         "pour", "dans", "qui",  "système",  "société"};
const std::vector<std::string> kRussian = {
    "и",      "в",     "не",      "на",      "что",           "Он",   "с",     "как", "это",        "по",
    "Россия", "время", "человек", "который", "правительство", "год",  "было",  "его", "информация", "только",
    "Москва", "жизнь", "первый",  "себя",    "очень",         "была", "сказал"};
const std::vector<std::string> kKorean = {"그리고", "대한민국", "사람", "있다", "정부는",
                                          "것으로", "서울",     "시간", "했다"};
const std::vector<std::string> kHindi = {"और",   "का",   "है",    "में", "सरकार", "हिन्दी",
                                         "किया", "लोगों", "भारत", "के", "लिए"};
const std::vector<std::string> kChinese = {"中国", "人民", "的",   "是", "在",   "国际",
                                           "发展", "政府", "经济", "了", "社会", "和"};
const std::vector<std::string> kJapanese = {"日本", "の",   "は",     "です",   "ガイド", "を",
                                            "した", "東京", "データ", "という", "が"};

// Words with spaces, commas and full stops; one in `quoted` of the gaps is a curly quote or a no-break space.
std::string document(const std::vector<std::string>& words, const char* space, int quoted,
                     std::mt19937_64& random) {
  std::string text;
  while (text.size() < kDocumentSize) {
    text += words[random() % words.size()];
    uint64_t gap = random() % 16;
    if (gap == 0) text += ",";
    if (gap == 1) text += ".";
    if (quoted != 0 && random() % static_cast<uint64_t>(quoted) == 0) {
      static constexpr const char* kOdd[] = {"’", "“", "”", "\u00a0", "—"};
      text += kOdd[random() % 5];
    }
    text += space;
  }
  return text;
}

void shingle(benchmark::State& state, const std::vector<std::string>& words, const char* space, int quoted) {
  const Simd level = static_cast<Simd>(state.range(0));
  if (level > simd_supported()) {
    state.SkipWithError("not supported here");
    return;
  }
  force_simd(level);
  std::mt19937_64 random(1);
  std::vector<std::string> documents;
  size_t bytes = 0;
  for (size_t i = 0; i < kDocuments; ++i) {
    documents.push_back(document(words, space, quoted, random));
    bytes += documents.back().size();
  }
  Shingler shingler(HashKey{1, 2}, 5);
  PodVector<uint64_t> out;
  uint64_t hashes = 0;
  for (auto _ : state) {
    for (const std::string& text : documents) {
      out.clear();
      shingler.update(text, out);
      shingler.finish(out);
      benchmark::DoNotOptimize(out.data());
      hashes += out.size();
    }
  }
  const auto rounds = static_cast<double>(state.iterations());
  state.SetBytesProcessed(static_cast<int64_t>(bytes) * static_cast<int64_t>(state.iterations()));
  state.counters["shingles"] = static_cast<double>(hashes) / (rounds * kDocuments);
  state.counters["us/doc"] = benchmark::Counter(rounds * kDocuments * 1e-6,
                                                benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.SetLabel(std::string(simd_name(level)));
  force_simd(simd_supported());
}

#define SHINGLE_BENCH(name, words, space, quoted)                              \
  void name(benchmark::State& state) { shingle(state, words, space, quoted); } \
  BENCHMARK(name)->DenseRange(0, 2)

SHINGLE_BENCH(English, kEnglish, " ", 0);
SHINGLE_BENCH(EnglishWithCurlyQuotes, kEnglish, " ", 40);
SHINGLE_BENCH(French, kFrench, " ", 30);
SHINGLE_BENCH(Russian, kRussian, " ", 0);
SHINGLE_BENCH(Korean, kKorean, " ", 0);
SHINGLE_BENCH(Hindi, kHindi, " ", 0);
SHINGLE_BENCH(Chinese, kChinese, "", 0);
SHINGLE_BENCH(Japanese, kJapanese, "", 0);

void DigestOfText(benchmark::State& state) {
  std::mt19937_64 random(1);
  const std::string text = document(kEnglish, " ", 0, random);
  const Digester digester(HashKey{1, 2});
  for (auto _ : state) benchmark::DoNotOptimize(digester.digest(text));
  state.SetBytesProcessed(static_cast<int64_t>(text.size()) * static_cast<int64_t>(state.iterations()));
}
BENCHMARK(DigestOfText);

}  // namespace
}  // namespace doppel

BENCHMARK_MAIN();
