{{/* The environment variables of the master, as a map. int64 keeps Helm from printing a million as 1e+06. */}}
{{- define "muster.masterEnv" -}}
{{- $values := .Values -}}
{{- $limits := $values.master.limits -}}
{{- $secrets := include "muster.secretsPath" . -}}
{{- include "muster.commonEnv" . }}
{{- include "muster.automationsEnv" . }}
{{- /* Without it Node keeps 64 MiB for short-lived objects: 30 KiB for each of 5,000 reporting workers instead of 12. */}}
NODE_OPTIONS: --max-semi-space-size=4
SVC_LISTEN: ":8080"
SVC_SUBMIT_RPS_PER_TOKEN: {{ int64 $limits.submitRpsPerToken | quote }}
SVC_IDEMPOTENCY_TTL_SECONDS: {{ int64 $limits.idempotencyTtlSeconds | quote }}
SVC_MAX_BODY_BYTES: {{ int64 $limits.maxBodyBytes | quote }}
SVC_MAX_LOST_LEASES: {{ int64 $limits.maxLostLeases | quote }}
SVC_MAX_QUEUE_LENGTH: {{ int64 $limits.maxQueueLength | quote }}
{{- if hasKey $limits "maxOutcomes" }} {{- /* Missing after an upgrade with --reuse-values. */}}
SVC_MAX_OUTCOMES: {{ int64 $limits.maxOutcomes | quote }}
{{- end }}
SVC_MAX_SOCKETS: {{ int64 $limits.maxSockets | quote }}
{{- with ($values.master.environment | default dict).name }} {{- /* Missing after an upgrade with --reuse-values. */}}
SVC_ENVIRONMENT_NAME: {{ . | quote }}
SVC_ENVIRONMENT_COLOR: {{ $values.master.environment.color }}
{{- end }}
{{- $alerts := include "muster.alerts" . | fromYaml }}
{{- if ne (int64 $alerts.afterSeconds) 30 }}
SVC_ALERT_AFTER_SECONDS: {{ int64 $alerts.afterSeconds | quote }}
{{- end }}
{{- if $alerts.webhook.secret }}
SVC_ALERT_WEBHOOK_URL_FILE: {{ $secrets }}/alert-webhook-url
{{- if $alerts.signature.secret }}
SVC_ALERT_WEBHOOK_SECRET_FILE: {{ $secrets }}/alert-webhook-secret
{{- end }}
{{- end }}
{{- with $values.master.corsOrigins }}
SVC_CORS_ORIGINS: {{ join "," . | quote }}
{{- end }}
{{- if include "muster.masterTls" . }}
SVC_TLS_CERT_FILE: {{ $secrets }}/tls.crt
SVC_TLS_KEY_FILE: {{ $secrets }}/tls.key
{{- end }}
SVC_ADMIN_TOKEN_FILE: {{ $secrets }}/admin-token
SVC_WORKER_TOKEN_FILE: {{ $secrets }}/worker-token
{{- if or $values.tokens.workerPeers.secret (include "muster.createsTokens" .) }}
SVC_WORKER_TOKENS_FILE: {{ $secrets }}/worker-tokens
{{- end }}
{{- if or $values.tokens.scopes.secret (include "muster.createsTokens" .) }}
SVC_TOKEN_SCOPES_FILE: {{ $secrets }}/token-scopes
{{- end }}
{{- $grants := include "muster.grants" . | fromYaml }}
{{- if $grants.named.secret }}
SVC_TOKENS_FILE: {{ $secrets }}/tokens
{{- end }}
{{- if include "muster.usesAccounts" . }}
SVC_JWT_ISSUERS: {{ include "muster.accountIssuers" . | quote }}
{{- end }}
{{- if $grants.issuers.secret }}
SVC_JWT_ISSUERS_FILE: {{ $secrets }}/jwt-issuers
{{- end }}
{{- if (include "muster.scalerSecret" . | fromYaml).name }}
SVC_SCALER_TOKEN_FILE: {{ $secrets }}/scaler-token
{{- end }}
{{- if include "muster.hasRedis" . }}
SVC_BACKEND_URL: {{ printf "kvstore%s://muster@%s-redis:6379" (empty $values.redis.embedded.tls.secret | ternary "" "s") (include "muster.fullname" .) }}
SVC_BACKEND_PASSWORD_FILE: {{ $secrets }}/redis-password
{{- else }}
{{- $external := $values.redis.external }}
{{- if $external.urlSecret.name }}
SVC_BACKEND_URL_FILE: {{ $secrets }}/redis-url
{{- else }}
SVC_BACKEND_URL: {{ $external.url | quote }}
{{- end }}
{{- if $external.password.secret }}
SVC_BACKEND_PASSWORD_FILE: {{ $secrets }}/redis-password
{{- end }}
{{- if $external.clientCert.secret }}
SVC_BACKEND_CERT_FILE: {{ $secrets }}/redis-client.crt
SVC_BACKEND_KEY_FILE: {{ $secrets }}/redis-client.key
{{- end }}
{{- end }}
{{- end }}
