-- Which certificates of brokers have ended, or end within 60 days?
-- columns: cluster, broker, listener, days_left, subject, issuer
-- tables: listeners
-- facts: certificates
-- unknown: the certificates of listeners by which kfix did not read a broker
SELECT l.cluster, l.broker, l.name AS listener,
       CAST(FLOOR(CAST(l.certificate_until_ms - l.taken_ms AS DOUBLE) / 86400000) AS BIGINT) AS days_left,
       l.certificate_of AS subject, l.certificate_by AS issuer
FROM listeners l
WHERE l.certificate_until_ms < l.taken_ms + 5184000000
ORDER BY days_left, l.cluster, l.broker, l.name
