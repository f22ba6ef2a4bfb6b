#include "engine/window.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/status.h"

namespace doppel {

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
