#pragma once
// The items of evaluations, which training data must not contain. Reads them from any kind of file with
// records: JSON lines, Parquet, Arrow.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "evals/item_index.h"
#include "text/shingler.h"

namespace doppel {

struct ItemFields {  // lists: the first field that exists and is not null counts
  std::vector<std::string> question{"question", "query", "prompt", "problem", "instruction", "input", "text"};
  std::vector<std::string> answer{"answer", "solution", "target", "output", "completion", "response"};
  std::vector<std::string> id{"id", "task_id", "question_id", "_id"};
};

struct Item {
  std::string id;  // as the record states it, else its place
  std::string file;
  std::string question, answer;  // the answer is empty if it is not a text
  bool with_answer = false;      // the question is so short that both are searched for together
};

// A shorter question is searched for together with its answer.
inline constexpr uint32_t kQuestionWordsLeast = 5;

struct Items {
  std::vector<Item> items;
  ItemIndex index{ItemRule{}};
  std::vector<uint32_t> too_short;  // too short to be found, even with their answers
  uint64_t rejected = 0;            // records without a question, and files that could not be read
};

// `report` receives a message about each wrong record or file. InvalidArgument, NotFound: there is nothing to
// read.
absl::StatusOr<Items> read_items(const std::vector<std::string>& paths, const ItemFields& fields,
                                 const ItemRule& rule, const std::function<void(const std::string&)>& report);

// Hashes the words of a text, in order. Use one for each thread.
class WordHasher {
 public:
  WordHasher();
  void hash(std::string_view text, PodVector<uint64_t>& out);

 private:
  Shingler shingler_;
};

}  // namespace doppel
