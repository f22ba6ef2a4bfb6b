#include "kafka/topics/event_topic.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/status.h"
#include "kafka/merge_source.h"
#include "kafka/topics/plan.h"

namespace doppel {

absl::Status read_event_topic(
    const Options& options, const std::string& topic,
    const std::function<absl::Status(const std::string& place, const std::string& event)>& visit,
    const std::function<void(double)>& progress) {
  ASSIGN_OR_RETURN(const std::unique_ptr<kafka::Cluster> cluster, connect_kafka(options));
  ASSIGN_OR_RETURN(const std::vector<kafka::Bounds> bounds,
                   kafka::freeze_bounds(*cluster, {.names = {topic}, .never = {}}, 0, -1));
  ASSIGN_OR_RETURN(const std::unique_ptr<kafka::MergeSource> source,
                   kafka::MergeSource::open(*cluster, {}, bounds, {}));
  const auto total = static_cast<double>(std::max<uint64_t>(1, source->bytes_total()));
  Batch batch;
  std::string event;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, source->next(batch));
    if (!more) return absl::OkStatus();
    for (const Record& record : batch.records) {
      event.assign(record.value);
      RETURN_IF_ERROR(visit(fmt::format("{}/{}", record.source, record.offset), event));
    }
    progress(static_cast<double>(source->bytes_read()) / total);
  }
}

}  // namespace doppel
