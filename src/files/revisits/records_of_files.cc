#include "files/revisits/records_of_files.h"

#include <xxhash.h>

#include <algorithm>

#include "files/warc/each_record.h"
#include "formats/decoder.h"
#include "formats/warc/payload_digest.h"

namespace doppel {
namespace {

uint64_t hash_of(std::string_view kind, std::string_view a, std::string_view b = {}) {
  std::string text(kind);
  text.append(a).push_back('\0');
  text.append(b);
  return XXH3_64bits(text.data(), text.size());
}

// Dates are compared by the second, because crawlers write them in several forms.
std::string second_of(std::string_view date) {
  const std::optional<int64_t> ms = parse_time(date);
  return ms ? std::to_string(*ms / 1000) : std::string(date);
}

std::string digest_of(const WarcRecord& record) {
  const std::string sha1 = sha1_of_header(record.payload_digest);
  return sha1.empty() ? std::string(record.payload_digest) : sha1;
}

}  // namespace

absl::Status RecordsOfFiles::add(const InputFile& file, size_t number, std::vector<std::string>& problems) {
  const auto visit = [&](const Record& record) {
    const absl::StatusOr<WarcRecord> warc = parse_warc_record(record.value);
    if (!warc.ok()) return;
    if (warc->type == WarcType::revisit) {
      if (!warc->refers_to.empty()) referred_to_.insert(hash_of("id", warc->refers_to));
      if (!warc->refers_to_uri.empty() && !warc->refers_to_date.empty())
        referred_to_.insert(hash_of("capture", warc->refers_to_uri, second_of(warc->refers_to_date)));
      if (warc->refers_to.empty() && warc->refers_to_date.empty() && !warc->payload_digest.empty()) {
        const std::string_view uri = warc->refers_to_uri.empty() ? warc->target_uri : warc->refers_to_uri;
        referred_to_.insert(hash_of("digest", uri, digest_of(*warc)));
      }
    }
    if (warc->type == WarcType::request && !warc->block.starts_with("GET ")) {
      posts_.insert(hash_of("id", warc->record_id));
      posts_.insert(hash_of("capture", warc->target_uri, second_of(warc->date)));
      for (const std::string_view id : concurrent_to(record.value.substr(0, warc->head_bytes)))
        posts_.insert(hash_of("id", id));
    }
    if (warc->record_id.empty() || !record.warc_offset) return;
    const WarcPlace place{number, *record.warc_offset};
    const auto [known, fresh] = by_id_.try_emplace(hash_of("id", warc->record_id), place);
    if (!fresh && known->second != place) known->second.reset();
  };
  return each_warc_record(file, visit, problems);
}

std::optional<WarcPlace> RecordsOfFiles::find(std::string_view record_id) const {
  const auto found = by_id_.find(hash_of("id", record_id));
  return found == by_id_.end() ? std::nullopt : found->second;
}

bool RecordsOfFiles::is_at(const WarcPlace& place, std::string_view record_id) const {
  const auto found = by_id_.find(hash_of("id", record_id));
  return found == by_id_.end() || !found->second || *found->second == place;
}

bool RecordsOfFiles::answers_post(const WarcRecord& record, std::string_view head) const {
  const std::vector<std::string_view> ids = concurrent_to(head);
  return posts_.contains(hash_of("id", record.record_id)) ||
         posts_.contains(hash_of("capture", record.target_uri, second_of(record.date))) ||
         std::any_of(ids.begin(), ids.end(),
                     [this](std::string_view id) { return posts_.contains(hash_of("id", id)); });
}

bool RecordsOfFiles::is_referred_to(const WarcRecord& record) const {
  return referred_to_.contains(hash_of("id", record.record_id)) ||
         referred_to_.contains(hash_of("capture", record.target_uri, second_of(record.date))) ||
         referred_to_.contains(hash_of("digest", record.target_uri, digest_of(record)));
}

}  // namespace doppel
