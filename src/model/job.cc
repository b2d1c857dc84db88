#include "model/job.h"

#include "base/math.h"

namespace smartmig {

double Crowding::factor(double others) const { return deterministic_exp(log_slowdown * (others - beside)); }

}  // namespace smartmig
