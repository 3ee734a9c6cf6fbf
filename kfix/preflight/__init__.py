"""`kfix preflight`: whether an act is safe now, its obstacles, and what has to happen first."""
