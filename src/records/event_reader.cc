#include "records/event_reader.h"

#include <cmath>
#include <limits>

#include "base/status.h"
#include "formats/json/json_value.h"

namespace doppel {

namespace dom = simdjson::dom;

namespace {

absl::Status read_share(const dom::element& from, std::string_view name, uint32_t& ppm) {
  double share = 0;
  if (from[name].get(share) != simdjson::SUCCESS || !(share >= 0 && share <= 1))
    return invalid(std::string(name) + " is not a number from 0 to 1");
  ppm = static_cast<uint32_t>(std::llround(share * 1e6));
  return absl::OkStatus();
}

// Empty if it is null or missing.
std::string_view text_at(const dom::element& from, std::string_view pointer) {
  std::string_view out;
  return from.at_pointer(pointer).get(out) == simdjson::SUCCESS ? out : std::string_view();
}

absl::Status read_partial_copy(const dom::element& root, bool verdict, ReadEvent& out) {
  out.type = ReadEvent::Type::partial_copy_of;
  dom::array relations;
  if (root["event_id"].get(out.event_id) != simdjson::SUCCESS ||
      root.at_pointer(verdict ? "/id" : "/document/id").get(out.id) != simdjson::SUCCESS ||
      root["relations"].get(relations) != simdjson::SUCCESS)
    return invalid("no event_id, no id or no relations");
  out.date = text_at(root, verdict ? "/date" : "/document/date");
  for (const dom::element each : relations) {
    ReadRelation& relation = out.relations.emplace_back();
    if (each["relation"].get(relation.relation) != simdjson::SUCCESS ||
        each["cluster_id"].get(relation.cluster_id) != simdjson::SUCCESS ||
        each.at_pointer(verdict ? "/id" : "/original/id").get(relation.original_id) != simdjson::SUCCESS)
      return invalid("a relation without its name, cluster_id or original");
    relation.original_date = text_at(each, "/original/date");
    RETURN_IF_ERROR(read_share(each, "of_document", relation.of_document_ppm));
    RETURN_IF_ERROR(read_share(each, "of_original", relation.of_original_ppm));
  }
  return absl::OkStatus();
}

}  // namespace

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
  const bool verdict = type == "verdict" && root["relations"].error() == simdjson::SUCCESS;
  if (verdict || type == "partial-copy-of") return read_partial_copy(root, verdict, out);
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
  out.date = text_at(root, "/document/date");
  out.original_date = text_at(root, "/original/date");
  RETURN_IF_ERROR(read_share(root, "similarity", out.similarity_ppm));
  return status;
}

namespace {

int64_t time_of(const PayloadGroups::Capture& capture) {
  return capture.time_ms.value_or(std::numeric_limits<int64_t>::max());
}

}  // namespace

void PayloadGroups::tie(const Capture& copy, const Capture& original) {
  const size_t first = top(node(original)), second = top(node(copy));
  if (first == second) return;
  nodes_[second].above = first;
  if (time_of(nodes_[second].earliest) < time_of(nodes_[first].earliest))
    nodes_[first].earliest = nodes_[second].earliest;
}

PayloadGroups::Key PayloadGroups::earliest(Key of) {
  const auto found = by_key_.find(of);
  return found == by_key_.end() ? of : nodes_[top(found->second)].earliest.key;
}

size_t PayloadGroups::node(const Capture& capture) {
  const auto [known, fresh] = by_key_.try_emplace(capture.key, nodes_.size());
  if (fresh) nodes_.push_back({known->second, capture});
  return known->second;
}

size_t PayloadGroups::top(size_t node) {
  while (nodes_[node].above != node) node = nodes_[node].above = nodes_[nodes_[node].above].above;
  return node;
}

}  // namespace doppel
