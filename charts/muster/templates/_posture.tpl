{{/* Weak choices, one a line, each with the value that mends it. */}}
{{- define "muster.posture" }}
{{- if .Values.master.enabled }}
{{- if and (eq .Values.exposure.type "ingress") (not .Values.exposure.tls.enabled) }}
- Tokens cross the network in the clear: exposure.tls.enabled=true
{{- end }}
{{- if and (not .Values.master.autoscaling.enabled) (lt (int .Values.master.replicas) 2) }}
- One master: while it restarts nothing is served: master.replicas=2
{{- end }}
{{- if include "muster.hasRedis" . }}
{{- if not .Values.redis.embedded.persistence.enabled }}
- The state is gone with the pod of Redis: redis.embedded.persistence.enabled=true
{{- end }}
{{- if ne .Values.redis.embedded.appendfsync "always" }}
- About 2 s of what was acknowledged may be lost: redis.embedded.appendfsync=always
{{- end }}
- Redis is a single pod, fit for small and medium fleets: redis.mode=external
{{- else if and .Values.redis.external.url (not (regexMatch "^(kvstores|rediss)" .Values.redis.external.url)) }}
- Redis is asked without TLS: redis.external.url=kvstores://…
{{- end }}
{{- end }}
{{- if or (include "muster.createsTokens" .) (include "muster.createsRedisPassword" .) }}
- Tokens are created in this namespace, and everyone with the right to read Secrets here can read them: tokens.admin.secret, tokens.worker.secret, redis.embedded.password.secret
{{- end }}
{{- if not .Values.networkPolicy.enabled }}
- Every pod of the cluster reaches Redis and the metrics: networkPolicy.enabled=true
{{- end }}
{{- if not .Values.image.digest }}
- A tag may be moved: image.digest
{{- end }}
{{- if .Values.operator.enabled }}
{{- if .Values.operator.configFrom.secrets }}
- The operator may read every Secret of the namespaces it watches, by its name: operator.configFrom.secretNames
{{- end }}
{{- range $namespace, $tenant := .Values.operator.tenants }}
{{- if and (eq $namespace "*") (has "*" $tenant.types) (has "*" $tenant.workers) }}
- Every namespace that is watched may manage every worker: operator.tenants
{{- end }}
{{- end }}
{{- end }}
{{- end }}
