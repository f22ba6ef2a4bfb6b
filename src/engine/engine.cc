#include "engine/engine.h"

#include <sys/mman.h>

#include <algorithm>
#include <functional>
#include <thread>
#include <vector>

#include "base/check.h"
#include "base/faults.h"
#include "base/status.h"
#include "engine/bodies.h"

namespace doppel {

MemoryAhead::~MemoryAhead() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void MemoryAhead::take(void* at, size_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    pieces_.emplace_back(static_cast<char*>(at), bytes);
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  }
  changed_.notify_all();
}

void MemoryAhead::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return pieces_.empty(); });
}

void MemoryAhead::run() {
  constexpr size_t kPiece = size_t{2} << 20;  // another thread may change the mapping between two calls
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stop_ || !pieces_.empty(); });
    if (stop_) return;
    const auto [at, bytes] = pieces_.front();
    lock.unlock();
#ifdef MADV_POPULATE_WRITE
    for (size_t done = 0; done < bytes; done += kPiece)
      (void)madvise(at + done, std::min(kPiece, bytes - done), MADV_POPULATE_WRITE);
#endif
    lock.lock();
    pieces_.pop_front();
    if (pieces_.empty()) changed_.notify_all();
  }
}

CandidateIndexOptions index_options(const EngineOptions& o) {
  return {.num_perm = o.scheme.num_perm,
          .banding = o.rule.banding,
          .min_equal = o.rule.min_equal,
          .max_listed = o.rule.max_listed,
          .key = o.scheme.key,
          .initial_capacity = o.initial_capacity,
          .track_ids = o.track_ids,
          .track_payloads = static_cast<bool>(o.payload_of),
          .track_prints = o.rule.relations.on(),
          .passage = o.rule.relations.passage,
          .rows_max = o.rows_max};
}

std::vector<ShardSet> shares_of(const EngineOptions& options) {
  if (options.elsewhere) return {};
  if (options.own) return {*options.own};
  if (options.shards <= 1) return {ShardSet()};
  std::vector<ShardSet> out;
  const auto shards = static_cast<uint32_t>(options.shards);
  out.reserve(shards);
  for (uint32_t shard = 0; shard < shards; ++shard) out.emplace_back(shards, std::vector<uint32_t>{shard});
  return out;
}

namespace {

// The owners whose answers this process uses, if it decides by its own index.
Owners owners_of(const EngineOptions& options) {
  return options.elsewhere || options.own ? Owners() : Owners(shares_of(options));
}

CandidateIndexOptions with_memory(CandidateIndexOptions options, MemoryAhead& memory) {
  options.fresh = [&memory](void* at, size_t bytes) { memory.take(at, bytes); };
  return options;
}

}  // namespace

void Work::resize(size_t documents, const EngineOptions& options) {
  sign.resize(documents, options.scheme.num_perm);
  band_keys.resize(documents * options.rule.banding.bands);
  sets.resize(documents);
  answers.resize(documents * static_cast<size_t>(options.shards));
  forget.clear();
}

Engine::Engine(const EngineOptions& options, Bodies& bodies)
    : options_(options),
      bodies_(bodies),
      originals_(options_.rule, shares_of(options_), with_memory(index_options(options), memory_), bodies,
                 options_.payload_of, options_.segments),
      resolver_(options_.rule, options_.scheme.num_perm, owners_of(options_)) {
  DOPPEL_CHECK(!options_.rule.relations.on() || options_.rule.relations.passage == options_.scheme.passage,
               "prints are signed for the passages of the rule", options_.rule.relations.passage,
               options_.scheme.passage);
}

absl::Status Engine::match(Work& work, size_t begin, size_t end, MatchCounters& counters,
                           const RelateHint* hint) const {
  const int num_perm = options_.scheme.num_perm;
  const int bands = options_.rule.banding.bands;
  for (size_t i = begin; i < end; ++i) {
    work.sets[i].clear();
    if (work.sign.documents[i].content == Content::shingled)
      originals_.band_keys(work.sign.slices.data() + i * num_perm, work.band_keys.data() + i * bands);
  }
  const Answers answers{.all = work.answers,
                        .owners = options_.elsewhere ? work.owners.count() : originals_.shares()};
  if (!options_.elsewhere) {
    RETURN_IF_ERROR(originals_.match({.batch = work.sign,
                                      .band_keys = work.band_keys,
                                      .sets = work.sets,
                                      .answers = answers,
                                      .hint = hint},
                                     begin, end, counters));
  }
  if (options_.rule.verify == Verify::signature || options_.own) return absl::OkStatus();
  for (size_t i = begin; i < end; ++i) {
    // The document will probably be stored by this process.
    const SignedDocument& document = work.sign.documents[i];
    const auto by_owner = answers.of(i);
    if (document.action == SignedDocument::Action::judge &&
        std::none_of(by_owner.begin(), by_owner.end(),
                     [](const Answer& answer) { return answer.describes_any(); }))
      work.sets[i].code(document);
  }
  return absl::OkStatus();
}

absl::Status Engine::resolve(Work& work, const ResolveHelp& help) {
  const std::lock_guard lock(growing_);
  // If originals are elsewhere, their owner has checked that they are live.
  if (!options_.elsewhere) std::erase_if(work.forget, [this](Seq seq) { return !originals_.live(seq); });
  size_t applied = 0;  // number of entries of resolved.removed that are applied
  const Ask ask{.read = help.read, .again = [&](size_t i) { return answer_again(work, i, help, applied); }};
  Answers answers{.all = work.answers, .owners = originals_.shares(), .covered = originals_.cut()};
  if (options_.elsewhere) {
    answers.owners = work.owners.count();
    answers.covered = work.covered;
    resolver_.set_owners(work.owners);
  }
  RETURN_IF_ERROR(resolver_.resolve({.batch = work.sign,
                                     .band_keys = work.band_keys,
                                     .sets = work.sets,
                                     .answers = answers,
                                     .forget = work.forget},
                                    ask, work.resolved));
  if (options_.elsewhere) {
    RETURN_IF_ERROR(resolver_.keep());
  } else {
    check_originals(work.resolved);
  }
  return apply(work, help);
}

absl::Status Engine::answer_again(Work& work, size_t i, const ResolveHelp& help, size_t& applied) {
  if (options_.elsewhere) return help.again(i, resolver_.deaths(), resolver_.hint());
  originals_.apply_deaths(work.resolved, applied);
  applied = work.resolved.removed.size();
  MatchCounters counters;
  return match(work, i, i + 1, counters, &resolver_.hint());
}

absl::Status Engine::follow(Resolved& decided, const ResolveHelp& help) {
  const std::lock_guard lock(growing_);
  const auto bands = static_cast<size_t>(options_.rule.banding.bands);
  followed_keys_.resize(decided.rows.size() * bands);
  decided.places.resize(decided.rows.size());
  std::vector<PodVector<uint64_t>> prints(options_.rule.relations.on() ? decided.rows.size() : 0);
  for (size_t r = 0; r < decided.rows.size(); ++r) {
    StoredRow& row = decided.rows[r];
    decided.places[r] = r;
    if (!prints.empty()) RETURN_IF_ERROR(fill_prints(row, prints[r]));
    if (!originals_.has(row.seq)) continue;
    if (row.removed) decided.removed.push_back({row.seq, RemovalReason::removed});
    if (row.row.slices != nullptr) originals_.band_keys(row.row.slices, followed_keys_.data() + r * bands);
  }
  RETURN_IF_ERROR(originals_.room_for(decided.rows));
  return originals_.apply(decided, followed_keys_, help.threads, help.run);
}

// RESOLVE trusts the answers; this checks them against the index.
void Engine::check_originals(const Resolved& resolved) const {
  const Seq first = originals_.next_seq();
  for (size_t i = 0; i < resolved.outcomes.size(); ++i) {
    const Outcome& outcome = resolved.outcomes[i];
    if (outcome.verdict != Verdict::duplicate || outcome.seq >= first || originals_.live(outcome.seq))
      continue;
    const bool died_since = outcome.seq < resolved.lowest_live ||
                            std::any_of(
                                resolved.removed.begin(), resolved.removed.end(),
                                [&](const Removed& removed) { return removed.seq == outcome.seq; });
    DOPPEL_CHECK(died_since, "an original lived when its copy came", i, outcome.seq, first);
  }
}

absl::Status Engine::apply(Work& work, const ResolveHelp& help) {
  originals_.apply_deaths(work.resolved, 0);
  RETURN_IF_ERROR(originals_.room_for(work.resolved.rows));
  RETURN_IF_ERROR(append_bodies(work));
  return originals_.apply(work.resolved, work.band_keys, help.threads, help.run);
}

absl::Status Engine::append_bodies(Work& work) {
  for (size_t r = 0; r < work.resolved.rows.size(); ++r) {
    const size_t i = work.resolved.places[r];
    const SignedDocument& document = work.sign.documents[i];
    if (options_.with_sets()) work.sets[i].code(document);
    if (options_.rule.relations.on()) {
      const std::span<const uint64_t> prints = work.resolved.rows[r].row.prints;
      prints_.assign(prints.begin(), prints.end());
      append_prints(prints_, work.sets[i].coded);
    }
    ASSIGN_OR_RETURN(work.resolved.rows[r].row.body,
                     bodies_.append({.metadata = document.metadata, .coded_set = work.sets[i].coded}));
  }
  return absl::OkStatus();
}

bool Engine::knows_payload(const Digest& payload) const {
  const std::shared_lock lock(growing_);
  Answer answer;
  return originals_.find_payload(payload, answer).ok() && answer.same_payload.has_value();
}

RemovalReason Engine::why_dead(int64_t trusted_ms) const {
  if (options_.rule.max_documents == 0) return RemovalReason::expired;
  return resolver_.expiry().too_old(trusted_ms) ? RemovalReason::expired : RemovalReason::evicted;
}

absl::Status Engine::query(Work& work, size_t begin, size_t end, std::span<Outcome> out) const {
  for (size_t i = begin; i < end; ++i) work.sign.documents[i].replace = false;
  MatchCounters counters;
  RETURN_IF_ERROR(match(work, begin, end, counters));
  Resolver resolver(options_.rule, options_.scheme.num_perm);
  resolver.finish_restore(originals_.next_seq(), originals_.lowest_live());
  const ToResolve to_resolve{
      .batch = work.sign,
      .band_keys = work.band_keys,
      .sets = work.sets,
      .answers = {.all = work.answers, .owners = originals_.shares(), .covered = originals_.cut()},
      .forget = {}};
  const Ask ask{.read = {},
                .again = [&](size_t i) { return match(work, i, i + 1, counters, &resolver.hint()); }};
  for (size_t i = begin; i < end; ++i) RETURN_IF_ERROR(resolver.query(to_resolve, ask, i, out[i]));
  return absl::OkStatus();
}

absl::Status Engine::start_restore(Seq first_row, Seq lowest_live, std::string_view clock) {
  originals_.start_at(first_row);
  restore_lowest_live_ = lowest_live;
  return resolver_.expiry().start_restore(lowest_live, clock);
}

absl::Status Engine::restore(const StoredRow& row) {
  StoredRow whole = row;
  RETURN_IF_ERROR(fill_prints(whole, prints_));
  if (mutated(Mutation::prints_are_not_restored)) whole.row.prints = {};
  RETURN_IF_ERROR(originals_.restore(whole));
  resolver_.restore_row(row);
  return absl::OkStatus();
}

Seq Engine::first_to_restore() const {
  // Expiry needs the times of all originals.
  if (options_.rule.expire_after_ms != 0) return 0;
  const Seq below = originals_.stored_below();
  return below - std::min(below, originals_.first_own());
}

// Reads the prints from the body, unless the row has none or its segment has them.
absl::Status Engine::fill_prints(StoredRow& row, PodVector<uint64_t>& prints) const {
  if (!options_.rule.relations.on() || row.removed || row.row.slices == nullptr || !originals_.has(row.seq) ||
      row.seq < originals_.stored_below())
    return absl::OkStatus();
  RETURN_IF_ERROR(read_prints(bodies_, row.row.body, body_, prints));
  row.row.prints = prints;
  return absl::OkStatus();
}

void Engine::restore_removed(Seq seq, int64_t trusted_ms) {
  originals_.remove(seq);
  resolver_.expiry().known_late(seq, trusted_ms);
}

absl::Status Engine::restore_clock(Seq lowest_live, std::string_view clock) {
  restore_lowest_live_ = std::max(restore_lowest_live_, lowest_live);
  return resolver_.expiry().start_restore(restore_lowest_live_, clock);
}

void Engine::finish_restore(int threads) {
  originals_.finish_restore(restore_lowest_live_, threads,
                            [](int parts, const std::function<void(int)>& part) {
                              std::vector<std::thread> others;
                              for (int p = 1; p < parts; ++p) others.emplace_back([&part, p] { part(p); });
                              part(0);
                              for (std::thread& other : others) other.join();
                            });
  resolver_.finish_restore(originals_.next_seq(), originals_.lowest_live());
}

}  // namespace doppel
