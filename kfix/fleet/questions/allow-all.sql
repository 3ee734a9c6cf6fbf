-- Which principals may do everything?
-- columns: cluster, principal, host, resource_type, origin
-- tables: acls
-- facts: acls
SELECT a.cluster, a.principal, a.host, a.resource_type, a.origin
FROM acls a
WHERE a.permission = 'allow' AND a.operation = 'all' AND a.resource = '*' AND NOT a.prefixed
ORDER BY a.cluster, a.principal, a.resource_type, a.host
