{{/*
Checks of the values that the schema cannot express. Reports all faults together, one per line: `path: fault; what to do`.
*/}}
{{- define "muster.check" -}}
{{- $faults := include "muster.faults" . | trim -}}
{{- if $faults }}{{ fail (printf "the values are invalid:\n%s" (regexReplaceAll "\n\\s*\n" $faults "\n")) }}{{ end -}}
{{- end }}

{{- define "muster.faults" }}
{{- include "muster.faults.removed" . }}
{{- include "muster.faults.names" . }}
{{- include "muster.faults.master" . }}
{{- include "muster.faults.tokens" . }}
{{- include "muster.faults.tenants" . }}
{{- include "muster.faults.redis" . }}
{{- include "muster.faults.exposure" . }}
{{- include "muster.faults.automations" . }}
{{- include "muster.faults.workers" . }}
{{- include "muster.faults.env" . }}
{{- end }}

{{/* {at, names, path, rule}: reports each value that one path of files/removed.json matches; `*` matches any key. */}}
{{- define "muster.faults.removedAt" }}
{{- $head := first .names }}
{{- $rest := rest .names }}
{{- $found := eq $head "*" | ternary (keys .at | sortAlpha) (list $head) }}
{{- range $found }}
{{- if hasKey $.at . }}
{{- $path := empty $.path | ternary . (printf "%s.%s" $.path .) }}
{{- if $rest }}
{{- $below := get $.at . }}
{{- if kindIs "map" $below }}{{ include "muster.faults.removedAt" (dict "at" $below "names" $rest "path" $path "rule" $.rule) }}{{ end }}
{{- else if $.rule.since }}
{{ $path }}: was removed in {{ $.rule.since }}; use {{ $.rule.use }}
{{- else }}
{{ $path }}: is not a key of this chart; use {{ $.rule.use }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- define "muster.faults.removed" }}
{{- range .Files.Get "files/removed.json" | fromJsonArray }}
{{- include "muster.faults.removedAt" (dict "at" $.Values "names" (splitList "." .path) "path" "" "rule" .) }}
{{- end }}
{{- end }}

{{- define "muster.faults.names" }}
{{- $fullname := include "muster.fullname" . }}
{{- if not (regexMatch "^[a-z][-a-z0-9]*$" $fullname) }}
fullnameOverride: is required, because {{ $fullname }}-master is not a valid name of a Service; set a name that begins with a letter and contains only lowercase letters, digits and -
{{- end }}
{{- end }}

{{- define "muster.faults.master" }}
{{- if and (not .Values.master.enabled) (not .Values.masterUrl) }}
masterUrl: is required while master.enabled is false; set the URL of the master, for example https://muster.example
{{- end }}
{{- if include "muster.masterTls" . }}
{{- if not (include "muster.hasTrust" .) }}
master.tls.existingSecret: requires trust.configMap or trust.secret; set one of them to the CA certificate that signed the certificate of the master
{{- end }}
{{- if ne .Values.exposure.type "none" }}
master.tls.existingSecret: the ingress controller or gateway would connect to the master with HTTP; set exposure.type to none and expose the Service yourself, or leave TLS to the exposure
{{- end }}
{{- end }}
{{- if and .Values.trust.configMap .Values.trust.secret }}
trust: has both configMap and secret; remove one of them
{{- end }}
{{- if and (has "*" .Values.operator.watchNamespaces) (gt (len .Values.operator.watchNamespaces) 1) }}
operator.watchNamespaces: has "*" and names; remove the names, or remove "*"
{{- end }}
{{- $scaling := .Values.master.autoscaling }}
{{- if and $scaling.enabled (gt (int $scaling.minReplicas) (int $scaling.maxReplicas)) }}
master.autoscaling: minReplicas is greater than maxReplicas; lower minReplicas, or raise maxReplicas
{{- end }}
{{- end }}

{{- define "muster.faults.tokens" }}
{{- $tokens := .Values.tokens }}
{{- if include "muster.usesAccounts" . }}
{{- if not (and .Values.master.enabled .Values.operator.enabled) }}
tokens.kubernetes.enabled: needs master.enabled and operator.enabled, because the operator copies the public keys of the cluster for the master; enable both, or give workers a token of the external master in tokens.worker.secret
{{- end }}
{{- if (include "muster.grants" . | fromYaml).issuers.secret }}
tokens.kubernetes.enabled: cannot be combined with tokens.issuers.secret; set it to false, and add the issuer of the cluster to that Secret
{{- end }}
{{- if $tokens.operator.secret }}
tokens.kubernetes.enabled: cannot be combined with tokens.operator.secret, because the operator uses the token of its ServiceAccount; remove one of them
{{- end }}
{{- end }}
{{- $cannot := "" }}
{{- if not $tokens.generate }}{{ $cannot = "tokens.generate is false" }}
{{- else if not .Values.operator.enabled }}{{ $cannot = "operator.enabled is false and only a release with an operator generates it" }}
{{- else if not .Values.master.enabled }}{{ $cannot = "the external master does not accept generated tokens" }}{{ end }}
{{- if $cannot }}
{{- $wanted := list }}
{{- if or .Values.master.enabled (and .Values.operator.enabled (not $tokens.operator.secret)) }}{{ $wanted = append $wanted "admin" }}{{ end }}
{{- if or .Values.master.enabled .Values.workers }}{{ $wanted = append $wanted "worker" }}{{ end }}
{{- range $wanted }}
{{- if not (get $tokens .).secret }}
tokens.{{ . }}.secret: is required, because {{ $cannot }}; name a Secret with the key {{ (get $tokens .).key }}
{{- end }}
{{- end }}
{{- if include "muster.createsRedisPassword" . }}
redis.embedded.password.secret: is required, because {{ $cannot }}; name a Secret with the key {{ .Values.redis.embedded.password.key }}
{{- end }}
{{- end }}
{{- end }}

{{/* Checks which workers a namespace may manage, and which Secrets FleetWorkers may reference. */}}
{{- define "muster.faults.tenants" }}
{{- if .Values.operator.enabled }}
{{- $own := .Release.Namespace }}
{{- $tenants := .Values.operator.tenants }}
{{- $from := .Values.operator.configFrom }}
{{- $watched := .Values.operator.watchNamespaces | default (list $own) }}
{{- $isAll := has "*" $watched }}
{{- if and (without $watched $own) (not $tenants) }}
operator.tenants: is required, because the operator watches namespaces other than its own; list the workers that each namespace may manage, for example {team-a: {types: [http-probe], workers: ["team-a-*"]}}, or {"*": {types: ["*"], workers: ["*"]}} if every namespace may manage every worker
{{- else if and $tenants (not $isAll) (not (hasKey $tenants "*")) }}
{{- range $watched }}
{{- if not (hasKey $tenants .) }}
operator.tenants: lacks {{ . }}, which the operator watches; add the types and workers that it may manage, or remove it from operator.watchNamespaces
{{- end }}
{{- end }}
{{- end }}
{{- if and $from.secrets (or $isAll (has $own $watched)) }}
operator.configFrom.secrets: would include the tokens of this release, because its namespace is watched; set it to false, and list the Secrets that FleetWorkers reference in operator.configFrom.secretNames
{{- end }}
{{- $reserved := include "muster.reservedSecrets" . | fromYamlArray }}
{{- range $from.secretNames }}
{{- if has . $reserved }}
operator.configFrom.secretNames: has {{ . }}, a Secret of Muster itself, which FleetWorkers may not reference; remove it
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- define "muster.faults.redis" }}
{{- $external := .Values.redis.external }}
{{- if and .Values.master.enabled (eq .Values.redis.mode "external") }}
{{- if and $external.url $external.urlSecret.name }}
redis.external: has both url and urlSecret.name; remove one of them
{{- else if not (or $external.url $external.urlSecret.name) }}
redis.external: has neither url nor urlSecret.name; set url, for example kvstores://redis.example:6379
{{- end }}
{{- end }}
{{- if regexMatch "^[^/]*://[^/@]*:[^/@]*@" $external.url }}
redis.external.url: contains a password; put it into a Secret, and set redis.external.password.secret to its name
{{- end }}
{{- $image := .Values.redis.embedded.image }}
{{- if and $image.registry (regexMatch "^([^/]*[.:][^/]*|localhost)/" $image.repository) }}
redis.embedded.image.repository: begins with a registry; move {{ first (splitList "/" $image.repository) }} to redis.embedded.image.registry
{{- end }}
{{- range $kind := list "requests" "limits" }}
{{- if hasKey (get $.Values.redis.embedded.pod.resources $kind | default dict) "memory" }}
redis.embedded.pod.resources.{{ $kind }}.memory: would be overridden; remove it, and set redis.embedded.memoryMiB instead
{{- end }}
{{- end }}
{{- if and .Values.redis.embedded.tls.secret (not (include "muster.hasTrust" .)) }}
redis.embedded.tls.secret: requires trust.configMap or trust.secret; set one of them to the CA certificate that signed the certificate of Redis
{{- end }}
{{- end }}

{{- define "muster.faults.exposure" }}
{{- $exposure := .Values.exposure }}
{{- $gateways := list "envoy-gateway" }}
{{- $both := list "generic" "traefik" "gke" }}
{{- if ne $exposure.type "none" }}
{{- if not .Values.master.enabled }}
exposure.type: is {{ $exposure.type }}, but master.enabled is false; set it to none
{{- end }}
{{- if not $exposure.host }}
exposure.host: is required; set the host name under which clients reach the master
{{- end }}
{{- if and (eq $exposure.type "gateway") (not $exposure.gateway.parentRefs) }}
exposure.gateway.parentRefs: is required; name the Gateway, for example [{name: web, namespace: gateways}]
{{- end }}
{{- if and (not (has $exposure.profile $both)) (ne (has $exposure.profile $gateways) (eq $exposure.type "gateway")) }}
exposure.profile: {{ $exposure.profile }} does not fit exposure.type {{ $exposure.type }}; set exposure.profile to generic, or change exposure.type
{{- end }}
{{- end }}
{{- end }}

{{- define "muster.faults.automations" }}
{{- $bytes := 0 }}
{{- range $file, $source := .Values.automations.inline }}
{{- $bytes = add $bytes (len $source) }}
{{- if not (regexMatch "^[-._a-zA-Z0-9]+[.]m?js$" $file) }}
automations.inline.{{ $file }}: is not a valid name of a module; use letters, digits, -, _ and ., and the extension .mjs or .js
{{- end }}
{{- end }}
{{- if gt (int $bytes) 921600 }}
automations.inline: has {{ $bytes }} bytes, but at most 921600 fit into a ConfigMap; put the automations into your own image (image)
{{- end }}
{{- end }}

{{- define "muster.faults.workers" }}
{{- $root := . }}
{{- range $name := keys .Values.workers | sortAlpha }}
{{- $set := include "muster.workerSet" (dict "root" $root "name" $name) | fromYaml }}
{{- $whole := printf "%s-%s" (include "muster.fullname" $root) $name }}
{{- if not $set.type }}
workers.{{ $name }}.type: is required; set the automation type that these workers run
{{- end }}
{{- if has $name (list "master" "operator" "bootstrap" "redis" "workers" "tokens" "test" "automations") }}
workers.{{ $name }}: the chart uses this name for one of its own objects; choose another name
{{- end }}
{{- include "muster.faults.scaling" (dict "root" $root "name" $name "values" $set) }}
{{- if gt (len $whole) 52 }}
workers.{{ $name }}: {{ $whole }} is longer than the 52 characters that the name of a StatefulSet may have; shorten {{ $name }}, or set a shorter fullnameOverride
{{- end }}
{{- end }}
{{- end }}

{{/* {root, name, values}: checks what sets the number of pods of an entry of workers. `values` is merged. */}}
{{- define "muster.faults.scaling" }}
{{- $of := include "muster.autoscaler" . | fromYaml }}
{{- $scaling := $of.scaling }}
{{- $path := printf "workers.%s" .name }}
{{- if ne $scaling.type "none" }}
{{- if not .values.set }}
{{ $path }}.set: is required with autoscaling.type {{ $scaling.type }}, because new pods stay idle without a config; set the spec of their FleetWorkerSet, for example {config: {enabled: true}}
{{- end }}
{{- if gt (int $scaling.minReplicas) (int $scaling.maxReplicas) }}
{{ $path }}.autoscaling: minReplicas is greater than maxReplicas; lower minReplicas, or raise maxReplicas
{{- end }}
{{- if and (eq $scaling.type "hpa") (lt (int $scaling.minReplicas) 1) }}
{{ $path }}.autoscaling.minReplicas: must be at least 1 with type hpa, which does not scale from 0; raise it, or use type keda
{{- end }}
{{- if and (eq $scaling.type "hpa") (not (int $of.slots)) }}
{{ $path }}.autoscaling.slotsPerWorker: is required with type hpa; set it, or set.slots
{{- end }}
{{- if and (eq $scaling.type "keda") (not (include "muster.scalerSecret" .root | fromYaml).name) }}
tokens.scaler.secret: is required for {{ $path }}.autoscaling.type keda, because this release does not generate the token; name a Secret with the key {{ (include "muster.scalerRef" .root | fromYaml).key }}
{{- end }}
{{- if and $of.isSafe .root.Values.operator.enabled .root.Values.operator.rbac.create (eq (.root.Values.operator.rbac.scaleWorkers | default "none") "none") }}
operator.rbac.scaleWorkers: is none, but {{ $path }}.autoscaling.scaleIn is Safe, for which the operator scales a StatefulSet; set it to statefulsets, or set scaleIn to Plain
{{- end }}
{{- end }}
{{- $own := . }}
{{- range $other := keys .root.Values.workers }}
{{- $their := include "muster.workerSet" (dict "root" $own.root "name" $other) | fromYaml }}
{{- if and $own.values.set (hasPrefix (printf "%s-" $own.name) $other) (eq $their.type $own.values.type) (not (hasKey $own.values.set "selector")) }}
{{ $path }}.set.selector: is required, because the pattern of {{ $own.name }} also matches the workers of {{ $other }}; set for example {idPatterns: [{{ include "muster.fullname" $own.root }}-{{ $own.name }}-?]}, or rename one of them
{{- end }}
{{- end }}
{{- end }}

{{/* {path, own, more}: checks the variables of the user (more) against those that the chart sets (own). */}}
{{- define "muster.faults.envOf" }}
{{- range $name, $value := .more }}
{{- if hasKey $.own $name }}
{{ $.path }}.{{ $name }}: is set by the chart; remove it, and set the corresponding value of the chart
{{- else if and (kindIs "string" $value) (regexMatch "^SVC_(ADMIN_TOKEN|SCALER_TOKEN|WORKER_TOKENS?|TOKEN_SCOPES|API_TOKEN|BACKEND_(SENTINEL_)?PASSWORD)$" $name) }}
{{ $.path }}.{{ $name }}: is a secret in plain text; put it into a Secret, and set its name in tokens or redis
{{- end }}
{{- end }}
{{- end }}

{{- define "muster.faults.env" }}
{{- $root := . }}
{{- if .Values.master.enabled }}
{{- include "muster.faults.envOf" (dict "path" "master.pod.env" "own" (include "muster.masterEnv" . | fromYaml) "more" .Values.master.pod.env) }}
{{- end }}
{{- if .Values.operator.enabled }}
{{- include "muster.faults.envOf" (dict "path" "operator.pod.env" "own" (include "muster.operatorEnv" . | fromYaml) "more" .Values.operator.pod.env) }}
{{- end }}
{{- if include "muster.hasBootstrap" . }}
{{- include "muster.faults.envOf" (dict "path" "bootstrap.pod.env" "own" (include "muster.bootstrapEnv" . | fromYaml) "more" .Values.bootstrap.pod.env) }}
{{- end }}
{{- range $name := keys .Values.workers | sortAlpha }}
{{- $set := include "muster.workerSet" (dict "root" $root "name" $name) | fromYaml }}
{{- include "muster.faults.envOf" (dict "path" (printf "workers.%s.pod.env" $name) "own" (include "muster.workerEnv" (dict "root" $root "values" $set) | fromYaml) "more" $set.pod.env) }}
{{- end }}
{{- end }}
