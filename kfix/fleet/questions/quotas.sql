-- Which quotas do clients have?
-- columns: cluster, user_name, client_id, ip, key, value
-- tables: quotas
-- facts: quotas
SELECT q.cluster, q.user_name, q.client_id, q.ip, q.key, q.value FROM quotas q
ORDER BY q.cluster, q.key, COALESCE(q.user_name, ''), COALESCE(q.client_id, ''), COALESCE(q.ip, '')
