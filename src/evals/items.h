#pragma once
// The items of evaluations: what must not be in training data. Read from files of any kind that has records:
// JSON lines, Parquet, Arrow.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "evals/item_index.h"
#include "text/shingler.h"

namespace doppel {

struct ItemFields {  // each a list: the first that is there and not null is taken
  std::vector<std::string> question{"question", "query", "prompt", "problem", "instruction", "input", "text"};
  std::vector<std::string> answer{"answer", "solution", "target", "output", "completion", "response"};
  std::vector<std::string> id{"id", "task_id", "question_id", "_id"};
};

struct Item {
  std::string id;  // what the record says, else its place
  std::string file;
  std::string question, answer;  // an answer that is no text is none
  bool with_answer = false;      // the question is so short that both together are looked for
};

// A question that has fewer words than this is looked for together with its answer.
inline constexpr uint32_t kQuestionWordsLeast = 5;

struct Items {
  std::vector<Item> items;
  ItemIndex index{ItemRule{}};
  std::vector<uint32_t> too_short;  // even with their answers: nobody can look for them
  uint64_t rejected = 0;            // records without a question, and files that could not be read
};

// `report` receives what is wrong with a record or a file. InvalidArgument, NotFound: there is nothing to
// read.
absl::StatusOr<Items> read_items(const std::vector<std::string>& paths, const ItemFields& fields,
                                 const ItemRule& rule, const std::function<void(const std::string&)>& report);

// The hashes of the words of a text, in order. For one thread.
class WordHasher {
 public:
  WordHasher();
  void hash(std::string_view text, PodVector<uint64_t>& out);

 private:
  Shingler shingler_;
};

}  // namespace doppel
