#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# reference.sh DAEMON   rewrites the files generated from the daemon's catalogs: docs/reference, and the configuration
#                       part of the Helm chart's schema
set -eu

daemon=$1
cd "$(dirname "$0")/.."
"$daemon" schema >docs/reference/config.schema.json
"$daemon" reference configuration >docs/reference/configuration.md
"$daemon" reference metrics >docs/reference/metrics.md
python3 - docs/reference/config.schema.json packaging/kubernetes/chart/values.schema.json <<'END'
import json, sys

with open(sys.argv[1]) as file:
    configuration = json.load(file)
with open(sys.argv[2]) as file:
    values = json.load(file)
parts = configuration.pop("$defs")
for word in "$schema", "title":
    del configuration[word]
values["properties"]["config"] = {"$ref": "#/$defs/configuration"}
values["$defs"] = {"configuration": configuration, **parts}
with open(sys.argv[2], "w") as file:
    json.dump(values, file, indent=2)
    file.write("\n")
END
