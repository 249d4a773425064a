{{/* The environment variables of the operator, as a map. */}}
{{- define "muster.operatorEnv" -}}
{{- $fullname := include "muster.fullname" . -}}
{{- include "muster.commonEnv" . }}
{{- /* Without them Node keeps tens of MiB for objects that live for a moment. */}}
NODE_OPTIONS: --max-semi-space-size=2
MALLOC_ARENA_MAX: "1"
MALLOC_TRIM_THRESHOLD_: "131072"
SVC_MASTER_URL: {{ include "muster.masterUrl" . | quote }}
SVC_LEASE_NAME: {{ $fullname }}-operator
SVC_METRICS_LISTEN: ":9090"
{{- if not .Values.operator.watchNamespaces }}
SVC_WATCH_NAMESPACES: {valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
{{- else }}
{{- with include "muster.watchedNamespaces" . | fromYamlArray }}
SVC_WATCH_NAMESPACES: {{ join "," . | quote }}
{{- end }}
{{- end }}
{{- with .Values.operator.tenants }}
SVC_TENANTS: {{ toJson . | quote }}
{{- end }}
SVC_API_TOKEN_FILE: {{ include "muster.secretsPath" . }}/api-token
{{- if include "muster.usesAccounts" . }}
SVC_ISSUER_KEYS_CONFIG_MAP: {{ include "muster.fullname" . }}-issuer
{{- end }}
{{- with include "muster.reservedSecrets" . | fromYamlArray }}
SVC_RESERVED_SECRETS: {{ join "," . | quote }}
{{- end }}
{{- end }}

{{/* The environment variables of the bootstrap process, as a map. */}}
{{- define "muster.bootstrapEnv" -}}
{{- include "muster.commonEnv" . }}
{{- if include "muster.createsTokens" . }}
SVC_BOOTSTRAP_TOKENS_SECRET: {{ include "muster.createdTokens" . }}
{{- end }}
{{- if include "muster.createsScaler" . }}
SVC_BOOTSTRAP_SCALER_SECRET: {{ include "muster.fullname" . }}-scaler
{{- end }}
{{- if include "muster.createsRedisPassword" . }}
SVC_BOOTSTRAP_REDIS_SECRET: {{ include "muster.fullname" . }}-redis
{{- end }}
{{- end }}

{{/* The namespaces whose FleetWorkers and FleetWorkerSets the operator watches, as a list; [] = all. */}}
{{- define "muster.watchedNamespaces" -}}
{{- $names := .Values.operator.watchNamespaces | default (list .Release.Namespace) -}}
{{- has "*" $names | ternary list $names | toYaml -}}
{{- end }}

{{/* The RBAC rules of the operator in each watched namespace. */}}
{{- define "muster.watchRules" -}}
- apiGroups: [muster.dev]
  resources: [fleetworkers, fleetworkersets]
  verbs: [get, list, watch, patch]
- apiGroups: [muster.dev]
  resources: [fleetworkers/status, fleetworkersets/status]
  verbs: [patch]
- apiGroups: [apps]
  resources: [controllerrevisions]
  verbs: [get, list, create, delete]
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, patch]
{{- $from := .Values.operator.configFrom }}
{{- if or $from.secrets $from.secretNames }}
- apiGroups: [""]
  resources: [secrets]
  {{- if not $from.secrets }}
  resourceNames:
    {{- toYaml $from.secretNames | nindent 4 }}
  {{- end }}
  verbs: [get]
{{- end }}
{{- if $from.configMaps }}
- apiGroups: [""]
  resources: [configmaps]
  verbs: [get]
{{- end }}
{{- $scale := .Values.operator.rbac.scaleWorkers | default "none" }} {{- /* Missing after an upgrade with --reuse-values. */}}
{{- if ne $scale "none" }}
- apiGroups: [apps]
  resources: [statefulsets]
  verbs: [get]
- apiGroups: [apps]
  resources: [statefulsets/scale]
  verbs: [get, patch]
- apiGroups: [muster.dev]
  resources: [fleetworkersets/scale]
  verbs: [patch]
{{- end }}
{{- if eq $scale "all" }}
- apiGroups: [apps]
  resources: [deployments/scale]
  verbs: [get, patch]
- apiGroups: [""]
  resources: [pods]
  verbs: [list, patch]
{{- end }}
{{- end }}
