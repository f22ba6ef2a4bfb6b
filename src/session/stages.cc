#include "session/stages.h"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <utility>

#include "base/status.h"

namespace doppel {
namespace {

constexpr size_t kSignGrain = 16;   // documents that a thread takes at a time
constexpr size_t kMatchGrain = 64;  // enough to hide memory latency

}  // namespace

void Stages::start_sign(Work& work, size_t documents, Sign sign) {
  work.resize(documents, engine_.options());
  const auto num_perm = static_cast<size_t>(engine_.options().scheme.num_perm);
  executor_.start(signing_, documents, kSignGrain,
                  [&work, num_perm, sign = std::move(sign)](int worker, size_t begin, size_t end) {
                    for (size_t i = begin; i < end; ++i)
                      sign(worker, i, work.sign.documents[i], work.sign.slices.data() + i * num_perm);
                  });
}

absl::Status Stages::match(Work& work, MatchCounters& counters) {
  std::mutex mutex;
  return executor_.try_run(work.sign.documents.size(), kMatchGrain, [&](int, size_t begin, size_t end) {
    MatchCounters part;
    const absl::Status status = engine_.match(work, begin, end, part);
    const std::lock_guard lock(mutex);
    counters.candidates += part.candidates;
    counters.checks += part.checks;
    counters.checks_capped += part.checks_capped;
    return status;
  });
}

absl::Status Stages::resolve(Engine& engine, Work& work, ResolveHelp help) {
  help.threads = executor_.threads();
  help.run = run_parts();
  return engine.resolve(work, help);
}

CandidateIndex::Run Stages::run_parts() {
  return [this](int parts, const std::function<void(int)>& part) {
    executor_.run(static_cast<size_t>(parts), 1,
                  [&](int, size_t begin, size_t) { part(static_cast<int>(begin)); });
  };
}

absl::Status Stages::query(Work& work, std::span<Outcome> out) {
  return executor_.try_run(work.sign.documents.size(), kSignGrain, [&](int, size_t begin, size_t end) {
    return engine_.query(work, begin, end, out);
  });
}

absl::Status Stages::nearest(Work& work, size_t most, std::span<std::vector<Verified>> out) {
  // MATCH verifies no other original once it has found the digest. An equal text has all bands, too.
  std::vector<Outcome> exact(work.sign.documents.size());
  std::vector<bool> by_digest(exact.size());
  for (size_t i = 0; i < exact.size(); ++i) {
    SignedDocument& document = work.sign.documents[i];
    by_digest[i] = document.content == Content::digest_only;
    if (!by_digest[i]) document.digest = {};
  }
  RETURN_IF_ERROR(query(work, exact));
  for (size_t i = 0; i < exact.size(); ++i) {
    out[i].clear();
    if (by_digest[i]) {
      if (exact[i].verdict == Verdict::duplicate)
        out[i].push_back({.seq = exact[i].seq, .checked = true, .overlap = exact[i].similarity});
    } else {
      const size_t owners = work.answers.size() / exact.size();
      for (const Answer& answer : std::span(work.answers).subspan(i * owners, owners))
        std::copy_if(answer.candidates.begin(), answer.candidates.end(), std::back_inserter(out[i]),
                     [](const Verified& candidate) { return candidate.checked; });
    }
    std::sort(out[i].begin(), out[i].end(), better);
    if (out[i].size() > most) out[i].resize(most);
  }
  return absl::OkStatus();
}

}  // namespace doppel
