-- Where are records gone that a leader had acknowledged: where does a log end earlier, or an epoch begin earlier?
-- columns: cluster, topic, partition, before_day, day, how, first_lost, offsets, committed, leader, same_topic
-- tables: partition_logs, topics
-- facts: partition_logs
-- runs: 8
WITH logs AS (
  SELECT l.cluster, l.topic, l.partition, l.day, l.run, l.leader, l.leader_epoch, l.log_end,
         l.earlier_epoch_1, l.earlier_end_1, l.earlier_epoch_2, l.earlier_end_2,
         l.earlier_epoch_3, l.earlier_end_3, l.earlier_epoch_4, l.earlier_end_4,
         LAG(l.day) OVER w AS before_day, LAG(l.run) OVER w AS before_run, LAG(l.leader_epoch) OVER w AS before_epoch,
         LAG(l.log_start) OVER w AS before_start, LAG(l.log_end) OVER w AS before_end,
         LAG(l.high_watermark) OVER w AS committed
  FROM partition_logs l
  WHERE l.error IS NULL
  WINDOW w AS (PARTITION BY l.cluster, l.topic, l.partition ORDER BY l.taken_ms)
), kept AS (
  -- Where the records of the epochs end that the earlier run had seen. Retention and compaction never move it back.
  SELECT l.*,
         CASE WHEN l.leader_epoch <= l.before_epoch OR l.earlier_epoch_1 IS NULL THEN l.log_end
              WHEN l.earlier_epoch_1 <= l.before_epoch THEN l.earlier_end_1
              WHEN l.earlier_epoch_2 <= l.before_epoch THEN l.earlier_end_2
              WHEN l.earlier_epoch_3 <= l.before_epoch THEN l.earlier_end_3
              ELSE COALESCE(l.earlier_end_4, l.earlier_end_3, l.earlier_end_2, l.earlier_end_1) END AS kept_to
  FROM logs l
  WHERE l.before_end IS NOT NULL
), gone AS (
  SELECT k.*, GREATEST(k.kept_to, k.before_start) AS first_lost
  FROM kept k
  WHERE k.kept_to < k.before_end AND k.before_start < k.before_end
)
SELECT g.cluster, g.topic, g.partition, g.before_day, g.day,
       CASE WHEN g.log_end < g.before_end THEN 'the log ends earlier' ELSE 'another epoch begins earlier' END AS how,
       g.first_lost, g.before_end - g.first_lost AS offsets,
       CASE WHEN g.committed > g.first_lost THEN g.committed - g.first_lost ELSE 0 END AS committed, g.leader,
       CASE WHEN n.topic_id = o.topic_id OR n.czxid = o.czxid THEN 'yes' ELSE 'not known' END AS same_topic
FROM gone g
     LEFT JOIN topics n ON n.cluster = g.cluster AND n.topic = g.topic AND n.day = g.day AND n.run = g.run
     LEFT JOIN topics o ON o.cluster = g.cluster AND o.topic = g.topic
                           AND o.day = g.before_day AND o.run = g.before_run
WHERE NOT COALESCE(n.topic_id <> o.topic_id, false) AND NOT COALESCE(n.czxid <> o.czxid, false)
      AND (g.leader_epoch >= g.before_epoch OR n.topic_id = o.topic_id OR n.czxid = o.czxid)
ORDER BY g.day, offsets DESC, g.cluster, g.topic, g.partition
