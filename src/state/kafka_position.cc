#include "state/kafka_position.h"

#include "base/bytes.h"

namespace doppel::kafka {
namespace {

constexpr std::string_view kName = "DKP";
constexpr std::string_view kMagic1 = "DKP\x01";  // without the epoch's offset
constexpr std::string_view kMagic2 = "DKP\x02";
constexpr std::string_view kMagic3 = "DKP\x03";  // with a cut at the end
constexpr std::string_view kMagic4 = "DKP\x04";  // with a cut and the owner at the end
constexpr std::string_view kMagic = "DKP\x05";   // the same, and progress as in the index log

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
  return out;
}

absl::StatusOr<KafkaPosition> decode_position(std::string_view bytes) {
  if (!is_kafka_position(bytes))
    return absl::FailedPreconditionError("the state directory was not made with Kafka; use another one");
  const bool first_version = bytes.starts_with(kMagic1);
  const bool latest = bytes.starts_with(kMagic);
  const bool has_owner = latest || bytes.starts_with(kMagic4);
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
    if (latest) {
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
  if (!in.done()) return absl::DataLossError("the position in a commit is damaged");
  return out;
}

}  // namespace doppel::kafka
