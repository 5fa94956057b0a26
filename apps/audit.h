#pragma once

#include "command.h"

namespace orthant::apps {

/// The parts of `orthant audit`; one file each. They add their sub-command to the audit command.
Run add_audit_codebook(CLI::App& audit);
Run add_audit_rotation(CLI::App& audit);
Run add_audit_decoded(CLI::App& audit);
Run add_audit_estimator(CLI::App& audit);

}  // namespace orthant::apps
