#include "engine/window.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/status.h"

namespace doppel {

Newcomers::Newcomers(int num_perm, Banding banding, int min_equal, const uint64_t& lowest_live)
    : num_perm_(num_perm), banding_(banding), min_equal_(min_equal), lowest_live_(lowest_live) {}

void Newcomers::start_batch(Cut batch, size_t documents) {
  batch_ = batch;
  kept_ = false;
  copies_.clear();
  entries_.clear();
  listings_.clear();
  digests_.clear();
  payloads_.clear();
  ids_.clear();
  seen_.clear();
  prints_.clear();
  print_links_.clear();
  print_heads_.clear();
  size_t wanted = std::bit_ceil(std::max<size_t>(documents * banding_.bands * 2, 64));
  heads_.assign(wanted, kEnd);
  head_mask_ = wanted - 1;
}

void Newcomers::add(const Entry& entry, const uint64_t* band_keys, std::span<const uint64_t> prints) {
  DOPPEL_CHECK(entries_.empty() || entry.seq == entries_.back().seq + 1,
               "the numbers of a batch's originals ascend without gaps", entry.seq, entries_.size());
  auto number = static_cast<uint32_t>(entries_.size());
  entries_.push_back(entry);
  seen_.push_back(0);
  digests_[entry.digest.low] = number;
  if (entry.payload != Digest()) payloads_[entry.payload.low] = number;
  if (entry.id_tag != 0) {
    const auto [last, first] = ids_.try_emplace(entry.id_tag, number);
    entries_.back().same_id = first ? kEnd : std::exchange(last->second, number);
  }
  entries_.back().prints_begin = prints_.size();
  prints_.insert(prints_.end(), prints.begin(), prints.end());
  entries_.back().prints_end = prints_.size();
  if (print_heads_.empty() && !prints.empty()) {
    print_heads_.assign(2 * heads_.size(), kEnd);
    print_filter_.assign(kFilterBits / 64, 0);
  }
  for (const uint64_t print : prints) {
    print_filter_[filter_bit(print) / 64] |= uint64_t{1} << filter_bit(print) % 64;
    uint32_t& head = print_heads_[print & (print_heads_.size() - 1)];
    print_links_.emplace_back(number, head);
    head = static_cast<uint32_t>(print_links_.size() - 1);
  }
  if (entry.slices == nullptr) return;
  for (int band = 0; band < banding_.bands; ++band) {
    if ((entry.mask[band / 32] >> (band % 32) & 1) == 0) continue;
    uint32_t& head = heads_[band_keys[band] & head_mask_];
    listings_.push_back({band_keys[band], number, head});
    head = static_cast<uint32_t>(listings_.size() - 1);
  }
}

const Newcomers::Entry* Newcomers::find_digest(const Digest& digest) const {
  auto found = digests_.find(digest.low);
  if (found == digests_.end()) return nullptr;
  const Entry& entry = entries_[found->second];
  return entry.digest == digest && live(entry) ? &entry : nullptr;
}

const Newcomers::Entry* Newcomers::find_payload(const Digest& payload) const {
  auto found = payloads_.find(payload.low);
  if (found == payloads_.end()) return nullptr;
  const Entry& entry = entries_[found->second];
  return entry.payload == payload && live(entry) ? &entry : nullptr;
}

void Newcomers::find_id(uint64_t id_tag, const std::function<void(const Entry&)>& visit) const {
  const auto last = ids_.find(id_tag);
  if (last == ids_.end()) return;
  absl::InlinedVector<uint32_t, 8> found;
  for (uint32_t at = last->second; at != kEnd; at = entries_[at].same_id) {
    if (live(entries_[at])) found.push_back(at);
  }
  for (auto at = found.rbegin(); at != found.rend(); ++at) visit(entries_[*at]);
}

void Newcomers::find(const uint8_t* slices, const uint64_t* band_keys, const std::vector<bool>& sees,
                     std::vector<Verified>& candidates, std::span<uint32_t> listed) {
  ++stamp_;
  const int rows = banding_.rows;
  for (int band = 0; band < banding_.bands; ++band) {
    for (uint32_t at = heads_[band_keys[band] & head_mask_]; at != kEnd; at = listings_[at].next) {
      if (listings_[at].key != band_keys[band]) continue;
      const Entry& entry = entries_[listings_[at].entry];
      if (!live(entry) || !sees[entry.owner]) continue;
      if (std::memcmp(entry.slices + band * rows, slices + band * rows, rows) != 0) continue;
      ++listed[band];
      if (seen_[listings_[at].entry] == stamp_) continue;
      seen_[listings_[at].entry] = stamp_;
      int equal = equal_slices(entry.slices, slices, num_perm_);
      if (equal >= min_equal_) candidates.push_back({.seq = entry.seq, .equal = equal});
    }
  }
}

void Newcomers::find_prints(std::span<const Print> prints, const std::vector<bool>& sees,
                            const std::function<void(uint32_t number, const Entry&)>& visit) const {
  if (print_heads_.empty()) return;
  uint32_t next = 0;
  for (const Print& print : prints) {
    const bool repeated = print.number != next;
    next += repeated ? 0 : 1;
    if (repeated || (print_filter_[filter_bit(print.key) / 64] >> filter_bit(print.key) % 64 & 1) == 0)
      continue;
    for (uint32_t at = print_heads_[print.key & (print_heads_.size() - 1)]; at != kEnd;
         at = print_links_[at].second) {
      const Entry& entry = entries_[print_links_[at].first];
      if (prints_[at] == print.key && live(entry) && sees[entry.owner]) visit(print.number, entry);
    }
  }
}

Newcomers::Entry* Newcomers::at(Seq seq) {
  if (entries_.empty() || seq < entries_.front().seq || seq > entries_.back().seq) return nullptr;
  return &entries_[seq - entries_.front().seq];
}

absl::Status Newcomers::keep() {
  if (std::exchange(kept_, true)) return absl::OkStatus();
  for (Entry& entry : entries_) {
    Copy& copy = *copies_.emplace_back(std::make_unique<Copy>());
    copy.document.content = entry.document->content;
    copy.document.set_left_out = entry.document->set_left_out;
    copy.document.metadata = entry.metadata;
    RETURN_IF_ERROR(entry.set->make(*entry.document));
    copy.set.made = true;
    copy.set.set = entry.set->set;
    if (entry.slices != nullptr) {
      copy.slices.assign(entry.slices, entry.slices + num_perm_);
      entry.slices = copy.slices.data();
    }
    entry.metadata = copy.document.metadata;
    entry.document = &copy.document;
    entry.set = &copy.set;
  }
  return absl::OkStatus();
}

Window::Window(int num_perm, Banding banding, int min_equal, Owners owners)
    : num_perm_(num_perm), banding_(banding), min_equal_(min_equal), owners_(std::move(owners)) {
  batches_.push_back(fresh());
}

std::unique_ptr<Newcomers> Window::fresh() {
  if (spare_.empty()) return std::make_unique<Newcomers>(num_perm_, banding_, min_equal_, lowest_live_);
  std::unique_ptr<Newcomers> out = std::move(spare_.back());
  spare_.pop_back();
  return out;
}

void Window::set_owners(const Owners& owners) {
  if (owners == owners_) return;
  owners_ = owners;
  for (const auto& batch : batches_)
    for (Newcomers::Entry& entry : batch->entries()) entry.owner = owners_.of(entry.seq);
}

void Window::start_batch(Cut batch, size_t documents, Cut covered) {
  while (!batches_.empty() && (batches_.front()->batch() < covered || batches_.front()->entries().empty())) {
    spare_.push_back(std::move(batches_.front()));
    batches_.pop_front();
  }
  for (const auto& kept : batches_)
    DOPPEL_CHECK(kept->kept() && kept->batch() < batch, "a batch that answers do not cover was kept",
                 kept->batch(), covered, batch);
  while (!died_.empty() && died_.front().batch < covered) {
    dead_.erase(died_.front().seq);
    died_.pop_front();
  }
  batches_.push_back(fresh());
  batches_.back()->start_batch(batch, documents);
}

absl::Status Window::keep() { return batches_.back()->keep(); }

void Window::add(Newcomers::Entry entry, const uint64_t* band_keys, std::span<const uint64_t> prints) {
  entry.owner = owners_.of(entry.seq);
  batches_.back()->add(entry, band_keys, prints);
}

size_t Window::originals() const {
  size_t out = 0;
  for (const auto& batch : batches_) out += batch->entries().size();
  return out;
}

const Newcomers::Entry* Window::find_digest(const Digest& digest) const {
  for (const auto& batch : batches_)
    if (const Newcomers::Entry* found = batch->find_digest(digest)) return found;
  return nullptr;
}

const Newcomers::Entry* Window::find_payload(const Digest& payload) const {
  for (const auto& batch : batches_)
    if (const Newcomers::Entry* found = batch->find_payload(payload)) return found;
  return nullptr;
}

void Window::find_id(uint64_t id_tag, const std::function<void(const Newcomers::Entry&)>& visit) const {
  for (const auto& batch : batches_) batch->find_id(id_tag, visit);
}

void Window::find(const uint8_t* slices, const uint64_t* band_keys, std::span<const Answer> answers,
                  std::vector<Verified>& candidates, std::span<uint32_t> listed) {
  for (const auto& batch : batches_)
    if (!batch->entries().empty()) batch->find(slices, band_keys, sees(*batch, answers), candidates, listed);
}

void Window::find_prints(std::span<const Print> prints, std::span<const Answer> answers,
                         const std::function<void(uint32_t number, const Newcomers::Entry& entry)>& visit) {
  for (const auto& batch : batches_)
    if (!batch->entries().empty()) batch->find_prints(prints, sees(*batch, answers), visit);
}

const std::vector<bool>& Window::sees(const Newcomers& batch, std::span<const Answer> answers) {
  sees_.resize(answers.size());
  for (size_t owner = 0; owner < answers.size(); ++owner)
    sees_[owner] = batch.batch() >= answers[owner].as_of;
  return sees_;
}

const Newcomers::Entry* Window::at(Seq seq) const {
  for (const auto& batch : batches_)
    if (const Newcomers::Entry* entry = batch->at(seq)) return entry;
  return nullptr;
}

bool Window::dead(Seq seq) const { return seq < lowest_live_ || (!dead_.empty() && dead_.contains(seq)); }

std::vector<Seq> Window::died() const {
  std::vector<Seq> out;
  out.reserve(died_.size());
  for (const Death& death : died_) out.push_back(death.seq);
  return out;
}

bool Window::bury(Seq seq) {
  if (dead(seq)) return false;
  for (const auto& batch : batches_)
    if (Newcomers::Entry* entry = batch->at(seq)) entry->removed = true;
  dead_.insert(seq);
  died_.push_back({seq, now()});
  ++deaths_;
  // Answers never cover the current batch.
  if (batches_.back()->at(seq) == nullptr) last_death_ = now();
  return true;
}

void Window::bury_below(Seq lowest_live) {
  if (lowest_live <= lowest_live_) return;
  lowest_live_ = lowest_live;
  last_death_ = now();
  ++deaths_;
}

}  // namespace doppel
