{{/* {root, values}: the environment variables of a worker, as a map. Its worker ID is its host name, the name of the pod. */}}
{{- define "muster.workerEnv" -}}
{{- include "muster.commonEnv" .root }}
{{- include "muster.automationsEnv" .root }}
SVC_MASTER_URL: {{ include "muster.masterUrl" .root | quote }}
SVC_WORKER_TOKEN_FILE: {{ include "muster.secretsPath" .root }}/worker-token
SVC_AUTOMATION_TYPE: {{ .values.type | quote }}
{{- with .values.labels }}
{{- $pairs := list }}
{{- range $key, $value := . }}
{{- $pairs = append $pairs (printf "%s=%s" $key $value) }}
{{- end }}
SVC_WORKER_LABELS: {{ join "," $pairs | quote }}
{{- end }}
SVC_DRAIN_TIMEOUT_SECONDS: {{ int64 .values.drainTimeoutSeconds | quote }}
SVC_HEALTH_LISTEN: ":9091"
{{- end }}

{{/* Keeps the volume claims of a StatefulSet when it is deleted or scaled down. */}}
{{- define "muster.claims" -}}
persistentVolumeClaimRetentionPolicy:
  whenDeleted: Retain
  whenScaled: Retain
volumeClaimTemplates:
  - apiVersion: v1
    kind: PersistentVolumeClaim
    metadata:
      name: data
    spec:
      accessModes:
        - ReadWriteOnce
      {{- with .storageClassName }}
      storageClassName: {{ . | quote }}
      {{- end }}
      volumeMode: Filesystem
      resources:
        requests:
          storage: {{ .size }}
{{- end }}
