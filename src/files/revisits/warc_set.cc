#include "files/revisits/warc_set.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <xxhash.h>

#include <algorithm>

#include "base/status.h"
#include "files/byte_stream.h"
#include "files/read/content.h"
#include "files/read/listing.h"
#include "files/warc/record_at.h"
#include "files/warc/wacz.h"
#include "formats/decoder.h"
#include "formats/warc/cdxj.h"
#include "formats/warc/warc.h"

namespace doppel {
namespace {

std::string last_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// Examines the content, to see whether it is a WARC file.
void look(InputFile& file) {
  const Fd fd(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.ok()) look_inside(fd.get(), {}, file);
}

}  // namespace

absl::StatusOr<WarcSet> WarcSet::of(const std::vector<std::string>& paths, const std::string& left_out,
                                    std::vector<std::string>& problems) {
  WarcSet out;
  out.all_ = paths.empty();
  if (paths.empty()) return out;
  ASSIGN_OR_RETURN(Listing listing,
                   list_files({.paths = paths,
                               .output_directories =
                                   left_out.empty() ? std::vector<std::string>() : std::vector{left_out}}));
  for (Problem& problem : listing.problems) problems.push_back(std::move(problem.message));
  for (InputFile& file : listing.files) {
    if (file.pipe) return invalid(fmt::format("{}: only files can be rewritten", file.path));
    look(file);
    const bool named = std::find(paths.begin(), paths.end(), file.path) != paths.end();
    if (file.kind != InputKind::warc) {
      const bool arc = file.kind == InputKind::arc;
      if (named) {
        problems.push_back(
            fmt::format("{}: {}", file.path,
                        arc ? "it is an ARC file, which has no revisit records" : "it is not a WARC file"));
      } else if (arc) {
        ++out.arcs_left_out_;
      }
      continue;
    }
    const std::string name = last_part(file.shown());
    const size_t number = out.add(std::move(file), true);
    std::vector<size_t>& of_name = out.by_name_[name];
    if (std::find(of_name.begin(), of_name.end(), number) == of_name.end()) of_name.push_back(number);
  }
  return out;
}

std::optional<WarcPlace> WarcSet::find(const NamedRecord& record) {
  if (!record.offset) return std::nullopt;
  const std::optional<size_t> file = file_of(record);
  if (!file) return std::nullopt;
  return WarcPlace{*file, *record.offset};
}

std::optional<size_t> WarcSet::file_of(const NamedRecord& record) {
  if (!record.file.empty()) {
    const auto [known, fresh] = by_path_.try_emplace(record.file);
    if (fresh) known->second = file_at(record.file);
    if (known->second) return known->second;
  }
  const auto named = by_name_.find(record.filename);
  if (named == by_name_.end() || named->second.size() != 1) return std::nullopt;
  return named->second.front();
}

std::optional<size_t> WarcSet::file_at(const std::string& path) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) == 0) {
    if (!S_ISREG(info.st_mode)) return std::nullopt;
    InputFile file = describe_file(path, info, Layout::automatic);
    look(file);
    if (file.kind == InputKind::arc) arcs_.insert(path);
    if (file.kind != InputKind::warc) return std::nullopt;
    return add(std::move(file), all_);
  }
  const std::string wacz = wacz_of(path);
  if (wacz.empty() || ::stat(wacz.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  const Fd fd(::open(wacz.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.ok()) return std::nullopt;
  const absl::StatusOr<Wacz> inside = look_into_wacz(fd.get(), wacz, info);
  if (!inside.ok()) return std::nullopt;
  for (InputFile file : inside->files) {
    if (file.source() != path) continue;
    look(file);
    return add(std::move(file), all_);
  }
  return std::nullopt;
}

size_t WarcSet::add(InputFile file, bool chosen) {
  const auto [known, fresh] = by_identity_.try_emplace({file.device, file.inode}, files_.size());
  if (fresh) files_.push_back({std::move(file), chosen});
  return known->second;
}

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

std::string digest_of(std::string_view digest) {
  std::string sha1 = sha1_of_header(digest);
  return sha1.empty() ? std::string(digest) : sha1;
}

// By which players look a capture up: http and https, upper and lower case, with www and without are the
// same.
std::string key_of(std::string_view uri) {
  std::string key = surt(uri);
  return key.empty() ? std::string(uri) : key;
}

}  // namespace

absl::Status RecordsOfFiles::add(const InputFile& file, size_t number, std::vector<std::string>& problems) {
  const auto visit = [&](const Record& record) {
    const absl::StatusOr<WarcRecord> warc = parse_warc_record(record.value);
    if (!warc.ok()) return;
    if (warc->type == WarcType::revisit) {
      if (record.warc_offset) revisits_.insert({number, *record.warc_offset});
      const std::string key = key_of(warc->refers_to_uri.empty() ? warc->target_uri : warc->refers_to_uri);
      if (!warc->refers_to.empty()) referred_to_.insert(hash_of("id", warc->refers_to));
      if (!warc->refers_to_date.empty())
        referred_to_.insert(hash_of("capture", key, second_of(warc->refers_to_date)));
      referred_to_.insert(hash_of("digest", key, digest_of(warc->payload_digest)));
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

bool RecordsOfFiles::is_referred_to(const WarcRecord& record, std::string_view digest,
                                    const WarcRecord& original) const {
  const std::string key = key_of(record.target_uri);
  if (referred_to_.contains(hash_of("id", record.record_id)) ||
      referred_to_.contains(hash_of("capture", key, second_of(record.date))) ||
      referred_to_.contains(hash_of("digest", key, {})))
    return true;
  return referred_to_.contains(hash_of("digest", key, digest_of(digest))) &&
         key_of(original.target_uri) != key;
}

}  // namespace doppel
