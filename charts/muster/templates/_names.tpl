{{/* Names and labels. Selectors are name, instance, component and (for workers) set. They must never change: Kubernetes rejects it. */}}

{{- define "muster.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 40 | trimSuffix "-" -}}
{{- end }}

{{- define "muster.fullname" -}}
{{- $name := include "muster.name" . -}}
{{- $whole := contains $name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $name) -}}
{{- .Values.fullnameOverride | default $whole | trunc 40 | trimSuffix "-" -}}
{{- end }}

{{- define "muster.selector" -}}
app.kubernetes.io/name: {{ include "muster.name" .root | quote }}
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
{{- with .component }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- with .set }}
muster.dev/workers: {{ . | quote }}
{{- end }}
{{- end }}

{{/* Metadata of an object: {root, name, component?, set?, labels?, annotations?}. */}}
{{- define "muster.metadata" -}}
{{- $labels := include "muster.selector" . | fromYaml -}}
{{- $labels = merge $labels (dict "app.kubernetes.io/version" (.root.Chart.AppVersion | trunc 63) "app.kubernetes.io/managed-by" .root.Release.Service "helm.sh/chart" (printf "%s-%s" .root.Chart.Name (.root.Chart.Version | replace "+" "_") | trunc 63)) -}}
name: {{ .name | quote }}
labels:
  {{- merge $labels (.labels | default dict) .root.Values.commonLabels | toYaml | nindent 2 }}
{{- with mergeOverwrite (dict) .root.Values.commonAnnotations (.annotations | default dict) }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "muster.image" -}}
{{- $registry := .root.Values.global.imageRegistry | default .image.registry -}}
{{- with $registry }}{{ . }}/{{ end }}{{ .image.repository }}
{{- if .image.digest }}@{{ .image.digest }}{{ else }}:{{ .image.tag | default .root.Chart.AppVersion }}{{ end }}
{{- end }}

{{- define "muster.account" -}}
{{- .pod.serviceAccount.name | default .name -}}
{{- end }}

{{/* {root, name, component, pod}: the service account of a workload. Only pods that call the Kubernetes API mount its token. */}}
{{- define "muster.accountObject" -}}
{{- if .pod.serviceAccount.create }}
---
apiVersion: v1
kind: ServiceAccount
metadata:
  {{- include "muster.metadata" (dict "root" .root "name" (include "muster.account" .) "component" .component "annotations" .pod.serviceAccount.annotations) | nindent 2 }}
automountServiceAccountToken: false
{{- end }}
{{- end }}

{{- define "muster.masterUrl" -}}
{{- $service := .Values.master.service -}}
{{- $default := include "muster.masterTls" . | empty | ternary 80 443 -}}
{{- .Values.masterUrl | default (printf "%s://%s-master%s" (include "muster.masterScheme" .) (include "muster.fullname" .) (eq (int $service.port) $default | ternary "" (printf ":%d" (int $service.port)))) -}}
{{- end }}

{{/* The Secret with the certificate of the masters of this release; empty for plain HTTP. */}}
{{- define "muster.masterTls" -}}
{{- if .Values.master.enabled }}{{ (.Values.master.tls | default dict).existingSecret }}{{ end -}} {{- /* Missing after an upgrade with --reuse-values. */}}
{{- end }}

{{- define "muster.masterScheme" -}}
{{- include "muster.masterTls" . | empty | ternary "http" "https" -}}
{{- end }}

{{/* {root, name}: an entry of workers, merged over workerDefaults. */}}
{{- define "muster.workerSet" -}}
{{- mergeOverwrite (deepCopy .root.Values.workerDefaults) (get .root.Values.workers .name | default dict) | toYaml -}}
{{- end }}

{{/* An entry of workers, merged: autoscaling with defaults, which are missing after an upgrade with --reuse-values. */}}
{{- define "muster.workerScaling" -}}
{{- $defaults := dict "type" "none" "minReplicas" 1 "maxReplicas" 10 "targetWaitSeconds" 30 "slotsPerWorker" 0 "scaleIn" "Safe" "pollingSeconds" 5 "cooldownSeconds" 120 "behavior" dict -}}
{{- mergeOverwrite $defaults (.autoscaling | default dict) | toYaml -}}
{{- end }}

{{/* An entry of workers, merged: true if another controller sets the number of its pods. */}}
{{- define "muster.hasOwnReplicas" -}}
{{- if or (kindIs "invalid" .replicas) (ne (include "muster.workerScaling" . | fromYaml).type "none") }}true{{ end -}}
{{- end }}

{{/* An entry of workers, merged: true if it may have more than one pod. */}}
{{- define "muster.hasManyWorkers" -}}
{{- if or (include "muster.hasOwnReplicas" .) (gt (int .replicas) 1) }}true{{ end -}}
{{- end }}

{{/* {root}: whether fleetSets is enabled; the key is missing after an upgrade with --reuse-values. */}}
{{- define "muster.hasFleetSets" -}}
{{- if (.Values.fleetSets | default dict).enabled }}true{{ end -}}
{{- end }}

{{- define "muster.hasRedis" -}}
{{- if and .Values.master.enabled (eq .Values.redis.mode "embedded") }}true{{ end -}}
{{- end }}

{{- define "muster.hasTest" -}}
{{- if and .Values.tests.enabled .Values.master.enabled .Values.operator.enabled }}true{{ end -}}
{{- end }}
