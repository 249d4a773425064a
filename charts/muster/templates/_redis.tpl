{{/* redis.conf of a single node: append-only file, no eviction, and no users except those of the ACL file. */}}
{{- define "muster.redisConfig" -}}
{{- $values := .Values.redis.embedded -}}
dir /data
aclfile /run/redis/users.acl
appendonly yes
appendfsync {{ $values.appendfsync }}
aof-load-truncated yes
save ""
maxmemory {{ div (mul (int64 $values.memoryMiB) 60) 100 }}mb
maxmemory-policy noeviction
{{- if $values.tls.secret }}
port 0
tls-port 6379
tls-cert-file /run/secrets/tls/tls.crt
tls-key-file /run/secrets/tls/tls.key
tls-auth-clients no
{{- end }}
{{- end }}

{{/* The password, and the optional previous one of a rotation. Only a whole source can be optional, so it has its own. */}}
{{- define "muster.redisPasswords" -}}
{{- include "muster.secretSource" (dict "ref" .Values.redis.embedded.password "created" (printf "%s-redis" (include "muster.fullname" .)) "createdKey" "password" "as" "password") }}
- secret:
    name: {{ .Values.redis.embedded.password.secret | default (printf "%s-redis" (include "muster.fullname" .)) | quote }}
    optional: true
    items:
      - key: previous-password
        path: previous-password
{{- end }}
