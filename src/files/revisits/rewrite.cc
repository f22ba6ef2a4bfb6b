#include "files/revisits/rewrite.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <random>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "base/status.h"
#include "files/byte_stream.h"
#include "files/output_file.h"
#include "files/revisits/warc_set.h"
#include "files/warc/captures.h"
#include "files/warc/record_at.h"
#include "files/warc/warc_reader.h"
#include "formats/bytes/http.h"
#include "formats/decoder.h"
#include "formats/warc/cdxj.h"
#include "formats/warc/warc.h"
#include "records/events.h"

namespace doppel {
namespace {

namespace fs = std::filesystem;

constexpr size_t kProblemsKept = 20;
const std::string kParts = ".parts";
const std::string kNoPlace =
    "its event names no offset, as its gzip member or zstd frame holds more than the record";

HashKey random_key() {
  std::random_device random;
  const auto half = [&] { return uint64_t{random()} << 32 | random(); };
  return {half(), half()};
}

bool has_header(std::string_view head, std::string_view name) {
  bool found = false;
  each_header(
      head.substr(std::min(head.size(), head.find('\n') + 1)),
      [&](std::string_view header, std::string_view) { found = found || equal_ignoring_case(header, name); });
  return found;
}

// Why the record may not be replaced, and may not serve as an original for playback; empty: it may.
std::string_view no_response(const RecordAt& at, const WarcRecord& record) {
  if (record.type != WarcType::response) return "it is not a response record";
  if (at.http_head.empty()) return "it is not an HTTP response";
  if (!record.truncated.empty()) return "it is truncated";
  if (has_header(at.head, "WARC-Segment-Number")) return "it is a segment";
  return {};
}

// By which players find the original of a revisit record.
size_t lookup_of(std::string_view uri, std::string_view digest) { return absl::HashOf(surt(uri), digest); }

// Removes the temporary files of these outputs whose processes were killed.
void remove_left_over(const std::map<std::string, size_t>& outputs) {
  std::set<fs::path> folders;
  for (const auto& [name, file] : outputs) folders.insert(fs::path(name).parent_path());
  std::error_code none;
  for (const fs::path& folder : folders) {
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, none)) {
      const std::string target = target_of_dead_temporary(entry.path().filename().string());
      if (!target.empty() && outputs.contains((folder / target).string())) fs::remove(entry.path(), none);
    }
  }
}

}  // namespace

struct Rewriter::State {
  // The record at an original's place.
  struct Original {
    std::string head;
    uint64_t body_bytes = 0;
    Digest body;
    std::string wrong;  // why it cannot be an original; empty: it can
  };

  // A record that an event names, and where it was found.
  struct Placed {
    const NamedRecord* record = nullptr;
    WarcPlace place;
  };

  struct Replacement {
    uint64_t begin = 0, end = 0;   // range of the copy in its file
    uint64_t place = 0, size = 0;  // range of the compressed revisit record in the spill
  };

  explicit State(std::string to, WarcSet set, Spill spilled)
      : directory(std::move(to)), files(std::move(set)), spill(std::move(spilled)) {}

  void problem(std::string text) {
    if (report.problems.size() < kProblemsKept) {
      report.problems.push_back(std::move(text));
    } else {
      ++report.more_problems;
    }
  }
  fs::path common_folder() const;
  std::map<std::string, size_t> outputs(const fs::path& folder) const;
  std::optional<WarcPlace> place_of(const NamedRecord& record);
  absl::Status decide_one(const PayloadCopy& event);
  absl::Status stays(const WarcPlace& copy, std::string_view why);
  absl::StatusOr<std::string> decide(const Placed& copy, const Placed& original);
  absl::Status compare(const NamedRecord& named, const WarcPlace& copy, const NamedRecord& named_original,
                       const WarcPlace& original);
  const Original& original_at(const WarcPlace& place);
  absl::Status write_file(const InputFile& file, const std::string& to,
                          const std::vector<Replacement>& of_it);
  std::vector<Replacement> settle(size_t number);

  std::string directory;
  bool wacz = false;                            // WACZ files are written
  std::map<std::string, std::string> packages;  // by the folder of their parts: the WACZ files that were read
  WarcSet files;
  Spill spill;
  std::vector<PayloadCopy> events;
  RecordsOfFiles records;
  PayloadGroups groups;
  absl::flat_hash_map<PayloadGroups::Key, Placed> placed;  // by the keys of `groups`
  Digester digester{random_key()};
  absl::flat_hash_set<WarcPlace> replaced, needed;
  absl::flat_hash_set<size_t> replaced_keys;  // how players look up what was replaced: lookup_of()
  absl::flat_hash_map<WarcPlace, Original> originals;
  absl::flat_hash_map<size_t, std::vector<Replacement>> replacements;  // by number of the file
  std::vector<std::string> written;                                    // paths of outputs
  std::set<std::pair<std::string, uint64_t>> new_records;  // written revisit records: file, offset
  RewriteReport report;
};

Rewriter::Rewriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
Rewriter::~Rewriter() = default;
const RewriteReport& Rewriter::report() const { return state_->report; }

absl::StatusOr<std::unique_ptr<Rewriter>> Rewriter::open(const std::vector<std::string>& paths,
                                                         const std::string& directory, bool wacz) {
  std::vector<std::string> problems;
  ASSIGN_OR_RETURN(WarcSet files, WarcSet::of(paths, directory, problems));
  std::error_code error;
  if (!directory.empty()) fs::create_directories(directory, error);
  if (error) return io_error(directory, error.value());
  ASSIGN_OR_RETURN(Spill spill,
                   Spill::open(directory.empty() ? fs::temp_directory_path(error).string() : directory));
  auto state = std::make_unique<State>(directory, std::move(files), std::move(spill));
  state->wacz = wacz;
  state->report.arcs = state->files.arcs_left_out();
  for (std::string& problem : problems) state->problem(std::move(problem));
  return std::unique_ptr<Rewriter>(new Rewriter(std::move(state)));
}

absl::Status Rewriter::add(PayloadCopy event) {
  state_->events.push_back(std::move(event));
  return absl::OkStatus();
}

absl::Status Rewriter::decide_all() {
  State& s = *state_;
  // Files that only events name belong to the set, too. Add them before reading it.
  for (const PayloadCopy& event : s.events) {
    s.files.find(event.copy);
    s.files.find(event.original);
  }
  for (size_t i = 0; i < s.files.size(); ++i) {
    std::vector<std::string> problems;
    RETURN_IF_ERROR(s.records.add(s.files.file(i), i, problems));
    for (std::string& problem : problems) s.problem(std::move(problem));
  }
  for (const PayloadCopy& event : s.events) {
    const std::optional<WarcPlace> copy = s.place_of(event.copy), original = s.place_of(event.original);
    if (!copy || !original) continue;
    const auto capture = [&](const NamedRecord& record, const WarcPlace& place) {
      const auto key = absl::HashOf(place);
      s.placed.try_emplace(key, State::Placed{&record, place});
      return PayloadGroups::Capture{key, record.capture().time_ms};
    };
    s.groups.tie(capture(event.copy, *copy), capture(event.original, *original));
  }
  for (const PayloadCopy& event : s.events) RETURN_IF_ERROR(s.decide_one(event));
  return absl::OkStatus();
}

absl::Status Rewriter::State::decide_one(const PayloadCopy& event) {
  const std::optional<WarcPlace> copy = place_of(event.copy), original = place_of(event.original);
  if (!copy) {
    ++report.kept[!event.copy.offset            ? kNoPlace
                  : files.is_in_arc(event.copy) ? "it is in an ARC file, which has no revisit records"
                                                : "its WARC file does not exist"];
    return absl::OkStatus();
  }
  if (replaced.contains(*copy)) return absl::OkStatus();  // this record was already replaced
  if (!original) {
    return stays(*copy, !event.original.offset            ? fmt::format("its original: {}", kNoPlace)
                        : files.is_in_arc(event.original) ? "its original is in an ARC file"
                                                          : "the original's WARC file does not exist");
  }
  if (*original == *copy) return stays(*copy, "it is the original itself");
  const Placed by_event{&event.original, *original}, placed_copy{&event.copy, *copy};
  const Placed first = placed.at(groups.earliest(absl::HashOf(*copy)));
  // A capture earlier than the original that the event names becomes the original of both.
  if (first.place != *original && !replaced.contains(*original) && files.chosen(original->file)) {
    ASSIGN_OR_RETURN(const std::string why, decide(by_event, first));
    report.turned += why.empty() ? 1 : 0;
  }
  if (first.place == *copy) {
    if (replaced.contains(*original)) return absl::OkStatus();
    return stays(*copy, files.chosen(original->file)
                            ? "its original is later, and stays"
                            : "its original is later, and the original's file is not rewritten");
  }
  ASSIGN_OR_RETURN(std::string why, decide(placed_copy, first));
  if (!why.empty() && first.place != *original) {
    ASSIGN_OR_RETURN(why, decide(placed_copy, by_event));
  }
  return why.empty() ? absl::OkStatus() : stays(*copy, why);
}

absl::Status Rewriter::State::stays(const WarcPlace& copy, std::string_view why) {
  if (files.chosen(copy.file)) ++report.kept[std::string(why)];
  return absl::OkStatus();
}

// Returns why the copy stays, or an empty string if it is replaced.
absl::StatusOr<std::string> Rewriter::State::decide(const Placed& copy, const Placed& original) {
  if (records.is_revisit(copy.place)) return "it is a revisit record already";
  if (replaced.contains(original.place)) return "its original is a copy, too, and was replaced";
  if (needed.contains(copy.place)) return "it is the original of other copies";
  absl::Status status = compare(*copy.record, copy.place, *original.record, original.place);
  if (absl::IsResourceExhausted(status)) return status;
  return std::string(std_sv(status.message()));
}

// The place that the event names, or the one to which another run has moved the record since.
std::optional<WarcPlace> Rewriter::State::place_of(const NamedRecord& record) {
  const std::optional<WarcPlace> named = files.find(record);
  if (record.record_id.empty() || (named && records.is_at(*named, record.record_id))) return named;
  const std::optional<WarcPlace> found = records.find(record.record_id);
  return found ? found : named;
}

// Replaces the copy, or returns why it stays as the message of an error.
absl::Status Rewriter::State::compare(const NamedRecord& named, const WarcPlace& copy,
                                      const NamedRecord& named_original, const WarcPlace& original) {
  const Original& kept = original_at(original);
  if (!kept.wrong.empty()) return invalid("its original: " + kept.wrong);
  ASSIGN_OR_RETURN(const WarcRecord kept_record, parse_warc_record(kept.head));
  if (!named_original.is(kept_record)) {
    problem(fmt::format("{}: byte {}: another record than the event names", files.file(original.file).shown(),
                        original.offset));
    return invalid("the original's place holds another record");
  }
  const InputFile& file = files.file(copy.file);
  const absl::StatusOr<RecordAt> at = read_record_at(file, copy.offset, digester);
  if (!at.ok()) {
    problem(fmt::format("{}: byte {}: {}", file.shown(), copy.offset, std_sv(at.status().message())));
    return invalid("it cannot be read");
  }
  ASSIGN_OR_RETURN(const WarcRecord record, parse_warc_record(at->head));
  if (!named.is(record)) {
    problem(fmt::format("{}: byte {}: another record than the event names", file.shown(), copy.offset));
    return invalid("its place holds another record");
  }
  if (const std::string_view why = no_response(*at, record); !why.empty()) return invalid(std::string(why));
  if (!at->alone) return invalid("other records are packed together with it");
  if (at->body_bytes != kept.body_bytes || at->body != kept.body)
    return invalid("its payload is stored in other bytes than the original's");
  if (parse_time(kept_record.date) > parse_time(record.date)) return invalid("its original is later");
  if (records.answers_post(kept_record, kept.head))
    return invalid("its original answers a POST request, so players do not find it by its URI");
  if (records.is_referred_to(record, named.digest, kept_record))
    return invalid("a revisit record of the crawler refers to it");
  if (record.record_id == kept_record.record_id ||
      (record.target_uri == kept_record.target_uri && record.date == kept_record.date))
    return invalid("its original has the same id, or URI and date, by which players look it up");
  ASSIGN_OR_RETURN(const std::string revisit,
                   revisit_of_record(at->head, at->http_head, kept_record, named.digest));
  std::string packed = revisit;
  if (const std::unique_ptr<Packer> packer = make_packer(file.packing); packer != nullptr) {
    packed.clear();
    RETURN_IF_ERROR(packer->pack(revisit, packed));
  }
  if (packed.size() >= at->end - copy.offset) return invalid("a revisit record would not be smaller");
  if (files.chosen(copy.file)) {
    const absl::StatusOr<uint64_t> place = spill.append(packed);
    if (!place.ok()) return absl::ResourceExhaustedError(place.status().message());
    replacements[copy.file].push_back({copy.offset, at->end, *place, packed.size()});
    const absl::StatusOr<HttpResponse> http = parse_http_response(at->http_head);
    const InputFile& other = files.file(original.file);
    if (!file.member.empty() && other.path != file.path) ++report.needs[file.path][other.path];
    const uint64_t stored = at->end - copy.offset;
    for (RewritePart* part : {&report.hosts[site_of(record.target_uri)],
                              &report.types[type_of(http.ok() ? http->content_type : std::string_view())]}) {
      ++part->replaced;
      part->bytes += stored;
      part->saved += stored - packed.size();
    }
  }
  replaced.insert(copy);
  replaced_keys.insert(lookup_of(record.target_uri, named.digest));
  needed.insert(original);
  return absl::OkStatus();
}

const Rewriter::State::Original& Rewriter::State::original_at(const WarcPlace& place) {
  const auto [entry, fresh] = originals.try_emplace(place);
  Original& out = entry->second;
  if (!fresh) return out;
  const InputFile& file = files.file(place.file);
  const absl::StatusOr<RecordAt> at = read_record_at(file, place.offset, digester);
  if (!at.ok()) {
    problem(fmt::format("{}: byte {}: {}", file.shown(), place.offset, std_sv(at.status().message())));
    out.wrong = "it cannot be read";
    return out;
  }
  out.head = at->head;
  out.body_bytes = at->body_bytes;
  out.body = at->body;
  const absl::StatusOr<WarcRecord> record = parse_warc_record(out.head);
  out.wrong = record.ok() ? no_response(*at, *record) : std_sv(record.status().message());
  return out;
}

absl::Status Rewriter::write(const std::vector<std::string>& others) {
  RETURN_IF_ERROR(decide_all());
  State& s = *state_;
  std::set<std::pair<dev_t, ino_t>> read;
  struct stat info = {};
  for (const std::string& path : others) {
    if (::stat(path.c_str(), &info) == 0) read.emplace(info.st_dev, info.st_ino);
  }
  for (size_t i = 0; i < s.files.size(); ++i) {
    if (::stat(s.files.file(i).path.c_str(), &info) == 0) read.emplace(info.st_dev, info.st_ino);
  }
  std::map<std::string, size_t> outputs = s.outputs({});
  if (outputs.empty()) outputs = s.outputs(s.common_folder());
  for (const auto& [name, i] : outputs) {
    const InputFile& file = s.files.file(i);
    std::string whole = name;
    if (s.wacz && !file.member.empty()) {
      const std::string parts = name.substr(0, name.size() - file.member.size() - 1);
      s.packages.emplace(parts, file.path);
      whole = parts.substr(0, parts.size() - kParts.size());
    }
    if (::stat(whole.c_str(), &info) == 0 && read.contains({info.st_dev, info.st_ino})) {
      return invalid(fmt::format("{} would overwrite an input; name another directory", whole));
    }
  }
  remove_left_over(outputs);
  for (const auto& [to, i] : outputs) RETURN_IF_ERROR(s.write_file(s.files.file(i), to, s.settle(i)));
  return absl::OkStatus();
}

// The deepest folder that holds all files which are written again.
fs::path Rewriter::State::common_folder() const {
  std::optional<fs::path> common;
  for (size_t i = 0; i < files.size(); ++i) {
    if (!files.chosen(i)) continue;
    const fs::path folder = fs::absolute(files.file(i).path).lexically_normal().parent_path();
    if (!common) common = folder;
    fs::path both;
    for (auto a = common->begin(), b = folder.begin(); a != common->end() && b != folder.end() && *a == *b;
         ++a, ++b)
      both /= *a;
    common = both;
  }
  return common.value_or(fs::path());
}

// The files that are written again, by the paths of their outputs: by name, or by the path below `folder` if
// one is given. Empty if two would have the same.
std::map<std::string, size_t> Rewriter::State::outputs(const fs::path& folder) const {
  std::map<std::string, size_t> out;
  for (size_t i = 0; i < files.size(); ++i) {
    if (!files.chosen(i)) continue;
    const InputFile& file = files.file(i);
    const fs::path below = folder.empty()
                               ? fs::path(file.path).filename()
                               : fs::absolute(file.path).lexically_normal().lexically_relative(folder);
    const fs::path to = fs::path(directory) / below;
    const fs::path folder_of_parts = wacz ? fs::path(to.string() + kParts) : to;
    if (!out.emplace(file.member.empty() ? to.string() : (folder_of_parts / file.member).string(), i).second)
      return {};
  }
  return out;
}

absl::Status Rewriter::State::write_file(const InputFile& file, const std::string& to,
                                         const std::vector<Replacement>& of_it) {
  const Fd fd(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.ok()) return io_error(file.path);
  std::error_code error;
  fs::create_directories(fs::path(to).parent_path(), error);
  if (error) return io_error(to, error.value());
  ASSIGN_OR_RETURN(const std::unique_ptr<WholeOutput> out, WholeOutput::open_unpacked(to));
  written.push_back(to);
  uint64_t at = 0, saved = 0;
  for (const Replacement& r : of_it) {
    new_records.emplace(to, r.begin - saved);
    RETURN_IF_ERROR(
        copy_range(fd.get(), file.shown(), file.part.begin + at, file.part.begin + r.begin, *out));
    RETURN_IF_ERROR(copy_range(spill.fd(), "revisit records", r.place, r.place + r.size, *out));
    at = r.end;
    saved += r.end - r.begin - r.size;
  }
  RETURN_IF_ERROR(
      copy_range(fd.get(), file.shown(), file.part.begin + at, file.part.begin + file.size, *out));
  return out->finish();
}

// The replacements in a file, in order, as far as they do not overlap. Counts them.
std::vector<Rewriter::State::Replacement> Rewriter::State::settle(size_t number) {
  std::vector<Replacement> all = std::move(replacements[number]), out;
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  uint64_t saved = 0;
  for (const Replacement& r : all) {
    // Only an event that points into another record causes this.
    if (!out.empty() && r.begin < out.back().end) {
      ++report.kept["it shares bytes with another copy"];
      continue;
    }
    saved += r.end - r.begin - r.size;
    out.push_back(r);
  }
  ++report.files;
  report.bytes += files.file(number).size;
  report.written += files.file(number).size - saved;
  report.replaced += out.size();
  return out;
}

absl::Status Rewriter::estimate() {
  RETURN_IF_ERROR(decide_all());
  for (size_t i = 0; i < state_->files.size(); ++i) {
    if (state_->files.chosen(i)) state_->settle(i);
  }
  return absl::OkStatus();
}

absl::Status Rewriter::pack() {
  for (const auto& [parts, original] : state_->packages) {
    std::vector<std::string> needs;
    for (const auto& [path, count] : state_->report.needs[original]) needs.push_back(path);
    const absl::Status packed =
        write_wacz(original, parts, needs, parts.substr(0, parts.size() - kParts.size()));
    if (absl::IsFailedPrecondition(packed)) {
      state_->problem(std::string(packed.message()));
      continue;
    }
    RETURN_IF_ERROR(packed);
    ++state_->report.packed;
    std::error_code error;
    fs::remove_all(parts, error);
    if (error) return io_error(parts, error.value());
  }
  return absl::OkStatus();
}

void Rewriter::add_other(const OtherCopy& copy) {
  ++state_->report.hosts[site_of(copy.url)].others;
  ++state_->report.types[type_of(copy.content_type)].others;
}

absl::Status Rewriter::verify() {
  State& s = *state_;
  std::vector<std::string> problems;
  std::vector<InputFile> all;
  if (!s.written.empty()) {
    ASSIGN_OR_RETURN(const WarcSet written, WarcSet::of(s.written, {}, problems));
    for (size_t i = 0; i < written.size(); ++i) all.push_back(written.file(i));
  }
  for (size_t i = 0; i < s.files.size(); ++i) {
    if (!s.files.chosen(i)) all.push_back(s.files.file(i));
  }
  const auto dated = [](size_t lookup, std::string_view date) {
    return absl::HashOf(lookup, cdxj_time(date));
  };
  struct Wanted {
    size_t key = 0;
    bool made = false;  // by this run
    std::string place, original;
  };
  std::vector<Wanted> wanted;
  absl::flat_hash_set<size_t> captures;  // with their dates and without
  for (const InputFile& file : all) {
    const auto visit = [&](const Record& stored) {
      const absl::StatusOr<WarcRecord> record = parse_warc_record(stored.value);
      if (!record.ok()) return;
      if (record->type == WarcType::response &&
          !s.records.answers_post(*record, stored.value.substr(0, record->head_bytes))) {
        std::string digest(record->payload_digest);
        if (digest.empty()) digest = payload_digest_of(*record, stored.rest.get());
        const size_t lookup = lookup_of(record->target_uri, digest);
        captures.insert({lookup, dated(lookup, record->date)});
      }
      const bool made = stored.warc_offset && s.new_records.erase({file.shown(), *stored.warc_offset}) > 0;
      if (!made && record->type != WarcType::revisit) return;
      const std::string_view uri = record->refers_to_uri.empty() ? record->target_uri : record->refers_to_uri;
      const size_t lookup = lookup_of(uri, record->payload_digest);
      // A crawler's revisit record finds what it found before, unless that was replaced.
      if (!made && !s.replaced_keys.contains(lookup)) return;
      wanted.push_back(
          {made ? dated(lookup, record->refers_to_date) : lookup, made,
           fmt::format("{}: byte {}", file.shown(), stored.warc_offset.value_or(0)),
           fmt::format("{} of {} with {}", uri, record->refers_to_date, record->payload_digest)});
    };
    RETURN_IF_ERROR(each_warc_record(file, visit, problems));
  }
  for (std::string& problem : problems) s.problem(std::move(problem));
  for (const Wanted& one : wanted) {
    if (captures.contains(one.key)) {
      s.report.verified += one.made ? 1 : 0;
    } else {
      s.problem(
          fmt::format("{}: the original of this revisit record is not found: {}", one.place, one.original));
    }
  }
  for (const auto& [path, offset] : s.new_records)
    s.problem(fmt::format("{}: byte {}: there is no revisit record", path, offset));
  return absl::OkStatus();
}

}  // namespace doppel
