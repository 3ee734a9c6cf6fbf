-- Which brokers support other versions of Kafka's APIs than most of their cluster?
-- columns: cluster, broker, api, newest, usual
-- tables: apis
-- facts: apis
WITH counted AS (
  SELECT a.cluster, a.api, a.newest, COUNT(*) AS n FROM apis a GROUP BY a.cluster, a.api, a.newest
), usual AS (
  SELECT c.*, ROW_NUMBER() OVER (PARTITION BY c.cluster, c.api ORDER BY c.n DESC, c.newest DESC) AS place FROM counted c
), differing AS (
  SELECT a.cluster, a.broker, a.api, a.newest, u.newest AS usual,
         ROW_NUMBER() OVER (PARTITION BY a.cluster, a.broker ORDER BY a.api) AS place
  FROM apis a JOIN usual u ON u.cluster = a.cluster AND u.api = a.api AND u.place = 1
  WHERE a.newest <> u.newest
)
SELECT d.cluster, d.broker, d.api, d.newest, d.usual FROM differing d WHERE d.place = 1
ORDER BY d.cluster, d.broker
