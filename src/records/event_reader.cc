#include "records/event_reader.h"

#include <cmath>

#include "base/status.h"
#include "formats/json/json_mend.h"
#include "formats/json/json_value.h"

namespace doppel {

namespace dom = simdjson::dom;

struct EventReader::Impl {
  dom::parser parser;
  JsonMender mender;
};

EventReader::EventReader() : impl_(std::make_unique<Impl>()) {}
EventReader::~EventReader() = default;

absl::Status EventReader::read(const std::string& line, ReadEvent& out) {
  out = {};
  dom::element root;
  if (const auto error = impl_->parser.parse(line).get(root)) {
    // A passed-through field may be a number of any size.
    if (!JsonMender::may_help(error) || !impl_->mender.mend(line)) return not_json(error);
    if (const auto still = impl_->parser.parse(impl_->mender.text()).get(root)) return not_json(still);
  }
  std::string_view type;
  if (root["type"].get(type) != simdjson::SUCCESS) return invalid("not an event: it has no type");
  if (type == "duplicate-of") {
    out.type = ReadEvent::Type::duplicate_of;
  } else if (type == "original-removed") {
    out.type = ReadEvent::Type::original_removed;
  } else {
    return absl::OkStatus();
  }
  absl::Status status;
  const auto text = [&](std::string_view& to, std::string_view pointer) {
    if (root.at_pointer(pointer).get(to) != simdjson::SUCCESS && status.ok())
      status = invalid("no text at " + std::string(pointer));
  };
  text(out.cluster_id, "/cluster_id");
  text(out.original_id, "/original/id");
  if (out.type == ReadEvent::Type::original_removed) {
    text(out.reason, "/reason");
    return status;
  }
  text(out.event_id, "/event_id");
  text(out.id, "/document/id");
  text(out.kind, "/kind");
  double similarity = 0;
  if (root["similarity"].get(similarity) != simdjson::SUCCESS || !(similarity >= 0 && similarity <= 1))
    return invalid("similarity is not a number from 0 to 1");
  out.similarity_ppm = static_cast<uint32_t>(std::llround(similarity * 1e6));
  return status;
}

}  // namespace doppel
