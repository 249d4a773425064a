{{/* The common parts of all pods and containers. They comply with the restricted profile of Pod Security. */}}

{{- define "muster.secretsPath" -}}/run/secrets/muster{{- end }}
{{- define "muster.trustPath" -}}/etc/muster/trust/ca.crt{{- end }}
{{- define "muster.hasTrust" -}}{{ if or .Values.trust.configMap .Values.trust.secret }}true{{ end }}{{- end }}

{{/* Metadata of a pod: {root, component, set?, pod, annotations?}. */}}
{{- define "muster.podMetadata" -}}
labels:
  {{- merge (include "muster.selector" . | fromYaml) .pod.labels .root.Values.commonLabels | toYaml | nindent 2 }}
{{- with mergeOverwrite (dict) .root.Values.commonAnnotations (.annotations | default dict) .pod.annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* {root, name, component, set?, pod, many, api?, grace?}: the spec of a pod without its containers and volumes. */}}
{{- define "muster.podSpec" -}}
serviceAccountName: {{ include "muster.account" . | quote }}
automountServiceAccountToken: {{ .api | default false }}
enableServiceLinks: false
{{- $names := concat (.root.Values.global.imagePullSecrets | default list) .root.Values.imagePullSecrets }}
{{- with $names }}
imagePullSecrets:
  {{- range . }}
  - name: {{ if kindIs "map" . }}{{ .name | quote }}{{ else }}{{ . | quote }}{{ end }}
  {{- end }}
{{- end }}
securityContext:
  runAsNonRoot: true
  {{- if not .root.Values.openshift }}
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  fsGroupChangePolicy: OnRootMismatch
  {{- end }}
  seccompProfile:
    type: RuntimeDefault
terminationGracePeriodSeconds: {{ .grace | default .pod.terminationGracePeriodSeconds | int64 }}
{{- with .pod.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .pod.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .pod.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .pod.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- with .pod.runtimeClassName }}
runtimeClassName: {{ . | quote }}
{{- end }}
{{- if .pod.topologySpreadConstraints }}
topologySpreadConstraints:
  {{- toYaml .pod.topologySpreadConstraints | nindent 2 }}
{{- else if .many }}
topologySpreadConstraints:
  {{- $selector := include "muster.selector" . }}
  {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- $selector | nindent 8 }}
  {{- end }}
{{- end }}
{{- end }}

{{- define "muster.securityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
runAsNonRoot: true
capabilities:
  drop:
    - ALL
{{- end }}

{{/* The environment variables that all Muster processes share, as a map. */}}
{{- define "muster.commonEnv" -}}
SVC_LOG_LEVEL: {{ .Values.log.level }}
SVC_LOG_FORMAT: {{ .Values.log.format }}
{{- with .Values.telemetry.otlpEndpoint }}
OTEL_EXPORTER_OTLP_ENDPOINT: {{ . | quote }}
{{- end }}
{{- if include "muster.hasTrust" . }}
NODE_EXTRA_CA_CERTS: {{ include "muster.trustPath" . }}
{{- end }}
{{- end }}

{{/* SVC_AUTOMATIONS of masters and workers. Not set without modules: they load the automation packages in the image. */}}
{{- define "muster.automationsEnv" -}}
{{- $modules := .Values.automations.modules -}}
{{- range $file, $source := .Values.automations.inline }}{{ $modules = append $modules (printf "/opt/muster/automations/inline/%s" $file) }}{{ end }}
{{- with $modules }}
SVC_AUTOMATIONS: {{ join "," . | quote }}
{{- end }}
{{- end }}

{{/* {env, more}: the variables of the chart and those of the user, as a list. _checks.tpl rejects a variable in both. */}}
{{- define "muster.envList" -}}
{{- range list .env .more }}
{{- range $name, $value := . }}
- name: {{ $name | quote }}
  {{- if kindIs "map" $value }}
  {{- toYaml $value | nindent 2 }}
  {{- else }}
  value: {{ $value | quote }}
  {{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* {root, pod, secrets, automations}: the volume mounts of a Muster container. */}}
{{- define "muster.volumeMounts" -}}
- name: tmp
  mountPath: /tmp
{{- if .secrets }}
- name: secrets
  mountPath: {{ include "muster.secretsPath" .root }}
  readOnly: true
{{- end }}
{{- if include "muster.hasTrust" .root }}
- name: trust
  mountPath: {{ dir (include "muster.trustPath" .root) }}
  readOnly: true
{{- end }}
{{- if .automations }}
{{- if .root.Values.automations.inline }}
- name: inline
  mountPath: /opt/muster/automations/inline
  readOnly: true
{{- end }}
{{- if .root.Values.automations.volume }}
- name: automations
  mountPath: /opt/muster/automations/volume
  readOnly: true
{{- end }}
{{- end }}
{{- with .pod.volumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "muster.volumes" -}}
- name: tmp
  emptyDir:
    sizeLimit: 64Mi
{{- with .secrets }}
- name: secrets
  projected:
    defaultMode: 288
    sources:
      {{- . | nindent 6 }}
{{- end }}
{{- $trust := .root.Values.trust }}
{{- if include "muster.hasTrust" .root }}
- name: trust
  projected:
    defaultMode: 292
    sources:
      - {{ empty $trust.configMap | ternary "secret" "configMap" }}:
          name: {{ $trust.configMap | default $trust.secret | quote }}
          items:
            - key: {{ $trust.key | quote }}
              path: {{ base (include "muster.trustPath" .root) }}
{{- end }}
{{- if .automations }}
{{- if .root.Values.automations.inline }}
- name: inline
  configMap:
    name: {{ include "muster.fullname" .root }}-automations
    defaultMode: 292
{{- end }}
{{- with .root.Values.automations.volume }}
- name: automations
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- with .pod.volumes }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* {port, scheme}: the probes of a Muster process. Without a scheme they use HTTP. */}}
{{- define "muster.probes" -}}
startupProbe:
  httpGet:
    path: /healthz
    port: {{ .port }}
    {{- with .scheme }}
    scheme: {{ . }}
    {{- end }}
  periodSeconds: 2
  failureThreshold: 60
livenessProbe:
  httpGet:
    path: /healthz
    port: {{ .port }}
    {{- with .scheme }}
    scheme: {{ . }}
    {{- end }}
  periodSeconds: 20
  timeoutSeconds: 5
readinessProbe:
  httpGet:
    path: /readyz
    port: {{ .port }}
    {{- with .scheme }}
    scheme: {{ . }}
    {{- end }}
  periodSeconds: 5
  timeoutSeconds: 3
{{- end }}

{{- define "muster.inlineChecksum" -}}
{{- with .Values.automations.inline }}
muster.dev/automations: {{ toJson . | sha256sum }}
{{- end }}
{{- end }}
