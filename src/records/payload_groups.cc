#include "records/payload_groups.h"

#include <limits>

namespace doppel {
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
