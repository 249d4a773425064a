{{/* Lists weak settings, one per line: `consequence: value that fixes it`. */}}
{{- define "muster.securityAdvice" }}
{{- if .Values.master.enabled }}
{{- if and (eq .Values.exposure.type "ingress") (not .Values.exposure.tls.enabled) }}
- Tokens are sent without encryption: exposure.tls.enabled=true
{{- end }}
{{- if and (not .Values.master.autoscaling.enabled) (lt (int .Values.master.replicas) 2) }}
- There is only one master, so its restart interrupts the service: master.replicas=2
{{- end }}
{{- if include "muster.hasRedis" . }}
{{- if not .Values.redis.embedded.persistence.enabled }}
- The state is lost when the Redis pod is deleted: redis.embedded.persistence.enabled=true
{{- end }}
{{- if ne .Values.redis.embedded.appendfsync "always" }}
- A crash may lose about 2 s of acknowledged writes: redis.embedded.appendfsync=always
{{- end }}
- Redis is a single pod, so its restart interrupts the service: redis.mode=external
{{- else if and .Values.redis.external.url (not (regexMatch "^(kvstores|rediss)" .Values.redis.external.url)) }}
- The connection to Redis is not encrypted: redis.external.url=kvstores://…
{{- end }}
{{- end }}
{{- if or (include "muster.createsTokens" .) (include "muster.createsRedisPassword" .) }}
- The created tokens and passwords are Secrets of this namespace, readable by every account that may read its Secrets; to manage them yourself: tokens.admin.secret, tokens.worker.secret, redis.embedded.password.secret
{{- end }}
{{- if not .Values.networkPolicy.enabled }}
- Every pod in the cluster can reach Redis and the metrics: networkPolicy.enabled=true
{{- end }}
{{- if not .Values.image.digest }}
- A registry can serve another image under the same tag: image.digest
{{- end }}
{{- if .Values.operator.enabled }}
{{- if .Values.operator.configFrom.secrets }}
- The operator can read every Secret by name in the namespaces it watches: operator.configFrom.secretNames
{{- end }}
{{- range $namespace, $tenant := .Values.operator.tenants }}
{{- if and (eq $namespace "*") (has "*" $tenant.types) (has "*" $tenant.workers) }}
- Every watched namespace may manage the workers of all others: operator.tenants
{{- end }}
{{- end }}
{{- end }}
{{- end }}
