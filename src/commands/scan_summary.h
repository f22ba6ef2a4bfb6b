#pragma once

#include "engine/bodies.h"
#include "engine/engine.h"
#include "files/write/keeper.h"
#include "pipeline/pipeline.h"

namespace doppel {

// Prints the summary of `doppel scan` on stderr. `groups`: they were shown, and no events were written.
void print_summary(const Counters& counters, const Engine& engine, const Bodies& bodies, double seconds,
                   const Keeper::Cut& cut, std::string_view extract, bool groups);

}  // namespace doppel
