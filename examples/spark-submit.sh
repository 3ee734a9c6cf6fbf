#!/usr/bin/env bash
# Runs `kfix audit` as a job of spark-submit: on a standalone cluster, on YARN or on Kubernetes.
#
#   MASTER=spark://HOST:7077 examples/spark-submit.sh --store s3://bucket/kfix -i fleet.yaml --collect spark
#   MASTER=yarn              examples/spark-submit.sh --store hdfs://nn/kfix --run nightly --collect no --json
#   MASTER=k8s://https://HOST:6443 SUBMIT_OPTIONS='--conf spark.kubernetes.container.image=IMAGE' examples/spark-submit.sh ...
#
# PYTHON          the driver's Python, with kafka-kfix[spark] (default: python3)
# PYSPARK_PYTHON  the workers' Python: the same minor version, with pyarrow (default: PYTHON)
# SPARK_SUBMIT    the spark-submit to use (default: the one in PATH, else that of the pyspark package)
# SUBMIT_OPTIONS  more options for spark-submit: memory, queue, s3a settings (docs/spark.md)
#
# The exit code is that of `kfix audit` (docs/exit-codes.md).
set -euo pipefail
: "${MASTER:?set MASTER: spark://HOST:7077, yarn or k8s://URL}"
python=${PYTHON:-python3}
submit=${SPARK_SUBMIT:-$(command -v spark-submit ||
  "$python" -c 'import pathlib, pyspark; print(pathlib.Path(pyspark.__file__).parent / "bin" / "spark-submit")')}
export PYSPARK_PYTHON=${PYSPARK_PYTHON:-$python} PYSPARK_DRIVER_PYTHON=$python

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" -m kfix_spark.package "$work/kfix.zip"
main=$("$python" -c 'import kfix; print(kfix.__path__[0])')/__main__.py

# shellcheck disable=SC2086 # SUBMIT_OPTIONS are several words
"$submit" --master "$MASTER" --name 'kfix audit' --py-files "$work/kfix.zip" \
  --conf spark.ui.enabled=false --conf spark.log.level=ERROR --conf spark.sql.session.timeZone=UTC \
  ${SUBMIT_OPTIONS:-} "$main" audit --spark submit "$@"
