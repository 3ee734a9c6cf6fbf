-- Which groups have committed offsets that are not in the log any more, or not yet?
-- columns: cluster, group_id, topic, partitions
-- tables: group_lag
-- facts: group_lag
SELECT g.cluster, g.group_id, g.topic, g.outside AS partitions FROM group_lag g WHERE g.outside > 0
ORDER BY g.cluster, g.group_id, g.topic
