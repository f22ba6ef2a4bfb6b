#include "kafka/group_note.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

namespace doppel::kafka {

std::string group_note(const LogProgress& progress) {
  return fmt::format("doppel {} {} {}", progress.next, progress.incarnation, progress.last_ms);
}

std::optional<LogProgress> parse_group_note(std::string_view note) {
  constexpr std::string_view kOurs = "doppel ";
  if (!note.starts_with(kOurs)) return std::nullopt;
  note.remove_prefix(kOurs.size());
  std::array<int64_t, 3> numbers{};
  for (int64_t& number : numbers) {
    const auto [end, error] = std::from_chars(note.data(), note.data() + note.size(), number);
    if (error != std::errc()) return std::nullopt;
    note.remove_prefix(static_cast<size_t>(end - note.data()));
    if (note.starts_with(' ')) note.remove_prefix(1);
  }
  if (!note.empty() || numbers[0] < 0 || numbers[1] < 1 || numbers[1] > UINT32_MAX) return std::nullopt;
  return LogProgress{
      .next = numbers[0], .incarnation = static_cast<uint32_t>(numbers[1]), .last_ms = numbers[2]};
}

}  // namespace doppel::kafka
