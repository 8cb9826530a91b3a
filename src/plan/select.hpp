// SPDX-License-Identifier: BSD-3-Clause
// select.hpp - the choice, with a cost model that is kept between choices.
#pragma once

#include "plan/cost.hpp"

namespace wring::plan {

/// choose(problem, settings), with costs from a model of that problem at any count and of those
/// settings.
Choice choose(const Problem& problem, const Settings& settings, CostModel& model);

}  // namespace wring::plan
