#include "daemon/decide.h"

#include <optional>
#include <string>

#include "base/log.h"
#include "base/status.h"
#include "daemon/firehose.h"
#include "fetch/configured.h"
#include "open/embedded_state.h"
#include "open/setup.h"

namespace doppel {

absl::Status decide(Session& session, const Deciding& d) {
  FirehoseWatch firehose;
  const Seq first_own = d.engine.originals().first_own();
  std::optional<BetterCopies> better = better_copies(session.options.input, d.state, first_own);
  Pipeline pipeline{.source = d.fetching != nullptr ? static_cast<Source&>(*d.fetching) : d.source,
                    .engine = d.engine,
                    .sink = d.sink,
                    .journal = d.journal,
                    .answering = d.answering,
                    .format = session.options.input,
                    .keys = d.keys,
                    .better = better ? &*better : nullptr,
                    .threads = thread_count(session.options),
                    .stop = [stop = session.stopper(), &d] { return stop() || d.interrupted(); },
                    .requests = d.requests,
                    .before_pages = scheme_of_pages(&d.state, session.options.input),
                    .read_now = late_reader(d.fetching),
                    .observe =
                        [&](const Decided& decided, const BatchTimes& times) {
                          session.monitor.metrics().observe(decided, times);
                          d.web.observe(decided);
                          if (!session.kafka) return;
                          if (const std::string warning = firehose.observe(decided); !warning.empty())
                            log::warn(warning);
                        },
                    .progress =
                        [&](const Counters& counters) {
                          session.monitor.progress(d.engine, d.state);
                          d.settled();
                          d.web.progress(counters);
                          d.report.progress(counters);
                        }};
  const absl::StatusOr<Counters> counters = run_pipeline(pipeline);
  if (absl::IsDataLoss(counters.status()))
    mark_damaged(session.options.state_directory, std::string(counters.status().message()));
  RETURN_IF_ERROR(counters.status());
  d.report.end(*counters);
  if (d.fetching != nullptr) report_fetches(d.fetching->counts());
  return absl::OkStatus();
}

}  // namespace doppel
