#include "serve/setup.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/status.h"
#include "fmt/format.h"
#include "state/state_dir.h"

namespace doppel {
namespace {

constexpr HashKey kPublicKey{0x646f7070656c2d30, 0x7075626c69636b65};

absl::StatusOr<HashKey> key_from(std::string_view hex, const std::string& origin) {
  absl::StatusOr<HashKey> key = parse_hash_key(hex);
  if (!key.ok()) return invalid(fmt::format("{}: {}", origin, std_sv(key.status().message())));
  return key;
}

}  // namespace

absl::StatusOr<HashKey> choose_hash_key(const Options& options, std::string& note) {
  if (const char* hex = std::getenv("DOPPEL_HASH_KEY")) return key_from(hex, "DOPPEL_HASH_KEY");
  if (!options.hash_key_file.empty()) {
    std::ifstream file(options.hash_key_file);
    std::stringstream text;
    text << file.rdbuf();
    if (!file) return invalid("hash_key_file: cannot read " + options.hash_key_file);
    return key_from(text.view(), "hash_key_file " + options.hash_key_file);
  }
  if (options.state_directory.empty()) return kPublicKey;
  bool made = false;
  absl::StatusOr<HashKey> key = hash_key_of(options.state_directory, &made);
  if (made) {
    note = fmt::format(
        "made a new hash key in {}/hash.key; signatures made with different keys do not compare, so keep it",
        options.state_directory);
  }
  return key;
}

absl::StatusOr<HashKey> hash_key_to_look_with(Options options) {
  std::error_code none;
  if (!std::filesystem::exists(options.state_directory + "/hash.key", none)) options.state_directory.clear();
  std::string note;
  return choose_hash_key(options, note);
}

absl::StatusOr<EngineOptions> engine_options(const Options& o, const HashKey& key) {
  EngineOptions out;
  out.scheme = {.key = key,
                .family = o.sketch == "classic" ? SketchFamily::classic : SketchFamily::fast,
                .num_perm = o.num_perm,
                .shingle_words = o.shingle_words,
                .max_record = o.max_record};
  ASSIGN_OR_RETURN(out.rule, make_rule(o.threshold, o.recall, o.num_perm, o.bands, o.rows));
  out.rule.verify = o.verify == "signature" ? Verify::signature : Verify::exact;
  out.rule.max_listed = o.max_listed;
  out.rule.max_checks = o.max_checks;
  out.rule.expire_after_ms = o.expire_after_ms;
  out.shards = o.shards;
  return out;
}

int thread_count(const Options& options) {
  if (options.threads > 0) return options.threads;
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

}  // namespace doppel
