{{/* The Secrets that pods read, and those that the bootstrap process creates at run time: <fullname>-tokens, <fullname>-scaler and <fullname>-redis. */}}

{{- define "muster.createdTokens" -}}{{ include "muster.fullname" . }}-tokens{{- end }}

{{/* true if a required token has no Secret in the values. */}}
{{- define "muster.createsTokens" -}}
{{- $values := .Values -}}
{{- if or (and (or $values.master.enabled (and $values.operator.enabled (not $values.tokens.operator.secret))) (not $values.tokens.admin.secret)) (and (or $values.master.enabled $values.workers) (not $values.tokens.worker.secret)) }}true{{ end -}}
{{- end }}

{{/* The key of tokens.scaler, which is missing after an upgrade with --reuse-values. */}}
{{- define "muster.scalerRef" -}}
{{- .Values.tokens.scaler | default (dict "secret" "" "key" "scaler-token") | toYaml -}}
{{- end }}

{{- define "muster.createsScaler" -}}
{{- if and .Values.master.enabled (include "muster.createsTokens" .) (not (include "muster.scalerRef" . | fromYaml).secret) }}true{{ end -}}
{{- end }}

{{/* {root}: the Secret and the key of the token of autoscalers; the name is empty if there is none. */}}
{{- define "muster.scalerSecret" -}}
{{- $ref := include "muster.scalerRef" . | fromYaml -}}
{{- $created := include "muster.createsScaler" . | empty | ternary "" (printf "%s-scaler" (include "muster.fullname" .)) -}}
{{- dict "name" ($ref.secret | default $created) "key" (empty $ref.secret | ternary "scaler-token" $ref.key) | toYaml -}}
{{- end }}

{{/* true if workers and the operator use tokens of their ServiceAccounts. The value is missing after an upgrade with --reuse-values. */}}
{{- define "muster.usesAccounts" -}}
{{- if (.Values.tokens.kubernetes | default dict).enabled }}true{{ end -}}
{{- end }}

{{/* The name of a file: a source of the projected volume that puts a token of the pod's ServiceAccount into it. */}}
{{- define "muster.accountToken" }}
- serviceAccountToken:
    audience: muster
    expirationSeconds: 3600
    path: {{ . }}
{{- end }}

{{/* SVC_JWT_ISSUERS: what the ServiceAccounts of this release may do. The pod of a worker speaks only for the worker with its name. */}}
{{- define "muster.accountIssuers" -}}
{{- $root := . -}}
{{- $prefix := printf "system:serviceaccount:%s:" .Release.Namespace -}}
{{- $fullname := include "muster.fullname" . -}}
{{- $operator := include "muster.account" (dict "name" (printf "%s-operator" $fullname) "pod" .Values.operator.pod) -}}
{{- $rules := list (dict "when" (dict "/sub" (print $prefix $operator)) "role" "admin") -}}
{{- range $key := keys .Values.workers | sortAlpha -}}
{{- $values := include "muster.workerSet" (dict "root" $root "name" $key) | fromYaml -}}
{{- $account := include "muster.account" (dict "name" (printf "%s-%s" $fullname $key) "pod" $values.pod) -}}
{{- $rules = append $rules (dict "when" (dict "/sub" (print $prefix $account)) "role" "worker" "types" (list $values.type) "worker_claim" "/kubernetes.io/pod/name") -}}
{{- end -}}
{{- dict "name" "kubernetes" "issuer" .Values.tokens.kubernetes.issuer "audience" "muster" "jwks_file" (printf "%s/issuer-keys.json" (include "muster.secretsPath" .)) "rules" $rules | list | toJson -}}
{{- end }}

{{/* tokens.named and tokens.issuers, which are missing after an upgrade with --reuse-values. */}}
{{- define "muster.grants" -}}
{{- $none := dict "secret" "" "key" "" -}}
{{- dict "named" (.Values.tokens.named | default $none) "issuers" (.Values.tokens.issuers | default $none) | toYaml -}}
{{- end }}

{{- define "muster.createsRedisPassword" -}}
{{- if and (include "muster.hasRedis" .) (not .Values.redis.embedded.password.secret) }}true{{ end -}}
{{- end }}

{{/* master.alerts, which is missing after an upgrade with --reuse-values. */}}
{{- define "muster.alerts" -}}
{{- $none := dict "secret" "" "key" "" -}}
{{- .Values.master.alerts | default (dict "afterSeconds" 30 "webhook" $none "signature" $none) | toYaml -}}
{{- end }}

{{/* {ref, created, createdKey, as}: a source of the projected volume, mounted as the file `as`. Empty if no Secret is named. */}}
{{- define "muster.secretSource" -}}
{{- $name := .ref.secret | default .created -}}
{{- if $name }}
- secret:
    name: {{ $name | quote }}
    items:
      - key: {{ empty .ref.secret | ternary .createdKey .ref.key | quote }}
        path: {{ .as }}
{{- end }}
{{- end }}

{{- define "muster.masterSecrets" -}}
{{- $tokens := .Values.tokens -}}
{{- $created := include "muster.createsTokens" . | empty | ternary "" (include "muster.createdTokens" .) -}}
{{- include "muster.secretSource" (dict "ref" $tokens.admin "created" $created "createdKey" "admin-token" "as" "admin-token") }}
{{- include "muster.secretSource" (dict "ref" $tokens.worker "created" $created "createdKey" "worker-token" "as" "worker-token") }}
{{- include "muster.secretSource" (dict "ref" $tokens.workerPeers "created" $created "createdKey" "worker-tokens" "as" "worker-tokens") }}
{{- include "muster.secretSource" (dict "ref" $tokens.scopes "created" $created "createdKey" "token-scopes" "as" "token-scopes") }}
{{- $scaler := include "muster.scalerSecret" . | fromYaml }}
{{- include "muster.secretSource" (dict "ref" (dict "secret" $scaler.name "key" $scaler.key) "created" "" "as" "scaler-token") }}
{{- $grants := include "muster.grants" . | fromYaml }}
{{- include "muster.secretSource" (dict "ref" $grants.named "created" "" "as" "tokens") }}
{{- include "muster.secretSource" (dict "ref" $grants.issuers "created" "" "as" "jwt-issuers") }}
{{- with include "muster.masterTls" . }}
- secret:
    name: {{ . | quote }}
    items:
      - key: tls.crt
        path: tls.crt
      - key: tls.key
        path: tls.key
{{- end }}
{{- $alerts := include "muster.alerts" . | fromYaml }}
{{- include "muster.secretSource" (dict "ref" $alerts.webhook "created" "" "as" "alert-webhook-url") }}
{{- if $alerts.webhook.secret }}
{{- include "muster.secretSource" (dict "ref" $alerts.signature "created" "" "as" "alert-webhook-secret") }}
{{- end }}
{{- if include "muster.hasRedis" . }}
{{- include "muster.secretSource" (dict "ref" .Values.redis.embedded.password "created" (printf "%s-redis" (include "muster.fullname" .)) "createdKey" "password" "as" "redis-password") }}
{{- else }}
{{- $external := .Values.redis.external }}
{{- include "muster.secretSource" (dict "ref" $external.password "created" "" "as" "redis-password") }}
{{- include "muster.secretSource" (dict "ref" (dict "secret" $external.urlSecret.name "key" $external.urlSecret.key) "created" "" "as" "redis-url") }}
{{- with $external.clientCert.secret }}
- secret:
    name: {{ . | quote }}
    items:
      - key: tls.crt
        path: redis-client.crt
      - key: tls.key
        path: redis-client.key
{{- end }}
{{- end }}
{{- if include "muster.usesAccounts" . }}
- configMap:
    name: {{ include "muster.fullname" . }}-issuer
    items:
      - key: keys.json
        path: issuer-keys.json
{{- end }}
{{- end }}

{{- define "muster.workerSecrets" -}}
{{- if include "muster.usesAccounts" . }}
{{- include "muster.accountToken" "worker-token" }}
{{- else }}
{{- include "muster.secretSource" (dict "ref" .Values.tokens.worker "created" (include "muster.createdTokens" .) "createdKey" "worker-token" "as" "worker-token") }}
{{- end }}
{{- end }}

{{- define "muster.operatorSecrets" -}}
{{- if include "muster.usesAccounts" . }}
{{- include "muster.accountToken" "api-token" }}
{{- else }}
{{- $ref := empty .Values.tokens.operator.secret | ternary .Values.tokens.admin .Values.tokens.operator -}}
{{- include "muster.secretSource" (dict "ref" $ref "created" (include "muster.createdTokens" .) "createdKey" "admin-token" "as" "api-token") }}
{{- end }}
{{- end }}

{{/* The Secrets that the bootstrap process creates, as a list. */}}
{{- define "muster.createdSecrets" -}}
{{- $names := list -}}
{{- if include "muster.createsTokens" . }}{{ $names = append $names (include "muster.createdTokens" .) }}{{ end -}}
{{- if include "muster.createsScaler" . }}{{ $names = append $names (printf "%s-scaler" (include "muster.fullname" .)) }}{{ end -}}
{{- if include "muster.createsRedisPassword" . }}{{ $names = append $names (printf "%s-redis" (include "muster.fullname" .)) }}{{ end -}}
{{- toYaml $names -}}
{{- end }}

{{- define "muster.hasBootstrap" -}}
{{- if and .Values.operator.enabled (include "muster.createdSecrets" . | fromYamlArray) }}true{{ end -}}
{{- end }}

{{/* The Secrets of the release, as a list. configFrom may not reference them. */}}
{{- define "muster.reservedSecrets" -}}
{{- $tokens := .Values.tokens -}}
{{- $alerts := include "muster.alerts" . | fromYaml -}}
{{- $grants := include "muster.grants" . | fromYaml -}}
{{- $names := include "muster.createdSecrets" . | fromYamlArray -}}
{{- range list $tokens.admin $tokens.worker $tokens.workerPeers $tokens.scopes $tokens.operator (include "muster.scalerRef" . | fromYaml) $alerts.webhook $alerts.signature $grants.named $grants.issuers }}{{ $names = append $names .secret }}{{ end -}}
{{- $redis := .Values.redis -}}
{{- range list $redis.embedded.password $redis.embedded.tls $redis.external.password $redis.external.clientCert }}{{ $names = append $names .secret }}{{ end -}}
{{- $names = append $names (include "muster.masterTls" .) -}}
{{- append $names $redis.external.urlSecret.name | compact | uniq | sortAlpha | toYaml -}}
{{- end }}

{{/* The tokens that the pod of helm test uses. */}}
{{- define "muster.testSecrets" -}}
{{- $created := include "muster.createdTokens" . -}}
{{- include "muster.secretSource" (dict "ref" .Values.tokens.admin "created" $created "createdKey" "admin-token" "as" "admin-token") }}
{{- include "muster.secretSource" (dict "ref" .Values.tokens.worker "created" $created "createdKey" "worker-token" "as" "worker-token") }}
{{- end }}
