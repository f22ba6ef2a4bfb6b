#include "commands/scan_report.h"

#include <sys/stat.h>

#include <algorithm>
#include <memory>
#include <tuple>
#include <utility>

#include "base/standard_streams.h"
#include "base/status.h"
#include "fmt/format.h"
#include "insight/show.h"
#include "insight/text_page.h"
#include "records/events.h"
#include "records/metadata.h"

namespace doppel {
namespace {

constexpr size_t kPlacesCounted = 20'000;
constexpr size_t kGroupsNamed = 4000;
constexpr size_t kRelatedShown = 30;
constexpr size_t kNameKept = 1000;  // bytes

// The folder of a file that is one document; a file of many documents is a place of its own.
std::string_view place_of_file(const Record& record) {
  if (!record.whole_file) return record.source == "-" ? "stdin" : record.source;
  const size_t slash = record.source.rfind('/');
  return slash == std::string_view::npos ? "." : slash == 0 ? "/" : record.source.substr(0, slash);
}

PageDocument page_document(const Metadata& metadata) {
  return {.name = std::string(utf8_prefix(metadata.name(), kNameKept)),
          .event_id = metadata.event_id(),
          .text = {}};
}

}  // namespace

uint64_t bytes_of(const Record& record) {
  if (record.pieces == nullptr) return record.value.size();
  struct stat info = {};
  return ::stat(std::string(record.source).c_str(), &info) == 0 ? static_cast<uint64_t>(info.st_size) : 0;
}

void Places::add(std::string_view name, uint64_t documents, uint64_t copies, uint64_t bytes) {
  const std::string key(utf8_prefix(name, kNameKept));
  if (places_.size() >= kPlacesCounted && !places_.contains(key)) give_up_half();
  PagePlace& place = places_[key];
  place.documents += documents;
  place.copies += copies;
  place.bytes += bytes;
}

void Places::give_up_half() {
  complete_ = false;
  std::vector<std::pair<uint64_t, std::string>> sizes;
  sizes.reserve(places_.size());
  for (const auto& [name, place] : places_) sizes.emplace_back(place.documents, name);
  std::sort(sizes.begin(), sizes.end());
  for (size_t i = 0; i < sizes.size() / 2; ++i) places_.erase(sizes[i].second);
}

PagePlaces Places::top(size_t most) const {
  PagePlaces out{.most = {}, .others = 0, .complete = complete_};
  for (const auto& [name, place] : places_) out.most.emplace_back(place).name = name;
  std::sort(out.most.begin(), out.most.end(), [](const PagePlace& a, const PagePlace& b) {
    return std::tuple(b.bytes, b.documents, std::string_view(a.name)) <
           std::tuple(a.bytes, a.documents, std::string_view(b.name));
  });
  if (out.most.size() > most) {
    out.others = out.most.size() - most;
    out.most.resize(most);
  }
  return out;
}

absl::Status ScanReport::add(const Decided& decided) {
  Metadata document;
  for (size_t i = 0; i < decided.batch.records.size(); ++i) {
    const Outcome& outcome = decided.work.resolved.outcomes[i];
    const bool copy = outcome.verdict == Verdict::duplicate;
    if (!copy && outcome.verdict != Verdict::unique) continue;
    const Record& record = decided.batch.records[i];
    RETURN_IF_ERROR(decode_metadata(decided.work.sign.documents[i].metadata, document));
    const uint64_t bytes = bytes_of(record);
    bytes_ += bytes;
    folders_.add(place_of_file(record), 1, copy ? 1 : 0, copy ? bytes : 0);
    const std::string host = host_of(document.url.empty() ? document.id : document.url);
    if (!host.empty()) hosts_.add(host, 1, copy ? 1 : 0, copy ? bytes : 0);
    if (copy) {
      RETURN_IF_ERROR(add_copy(decided, i, document, bytes));
    } else if (!outcome.related.empty() && related_.size() < kRelatedShown) {
      RETURN_IF_ERROR(add_related(outcome, document));
    }
  }
  return absl::OkStatus();
}

absl::Status ScanReport::add_copy(const Decided& decided, size_t i, const Metadata& document,
                                  uint64_t bytes) {
  const Outcome& outcome = decided.work.resolved.outcomes[i];
  copied_bytes_ += bytes;
  Count& count = counts_[outcome.seq];
  ++count.copies;
  count.exact += outcome.kind == Kind::exact ? 1 : 0;
  count.bytes += bytes;
  const auto [found, fresh] = named_.try_emplace(outcome.seq);
  Named& group = found->second;
  if (fresh) {
    Metadata original;
    RETURN_IF_ERROR(decode_metadata(outcome.original, original));
    group.original = utf8_prefix(original.name(), kNameKept);
    group.event_id = original.event_id();
  }
  if (takes_copy(group.first, outcome.kind))
    group.first.push_back({page_document(document), outcome.kind, similarity_ppm(outcome.similarity)});
  if (named_.size() > kGroupsNamed) forget_small();
  return absl::OkStatus();
}

absl::Status ScanReport::add_related(const Outcome& outcome, const Metadata& document) {
  const Related& related = outcome.related.front();
  Metadata original;
  RETURN_IF_ERROR(decode_metadata(related.original, original));
  related_.push_back({.document = page_document(document),
                      .original = page_document(original),
                      .relation = related.relation,
                      .of_document_ppm = similarity_ppm({related.shared, related.of_document}),
                      .of_original_ppm = similarity_ppm({related.shared, related.of_original})});
  return absl::OkStatus();
}

bool ScanReport::before(Seq a, Seq b) const {
  const Count &first = counts_.at(a), &second = counts_.at(b);
  return std::tuple(second.copies, second.bytes, a) < std::tuple(first.copies, first.bytes, b);
}

// A group that is forgotten here gets its name again with its next copy, so the page has all names that it
// shows: those of groups with more copies than thousands of others.
void ScanReport::forget_small() {
  std::vector<Seq> order;
  order.reserve(named_.size());
  for (const auto& [seq, group] : named_) order.push_back(seq);
  const auto half = order.begin() + static_cast<ptrdiff_t>(order.size() / 2);
  std::nth_element(order.begin(), half, order.end(), [&](Seq a, Seq b) { return before(a, b); });
  for (auto at = half; at != order.end(); ++at) named_.erase(*at);
}

ScanPage ScanReport::page(const Counters& c) const {
  ScanPage page;
  page.unique = c.unique;
  page.exact = c.exact;
  page.near = c.near;
  page.partial = c.partial;
  page.documents = c.unique + c.duplicates();
  page.bytes = bytes_;
  page.copied_bytes = copied_bytes_;
  page.counts = c.related;
  page.related = related_;
  page.folders = folders_.top(kScanPlaces);
  page.hosts = hosts_.top(kScanPlaces);

  uint64_t own = 0;  // originals of this run that have copies
  std::vector<uint64_t> copies;
  copies.reserve(counts_.size());
  for (const auto& [seq, count] : counts_) {
    own += seq >= first_ ? 1 : 0;
    copies.push_back(count.copies);
    page.other_bytes += count.bytes;
    page.other_copies += count.copies;
  }
  page.times = times_of(copies, c.unique - std::min(c.unique, own));

  std::vector<Seq> order;
  order.reserve(named_.size());
  for (const auto& [seq, group] : named_) order.push_back(seq);
  std::sort(order.begin(), order.end(), [&](Seq a, Seq b) { return before(a, b); });
  order.resize(std::min(order.size(), kScanGroups));
  for (const Seq seq : order) {
    const Count& count = counts_.at(seq);
    const Named& named = named_.at(seq);
    page.groups.push_back({.original = {named.original, named.event_id, {}},
                           .copies = count.copies,
                           .exact = count.exact,
                           .bytes = count.bytes,
                           .first = named.first});
    page.other_bytes -= count.bytes;
    page.other_copies -= count.copies;
  }
  page.other_groups = counts_.size() - order.size();

  const auto not_compared = [&](std::string_view why, uint64_t number) {
    if (number != 0) page.not_compared.emplace_back(why, number);
  };
  for (const auto& [reason, number] : c.unscored_by) not_compared("no text of their own: " + reason, number);
  for (const auto& [reason, number] : c.skipped_by) not_compared("skipped: " + reason, number);
  not_compared("rejected", c.rejected);
  not_compared("files that could not be read, or not to their end", c.problems);
  return page;
}

absl::Status read_texts(Source& source, const FormatOptions& format, ScanPage& page) {
  absl::flat_hash_map<std::string, std::vector<PageDocument*>> wanted;
  const auto want = [&](PageDocument& document) { wanted[document.event_id].push_back(&document); };
  for (size_t i = 0; i < std::min(page.groups.size(), kScanGroupsInFull); ++i) {
    want(page.groups[i].original);
    for (PageCopy& copy : page.groups[i].first)
      if (copy.kind != Kind::exact) want(copy.document);
  }
  for (PageRelated& related : page.related) {
    want(related.document);
    want(related.original);
  }
  const std::unique_ptr<Decoder> decoder = make_decoder(format);
  Batch batch;
  while (!wanted.empty() && !stop_asked()) {
    ASSIGN_OR_RETURN(const bool more, source.next(batch));
    if (!more) break;
    for (const Record& record : batch.records) {
      const Metadata place{.source = record.source, .partition = record.partition, .offset = record.offset};
      const auto found = wanted.find(place.event_id());
      if (found == wanted.end()) continue;
      Document document;
      if (record.pieces == nullptr && decoder->decode(record, document).ok()) {
        for (PageDocument* shown : found->second) shown->text = utf8_prefix(document.text, kScanTextBytes);
      }
      wanted.erase(found);
    }
  }
  return absl::OkStatus();
}

}  // namespace doppel
