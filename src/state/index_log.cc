#include "state/index_log.h"

#include <fmt/format.h>

#include <charconv>

#include "base/bytes.h"
#include "base/checksums.h"
#include "base/status.h"

namespace doppel {
namespace {

constexpr uint8_t kWithSlices = 1, kWithPayload = 2;
constexpr size_t kValueHead = 5;  // kind and checksum
constexpr std::string_view kProgress = "progress/", kMissing = "missing/", kShownKey = "shown/";

uint64_t big_endian(uint64_t x) {
  static_assert(std::endian::native == std::endian::little);
  return __builtin_bswap64(x);
}

// "shown/10" is as long as a number, but no index has that many originals.
bool is_number(std::string_view key) { return key.size() == sizeof(Seq) && !key.starts_with(kShownKey); }

uint32_t checksum(std::string_view key, std::string_view value) {
  return crc32c(value.substr(kValueHead), crc32c(value.substr(0, 1), crc32c(key)));
}

// The common part of all records: the constructor begins the value, end() fills in the checksum.
class Writer {
 public:
  Writer(std::string& out, std::string_view key, char kind) : out_(out) {
    place_.key = out.size();
    out.append(key);
    place_.value = out.size();
    out.push_back(kind);
    put_fixed<uint32_t>(out, 0);
  }
  Writer(std::string& out, Seq seq, char kind) : Writer(out, key_of(big_endian(seq)), kind) {}

  LogPlace end() {
    place_.end = out_.size();
    const std::string_view all(out_);
    const uint32_t crc =
        checksum(all.substr(place_.key, place_.value - place_.key), all.substr(place_.value));
    store(out_.data() + place_.value + 1, crc);
    return place_;
  }

 private:
  static std::string_view key_of(const uint64_t& bytes) {
    return {reinterpret_cast<const char*>(&bytes), sizeof bytes};
  }
  std::string& out_;
  LogPlace place_;
};

absl::Status damaged(std::string_view key, std::string_view what) {
  const std::string name =
      is_number(key) ? fmt::format("{}", big_endian(load<uint64_t>(key.data()))) : fmt::format("\"{}\"", key);
  return absl::DataLossError(fmt::format("the record {} {}", name, what));
}

// Removes "/NUMBER" from the end of a key.
template <typename T>
bool cut_number(std::string_view& key, T& out) {
  const size_t slash = key.rfind('/');
  if (slash == std::string_view::npos || slash == 0) return false;
  const char* end = key.data() + key.size();
  const auto [at, error] = std::from_chars(key.data() + slash + 1, end, out);
  if (error != std::errc() || at != end || out < 0) return false;
  key = key.substr(0, slash);
  return true;
}

// progress/TOPIC/PARTITION; topics contain no slash.
bool split_progress_key(std::string_view key, LogProgress& out) {
  key.remove_prefix(kProgress.size());
  if (!cut_number(key, out.partition)) return false;
  out.topic = key;
  return true;
}

bool split_missing_key(std::string_view key, LogMissing& out) {
  key.remove_prefix(kMissing.size());
  if (!cut_number(key, out.offset) || !cut_number(key, out.partition)) return false;
  out.topic = key;
  return true;
}

bool split_shown_key(std::string_view key, LogShown& out) {
  key.remove_prefix(kShownKey.size());
  const auto [at, error] = std::from_chars(key.data(), key.data() + key.size(), out.seq);
  return error == std::errc() && at == key.data() + key.size();
}

// A record with a null value.
LogPlace put_key_alone(std::string& out, std::string_view key) {
  LogPlace place{.key = out.size()};
  out += key;
  place.value = place.end = out.size();
  return place;
}

LogRow read_row(Seq seq, ByteReader& in) {
  LogRow row{.seq = seq};
  row.scheme = in.fixed<uint64_t>();
  const auto flags = in.fixed<uint8_t>();
  row.digest = take_digest(in);
  row.id_tag = in.fixed<uint64_t>();
  if ((flags & kWithPayload) != 0) row.payload = in.fixed<uint32_t>();
  row.trusted_ms = in.fixed<int64_t>();
  const uint64_t words = in.varint();
  for (uint64_t i = 0; i < words && in.ok(); ++i) row.mask.push_back(in.fixed<uint32_t>());
  row.slices = in.string();
  if ((flags & kWithSlices) == 0) row.slices = {};
  row.body.metadata = in.string();
  row.body.coded_set = in.string();
  return row;
}

void take_first_part(ByteReader& in, LogProgress& progress) {
  progress.next = static_cast<int64_t>(in.varint());
  progress.incarnation = incarnation_of(in.fixed<int32_t>());
  progress.last_ms = in.fixed<int64_t>();
  progress.highest_ms = in.fixed<int64_t>();
}

void take_second_part(ByteReader& in, LogProgress& progress) {
  progress.moved = static_cast<uint32_t>(in.varint());
  progress.topic_id = in.string();
  progress.former_id = in.string();
  progress.written_ms = in.fixed<int64_t>();
  const uint64_t count = in.varint();
  for (uint64_t i = 0; i < count && in.ok(); ++i) {
    LogProgress::Sample& sample = progress.samples.emplace_back();
    sample.offset = static_cast<int64_t>(static_cast<uint64_t>(progress.next) - in.varint());
    sample.timestamp_ms = in.fixed<int64_t>();
    sample.checksum = in.fixed<uint32_t>();
  }
}

}  // namespace

LogPlace put_log_row(std::string& out, const StoredRow& stored, int num_perm, int mask_words, uint64_t scheme,
                     const Body& body) {
  Writer writer(out, stored.seq, 'R');
  const Row& row = stored.row;
  put_fixed<uint64_t>(out, scheme);
  put_fixed<uint8_t>(out, (row.slices != nullptr ? kWithSlices : 0) | (row.payload != 0 ? kWithPayload : 0));
  put_digest(out, row.digest);
  put_fixed<uint64_t>(out, row.id_tag);
  if (row.payload != 0) put_fixed<uint32_t>(out, row.payload);
  put_fixed<int64_t>(out, stored.trusted_ms);
  const int words = row.mask != nullptr ? mask_words : 0;
  put_varint(out, static_cast<uint64_t>(words));
  for (int i = 0; i < words; ++i) put_fixed<uint32_t>(out, row.mask[i]);
  put_string(out, row.slices == nullptr
                      ? std::string_view()
                      : std::string_view(reinterpret_cast<const char*>(row.slices), num_perm));
  put_string(out, body.metadata);
  put_string(out, body.coded_set);
  return writer.end();
}

LogPlace put_log_removed(std::string& out, const LogRemoved& record) {
  Writer writer(out, record.seq, 'X');
  put_fixed<int64_t>(out, record.trusted_ms);
  return writer.end();
}

LogPlace put_log_shown(std::string& out, const LogShown& record) {
  const std::string key = fmt::format("{}{}", kShownKey, record.seq);
  if (record.copy.empty()) return put_key_alone(out, key);
  Writer writer(out, key, 'S');
  put_string(out, record.copy);
  return writer.end();
}

LogPlace put_log_expire(std::string& out, const LogExpire& record) {
  Writer writer(out, "expire", 'L');
  put_varint(out, record.lowest_live);
  put_varint(out, record.announced);
  put_string(out, record.clock);
  return writer.end();
}

LogPlace put_log_progress(std::string& out, const LogProgress& record) {
  const std::string key = fmt::format("{}{}/{}", kProgress, record.topic, record.partition);
  if (record.forgotten) return put_key_alone(out, key);
  Writer writer(out, key, 'Q');
  put_progress(out, record);
  return writer.end();
}

LogPlace put_log_missing(std::string& out, const LogMissing& record) {
  Writer writer(out, fmt::format("{}{}/{}/{}", kMissing, record.topic, record.partition, record.offset), 'M');
  put_string(out, record.reason);
  return writer.end();
}

LogPlace put_log_epoch(std::string& out, const LogEpoch& record) {
  Writer writer(out, "epoch", 'E');
  out.append(reinterpret_cast<const char*>(record.epoch.data()), record.epoch.size());
  put_string(out, record.cluster);
  put_string(out, record.data_scheme);
  put_varint(out, record.num_perm);
  put_varint(out, record.mask_words);
  put_fixed<uint8_t>(out, record.complete ? 1 : 0);
  put_string(out, record.rebuilt_from);
  return writer.end();
}

LogPlace put_log_rule(std::string& out, const LogRule& record) {
  Writer writer(out, "rule", 'U');
  put_string(out, record.rule);
  return writer.end();
}

LogPlace put_log_owner(std::string& out, const LogOwner& record) {
  Writer writer(out, "owner", record.settings.empty() ? 'O' : 'W');
  put_string(out, record.owner);
  if (!record.settings.empty()) put_string(out, record.settings);
  return writer.end();
}

LogPlace put_log_cut(std::string& out, const LogCut& record) {
  Writer writer(out, "cut", 'C');
  put_string(out, record.generation);
  put_varint(out, record.cut);
  return writer.end();
}

LogPlace put_log_batch(std::string& out, const LogBatch& record) {
  Writer writer(out, "batch", 'B');
  put_varint(out, record.records);
  return writer.end();
}

int32_t stored_incarnation(uint32_t incarnation) {
  return incarnation <= 1 ? -1 : static_cast<int32_t>(incarnation);
}

uint32_t incarnation_of(int32_t stored) { return stored <= 1 ? 1 : static_cast<uint32_t>(stored); }

// A sample goes if the one before it is at most 16 times as far from the last record as the one behind it.
// Distances only grow more alike, so no gap that was made here becomes wider than that.
void add_sample(std::vector<LogProgress::Sample>& samples, const LogProgress::Sample& last) {
  std::erase_if(samples, [&](const LogProgress::Sample& s) { return s.offset >= last.offset; });
  samples.push_back(last);
  const auto distance = [&](size_t i) { return last.offset - samples[i].offset; };
  size_t kept = 1;
  for (size_t i = 1; i < samples.size(); ++i)
    if (i + 1 == samples.size() || distance(kept - 1) / 16 > distance(i + 1)) samples[kept++] = samples[i];
  samples.resize(kept);
}

void put_progress(std::string& out, const LogProgress& progress) {
  put_varint(out, static_cast<uint64_t>(progress.next));
  put_fixed<int32_t>(out, stored_incarnation(progress.incarnation));
  put_fixed<int64_t>(out, progress.last_ms);
  put_fixed<int64_t>(out, progress.highest_ms);
  put_varint(out, progress.moved);
  put_string(out, progress.topic_id);
  put_string(out, progress.former_id);
  put_fixed<int64_t>(out, progress.written_ms);
  put_varint(out, progress.samples.size());
  for (const LogProgress::Sample& sample : progress.samples) {
    put_varint(out, static_cast<uint64_t>(progress.next) - static_cast<uint64_t>(sample.offset));
    put_fixed<int64_t>(out, sample.timestamp_ms);
    put_fixed<uint32_t>(out, sample.checksum);
  }
}

void take_progress(ByteReader& in, LogProgress& progress) {
  take_first_part(in, progress);
  take_second_part(in, progress);
}

void put_log_key(std::string& out, Seq seq) { put_fixed<uint64_t>(out, big_endian(seq)); }

absl::StatusOr<LogRecord> parse_log_record(std::string_view key, std::string_view value, bool has_value) {
  const bool numbered = is_number(key);
  const Seq seq = numbered ? big_endian(load<uint64_t>(key.data())) : 0;
  if (!has_value) {
    if (numbered) return LogDropped{seq};
    LogProgress forgotten{.forgotten = true};
    if (key.starts_with(kProgress) && split_progress_key(key, forgotten)) return forgotten;
    LogShown none;
    if (key.starts_with(kShownKey) && split_shown_key(key, none)) return none;
    return damaged(key, "has no value");
  }
  if (value.size() < kValueHead) return damaged(key, "is too short for an index log");
  if (load<uint32_t>(value.data() + 1) != checksum(key, value)) return damaged(key, "has a wrong checksum");

  ByteReader in(value.substr(kValueHead));
  const char kind = value.front();
  LogRecord record;
  if (numbered && kind == 'R') {
    const LogRow row = read_row(seq, in);
    if (row.payload >> kPayloadBits != 0) return damaged(key, "has an impossible payload");
    record = row;
  } else if (numbered && kind == 'X') {
    record = LogRemoved{seq, in.fixed<int64_t>()};
  } else if (key.starts_with(kShownKey) && kind == 'S') {
    LogShown shown;
    if (!split_shown_key(key, shown)) return damaged(key, "names no original");
    shown.copy = in.string();
    if (shown.copy.empty()) return damaged(key, "names no copy");
    record = std::move(shown);
  } else if (key == "expire" && kind == 'L') {
    LogExpire expire{.lowest_live = in.varint(), .announced = in.varint()};
    expire.clock = in.string();
    record = std::move(expire);
  } else if (key.starts_with(kProgress) && (kind == 'P' || kind == 'Q')) {
    LogProgress progress;
    if (!split_progress_key(key, progress)) return damaged(key, "names no partition");
    take_first_part(in, progress);
    if (kind == 'Q') take_second_part(in, progress);
    record = std::move(progress);
  } else if (key.starts_with(kMissing) && kind == 'M') {
    LogMissing missing;
    if (!split_missing_key(key, missing)) return damaged(key, "names no record");
    missing.reason = in.string();
    record = std::move(missing);
  } else if (key == "epoch" && kind == 'E') {
    LogEpoch epoch;
    const std::string_view uuid = in.bytes(epoch.epoch.size());
    std::copy(uuid.begin(), uuid.end(), epoch.epoch.begin());
    epoch.cluster = in.string();
    epoch.data_scheme = in.string();
    epoch.num_perm = static_cast<uint32_t>(in.varint());
    epoch.mask_words = static_cast<uint32_t>(in.varint());
    epoch.complete = in.fixed<uint8_t>() != 0;
    epoch.rebuilt_from = in.string();
    record = std::move(epoch);
  } else if (key == "rule" && kind == 'U') {
    record = LogRule{std::string(in.string())};
  } else if (key == "owner" && (kind == 'O' || kind == 'W')) {
    LogOwner owner{std::string(in.string())};
    if (kind == 'W') owner.settings = in.string();
    record = std::move(owner);
  } else if (key == "cut" && kind == 'C') {
    LogCut cut{.generation = std::string(in.string())};
    cut.cut = in.varint();
    record = std::move(cut);
  } else if (key == "batch" && kind == 'B') {
    record = LogBatch{in.varint()};
  } else {
    return damaged(key,
                   fmt::format("is of a kind ({}) that this version does not know", static_cast<int>(kind)));
  }
  if (!in.done()) return damaged(key, "is damaged");
  return record;
}

namespace kafka {
namespace {

constexpr std::string_view kName = "DKP";
constexpr std::string_view kMagic1 = "DKP\x01";  // without the epoch's offset
constexpr std::string_view kMagic2 = "DKP\x02";
constexpr std::string_view kMagic3 = "DKP\x03";  // with a cut at the end
constexpr std::string_view kMagic4 = "DKP\x04";  // with a cut and the owner at the end
constexpr std::string_view kMagic5 = "DKP\x05";  // the same, and progress as in the index log
constexpr std::string_view kMagic = "DKP\x06";   // the same, and the owner's settings at the end

}  // namespace

std::vector<LogProgress> KafkaPosition::progress_list() const {
  std::vector<LogProgress> out;
  out.reserve(progress.size());
  for (const auto& [name, p] : progress) out.push_back(p);
  return out;
}

bool is_kafka_position(std::string_view bytes) { return bytes.starts_with(kName); }

std::string encode_position(const KafkaPosition& position) {
  std::string out(kMagic);
  put_string(out, position.cluster);
  put_string(out, position.index_log);
  put_varint(out, static_cast<uint64_t>(position.log_offset));
  put_varint(out, static_cast<uint64_t>(position.covered_ms));
  put_varint(out, position.expire.lowest_live);
  put_varint(out, position.expire.announced);
  put_varint(out, static_cast<uint64_t>(position.epoch_offset + 1));
  put_varint(out, position.progress.size());
  for (const auto& [name, p] : position.progress) {
    put_string(out, p.topic);
    put_varint(out, static_cast<uint64_t>(p.partition));
    put_progress(out, p);
  }
  put_string(out, position.cut.generation);
  put_varint(out, position.cut.cut);
  put_string(out, position.owner);
  put_string(out, position.owner_settings);
  return out;
}

absl::StatusOr<KafkaPosition> decode_position(std::string_view bytes) {
  if (!is_kafka_position(bytes))
    return absl::FailedPreconditionError("the state directory was not made with Kafka; use another one");
  const bool first_version = bytes.starts_with(kMagic1);
  const bool latest = bytes.starts_with(kMagic);
  const bool has_samples = latest || bytes.starts_with(kMagic5);
  const bool has_owner = has_samples || bytes.starts_with(kMagic4);
  const bool has_cut = has_owner || bytes.starts_with(kMagic3);
  if (!first_version && !has_cut && !bytes.starts_with(kMagic2))
    return absl::FailedPreconditionError("the state directory was made by a newer version of doppel");
  ByteReader in(bytes.substr(kMagic.size()));
  KafkaPosition out;
  out.cluster = in.string();
  out.index_log = in.string();
  out.log_offset = static_cast<int64_t>(in.varint());
  out.covered_ms = static_cast<int64_t>(in.varint());
  out.expire.lowest_live = in.varint();
  out.expire.announced = in.varint();
  if (!first_version) out.epoch_offset = static_cast<int64_t>(in.varint()) - 1;
  const uint64_t n = in.varint();
  for (uint64_t i = 0; i < n && in.ok(); ++i) {
    LogProgress p{.topic = std::string(in.string())};
    p.partition = static_cast<int32_t>(in.varint());
    if (has_samples) {
      take_progress(in, p);
    } else {
      p.next = static_cast<int64_t>(in.varint());
      p.incarnation = incarnation_of(in.fixed<int32_t>());
      p.last_ms = in.fixed<int64_t>();
      p.highest_ms = in.fixed<int64_t>();
    }
    out.progress.emplace(std::pair(p.topic, p.partition), std::move(p));
  }
  if (has_cut) {
    out.cut.generation = in.string();
    out.cut.cut = in.varint();
  }
  if (has_owner) out.owner = in.string();
  if (latest) out.owner_settings = in.string();
  if (!in.done()) return absl::DataLossError("the position in a commit is damaged");
  return out;
}

}  // namespace kafka
}  // namespace doppel
