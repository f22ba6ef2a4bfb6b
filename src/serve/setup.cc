#include "serve/setup.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/log.h"
#include "base/status.h"
#include "engine/limits.h"
#include "fmt/format.h"
#include "http/token.h"
#include "state/state_dir.h"
#include "stream/files/signed_header.h"
#include "stream/metadata.h"

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
        "created a new hash key in {}/hash.key; keep it, because signatures with different keys are not "
        "comparable",
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

namespace {

std::string mebibytes(double bytes) { return fmt::format("{:.0f} MiB", bytes / (1 << 20)); }

// What max_memory has room for, with the buffers as they are set now.
absl::StatusOr<uint64_t> documents_within(const Options& o, const EngineOptions& engine) {
  if (o.max_memory == 0) return 0;
  // Batches that are read, signed, matched and settled; what was fetched ahead; the rest of the program.
  const uint64_t buffers =
      (96 << 20) + 6 * o.batch_bytes + (o.kafka.brokers.empty() ? 0 : o.kafka.fetch_queue);
  const BytesEach each = bytes_each({.num_perm = engine.scheme.num_perm,
                                     .banding = engine.rule.banding,
                                     .track_ids = engine.track_ids,
                                     .track_payloads = static_cast<bool>(engine.payload_of)});
  const double room = static_cast<double>(o.max_memory) - static_cast<double>(buffers);
  constexpr double kLeast = 10'000;
  if (room < kLeast * each.sum()) {
    return invalid(
        fmt::format("max_memory: {} is not enough: buffers take {} (batch_bytes, kafka.fetch_queue), and "
                    "{:.0f} originals {}",
                    mebibytes(static_cast<double>(o.max_memory)), mebibytes(static_cast<double>(buffers)),
                    kLeast, mebibytes(kLeast * each.sum())));
  }
  return static_cast<uint64_t>(std::min(room / each.sum(), static_cast<double>(limits::kMaxDocuments.most)));
}

}  // namespace

absl::StatusOr<EngineOptions> engine_options(const Options& o, const HashKey& key) {
  EngineOptions out;
  out.scheme = {.key = key,
                .family = o.sketch == "classic" ? SketchFamily::classic : SketchFamily::fast,
                .num_perm = o.num_perm,
                .shingle_words = o.shingle_words,
                .min_shingles = o.min_shingles,
                .normalisation = o.normaliser == "loose"  ? Normalisation::loose
                                 : o.normaliser == "none" ? Normalisation::none
                                                          : Normalisation::standard,
                .max_record = o.max_record,
                .text = describe_format(o.input)};
  ASSIGN_OR_RETURN(out.rule, make_rule(o.threshold, o.recall, o.num_perm, o.bands, o.rows));
  out.rule.verify = o.verify == "signature" ? Verify::signature : Verify::exact;
  out.rule.max_listed = o.max_listed;
  out.rule.max_checks = o.max_checks;
  out.rule.expire_after_ms = o.expire_after_ms;
  out.rule.replace = o.on_update == "replace";
  out.track_ids = o.tombstones == "key" || out.rule.replace;
  const std::string& format = is_signed(o.input) ? o.input.signed_format : o.input.format;
  if (format == "heritrix" || format == "warc" || format == "auto") out.payload_of = payload_of_metadata;
  ASSIGN_OR_RETURN(const uint64_t documents, documents_within(o, out));
  set_room(out.rule, o.max_memory, documents, o.max_documents);
  out.shards = o.shards;
  return out;
}

void keep_banding(Rule& rule, std::string_view stored) {
  const Banding chosen = rule.banding;
  if (!take_banding(rule, stored)) return;
  const double meets = meeting_probability(rule.threshold_ppm / 1e6, rule.banding);
  log::info("the index keeps the bands that it was made with",
            {{"bands", rule.banding.bands},
             {"rows", rule.banding.rows},
             {"recall", fmt::format("{:.4f}", meets)},
             {"a_new_index_has", fmt::format("{} x {}", chosen.bands, chosen.rows)}});
}

absl::StatusOr<std::unique_ptr<http::Server>> open_http(const Options& o) {
  if (o.http.listen.empty()) return nullptr;
  http::ServerOptions options{.listen = o.http.listen, .max_body = o.http.max_body};
  ASSIGN_OR_RETURN(options.token,
                   http::load_token("http.token_file", o.http.token_file, "DOPPEL_HTTP_TOKEN"));
  ASSIGN_OR_RETURN(std::unique_ptr<http::Server> server, http::Server::start(std::move(options)));
  log::info("listening", {{"url", server->url()}});
  return server;
}

absl::Status learn_signed_format(const std::vector<std::string>& paths, bool kept, FormatOptions& input) {
  if (!is_signed(input)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::optional<SignedFileHeader> header, first_signed_header(paths));
  if (!header) return absl::OkStatus();
  input.signed_format = header->format;
  input.signed_text = header->text;
  // How pages in WARC files were read is a part only of what is kept.
  if (!kept) input.signed_text = scheme_of_records({.text = header->text}).text;
  return absl::OkStatus();
}

FetchOptions fetch_options(const Options& o, std::function<bool()> stop) {
  return {.roots = o.warc_roots,
          .cdxj = o.warc_cdxj,
          .parallel = o.fetch_parallel,
          .max_wait_ms = o.fetch_max_wait_ms,
          .root = {.max_bytes = o.input.max_bytes, .timeout_ms = o.fetch_timeout_ms, .cancel = {}},
          .format = o.input,
          .stop = std::move(stop)};
}

absl::StatusOr<std::unique_ptr<FetchSource>> fetch_from(Source& inner, FetchOptions options,
                                                        const Engine& engine) {
  if (!fetches(options)) return nullptr;
  auto signer = std::make_shared<Signer>(engine.make_signer());
  options.knows_payload = [signer, &engine](const Document& document) {
    return engine.knows_payload(signer->payload(document.payload_digest, document.scope));
  };
  return make_fetch_source(inner, options);
}

std::function<absl::Status(Record&, std::vector<std::shared_ptr<const void>>&)> late_reader(
    FetchSource* fetching) {
  if (fetching == nullptr) return {};
  return [fetching](Record& record, std::vector<std::shared_ptr<const void>>& memory) {
    return fetching->read_now(record, memory);
  };
}

int thread_count(const Options& options) {
  if (options.threads > 0) return options.threads;
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

}  // namespace doppel
