#include "daemon/decide.h"

#include <string>

#include "base/log.h"
#include "base/status.h"
#include "daemon/report.h"
#include "fetch/fetch_source.h"
#include "open/setup.h"

namespace doppel {

absl::Status decide(DaemonParts& daemon, const Deciding& d) {
  FirehoseWatch firehose;
  Pipeline pipeline = assemble(daemon.options, d.engine, &d.state, outer_of(d.source, d.fetching), d.sink);
  pipeline.journal = d.journal;
  pipeline.answering = d.answering;
  pipeline.keys = d.keys;
  pipeline.known_again = d.known_again;
  pipeline.stop = [stop = daemon.stopper(), &d] { return stop() || d.interrupted(); };
  pipeline.waker = &d.web.waker();
  pipeline.recall = d.recall;
  pipeline.requests = d.requests;
  pipeline.read_now = late_reader(d.fetching);
  pipeline.observe = [&](const Decided& decided, const BatchTimes& times) {
    daemon.monitor.metrics().observe(decided, times);
    d.web.observe(decided);
    d.observe(decided);
    if (!daemon.kafka) return;
    if (const std::string warning = firehose.observe(decided); !warning.empty()) log::warn(warning);
  };
  pipeline.progress = [&](const Counters& counters) {
    daemon.monitor.progress(d.engine, d.state);
    d.settled();
    d.web.progress(counters);
    d.report.progress(counters);
  };
  const absl::StatusOr<Counters> counters = run_pipeline(pipeline);
  if (absl::IsDataLoss(counters.status()))
    mark_damaged(daemon.options.state_directory, std::string(counters.status().message()));
  RETURN_IF_ERROR(counters.status());
  d.report.end(*counters);
  if (d.fetching != nullptr) report_fetches(d.fetching->counts());
  return absl::OkStatus();
}

}  // namespace doppel
