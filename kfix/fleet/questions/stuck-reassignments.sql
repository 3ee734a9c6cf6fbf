-- Which reassignments are in progress since an earlier run?
-- columns: cluster, topic, partition, since_day, runs, replicas
-- tables: partitions, snapshots, runs
-- runs: 4
WITH readings AS (
  SELECT s.cluster, s.day, s.run, ROW_NUMBER() OVER (PARTITION BY s.cluster ORDER BY r.began DESC, s.run DESC) AS place
  FROM snapshots s JOIN runs r ON r.day = s.day AND r.run = s.run
  WHERE s.collected
), moving AS (
  SELECT p.cluster, p.topic, p.partition, p.day, p.replicas, p.n_replicas, n.place
  FROM partitions p JOIN readings n ON n.cluster = p.cluster AND n.day = p.day AND n.run = p.run
  WHERE p.reassigning
)
SELECT m.cluster, m.topic, m.partition, MIN(b.day) AS since_day, CAST(1 + COUNT(*) AS BIGINT) AS runs,
       MAX(m.n_replicas) AS replicas
FROM moving m
     JOIN moving b ON b.cluster = m.cluster AND b.topic = m.topic AND b.partition = m.partition AND b.place > 1
                      AND b.replicas = m.replicas
WHERE m.place = 1
GROUP BY m.cluster, m.topic, m.partition
HAVING MIN(b.place) = 2
ORDER BY runs DESC, m.cluster, m.topic, m.partition
