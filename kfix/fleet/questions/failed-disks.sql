-- Which log directories have failed?
-- columns: cluster, broker, directory, error
-- tables: log_dirs
-- facts: log_dirs
SELECT d.cluster, d.broker, d.directory, d.error FROM log_dirs d WHERE d.error IS NOT NULL
ORDER BY d.cluster, d.broker, d.directory
