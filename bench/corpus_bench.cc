// Writes generated signed records to stdout, as many as wished, so that an index of a hundred million
// documents can be filled without a file. A record is a pure function of the seed and its number.
// bench/corpus runs it.
//
//   corpus_bench --docs 1000000 | doppel scan --format signed --state index -      (both with
//   DOPPEL_HASH_KEY)
//
// A document is a set of random shingles. A copy has the shingles of an earlier original, and up to 12 % of
// them are replaced: so some copies stay below the threshold.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <string>

#include "engine/signed_record.h"
#include "open/setup.h"
#include "records/metadata.h"
#include "state/state_dir.h"

namespace doppel {
namespace {

struct Flags {
  uint64_t docs = 1'000'000, begin = 0, seed = 1;
  uint32_t shingles = 250;
  double copies = 0.3;
  bool sets = false;
  std::string hash_key;
};

class Generator {
 public:
  Generator(const Flags& flags, const Scheme& scheme)
      : flags_(flags),
        fingerprint_(scheme_fingerprint(scheme)),
        sketcher_(scheme.family, scheme.num_perm, scheme.key),
        slots_(static_cast<size_t>(scheme.num_perm)),
        slices_(static_cast<size_t>(scheme.num_perm)) {}

  void append(uint64_t number, std::string& out) {
    const uint64_t original = original_of(number);
    const uint64_t salt = mix64(flags_.seed ^ mix64(original + 1));
    const uint64_t own = mix64(~flags_.seed ^ mix64(number + 1));
    shingles_.resize(flags_.shingles);
    for (uint64_t i = 0; i < shingles_.size(); ++i) shingles_[i] = mix64(salt + i);
    if (number != original) {
      const uint64_t replaced = own % (shingles_.size() * 12 / 100);
      for (uint64_t i = 0; i < replaced; ++i)
        shingles_[mix64(own + i) % shingles_.size()] = mix64(own + shingles_.size() + i);
    }
    document_.content = Content::shingled;
    document_.digest = digest();
    document_.timestamp_ms = 1'700'000'000'000 + static_cast<int64_t>(number);
    if (flags_.sets) {
      document_.tops.resize(shingles_.size());
      for (size_t i = 0; i < shingles_.size(); ++i)
        document_.tops[i] = static_cast<uint32_t>(shingles_[i] >> 32);
      code_set(document_);
    }
    sketcher_.clear(slots_.data());
    sketcher_.update(slots_.data(), shingles_);
    sketcher_.slices(slots_.data(), slices_.data());

    const std::string id = fmt::format("doc-{}", number);
    const std::string url = fmt::format("https://site{}.example/{}/{}", number % 9973, number % 12, number);
    document_.metadata.clear();
    encode_metadata({.source = "generated", .offset = number, .id = id, .url = url}, document_.metadata);
    record_.clear();
    encode_signed_record(fingerprint_, {.source = "generated", .begin = number, .end = number + 1}, document_,
                         slices_, record_);
    append_frame_head(static_cast<uint32_t>(record_.size()), out);
    out += record_;
  }

 private:
  // The number itself if it is not a copy.
  uint64_t original_of(uint64_t number) const {
    while (number != 0) {
      const uint64_t drawn = mix64(flags_.seed + mix64(number ^ 0x636f7079));
      if (static_cast<double>(drawn >> 32) >= flags_.copies * 0x1p32) break;
      number = mix64(drawn) % number;
    }
    return number;
  }

  // Equal sets have equal digests.
  Digest digest() const {
    Digest out{flags_.seed, 1};
    for (const uint64_t shingle : shingles_) {
      out.low += mix64(shingle);
      out.high += mix64(shingle ^ 0x68696768);
    }
    return out;
  }

  const Flags& flags_;
  const uint64_t fingerprint_;
  const Sketcher sketcher_;
  std::vector<uint64_t> slots_, shingles_;
  std::vector<uint8_t> slices_;
  SignedDocument document_;
  std::string record_;
};

bool write(const std::string& bytes) {
  return std::fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size();
}

int run(const Flags& flags) {
  const absl::StatusOr<HashKey> key = parse_hash_key(flags.hash_key);
  if (!key.ok()) {
    fmt::print(stderr, "corpus_bench: {}\n", std::string(key.status().message()));
    return 2;
  }
  const Scheme scheme = engine_options(Options{}, *key).value().scheme;
  std::string out;
  append_signed_header({scheme.describe(), scheme.text, "json"}, out);
  Generator generator(flags, scheme);
  const auto start = std::chrono::steady_clock::now();
  constexpr uint64_t kSay = 10'000;
  constexpr size_t kEnough = size_t{1} << 20;
  uint64_t said = flags.begin / kSay;
  for (uint64_t n = flags.begin; n < flags.begin + flags.docs; ++n) {
    generator.append(n, out);
    if (out.size() < kEnough && n + 1 < flags.begin + flags.docs) continue;
    if (n + 1 == flags.begin + flags.docs) append_frame_head(0, out);
    if (!write(out)) return 1;
    out.clear();
    if (n / kSay == said) continue;
    said = n / kSay;
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    fmt::print(stderr, "{} {:.2f}\n", n + 1, seconds);
  }
  return std::fflush(stdout) == 0 ? 0 : 1;
}

}  // namespace
}  // namespace doppel

int main(int argc, char** argv) {
  doppel::Flags flags;
  CLI::App app(
      "Writes generated signed records to stdout; to stderr, for every 10,000: how many, and seconds");
  app.add_option("--docs", flags.docs, "how many")->capture_default_str();
  app.add_option("--begin", flags.begin, "the number of the first one")->capture_default_str();
  app.add_option("--seed", flags.seed, "names the corpus")->capture_default_str();
  app.add_option("--shingles", flags.shingles, "of a document")
      ->check(CLI::Range(20, 100'000))
      ->capture_default_str();
  app.add_option("--copies", flags.copies, "share of copies")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_flag("--sets", flags.sets, "with sets, for verify: exact");
  app.add_option("--hash-key", flags.hash_key, "32 hexadecimal digits")
      ->envname("DOPPEL_HASH_KEY")
      ->required();
  CLI11_PARSE(app, argc, argv);
  return doppel::run(flags);
}
