-- Which listeners let records and passwords through unencrypted?
-- columns: cluster, broker, listener, protocol, host, port
-- tables: listeners
-- facts: listeners
SELECT l.cluster, l.broker, l.name AS listener, COALESCE(l.protocol, 'not known') AS protocol, l.host, l.port
FROM listeners l
WHERE (l.protocol IS NULL OR l.protocol IN ('PLAINTEXT', 'SASL_PLAINTEXT'))
      AND NOT COALESCE(l.host IN ('localhost', '[::1]', '::1') OR l.host LIKE '127.%', false)
ORDER BY l.cluster, l.broker, l.name
