{{/* Parts of NetworkPolicies. Their ports are those of pods, not of Services. */}}

{{/* {root, peers}: `from` of an ingress rule: the peers and the pods of the release. Empty without peers, which allows any. */}}
{{- define "muster.from" -}}
{{- if .peers }}
from:
  - podSelector:
      matchLabels:
        {{- include "muster.selector" (dict "root" .root) | nindent 8 }}
  {{- toYaml .peers | nindent 2 }}
{{- end }}
{{- end }}

{{- define "muster.dnsRule" -}}
- ports:
    {{- range .Values.openshift | ternary (concat .Values.networkPolicy.ports.dns (list 5353) | uniq) .Values.networkPolicy.ports.dns }}
    - port: {{ int . }}
      protocol: UDP
    - port: {{ int . }}
      protocol: TCP
    {{- end }}
{{- end }}

{{/* Egress to any address on the port of an http(s) URL; empty for "". */}}
{{- define "muster.urlRule" -}}
{{- with . }}
{{- $port := regexFind ":[0-9]+$" (urlParse .).host | trimPrefix ":" | default (hasPrefix "https" . | ternary "443" "80") }}
- ports:
    - port: {{ int $port }}
      protocol: TCP
{{- end }}
{{- end }}

{{/* {root, component, port}: egress to pods of the release. */}}
{{- define "muster.toRule" -}}
- to:
    - podSelector:
        matchLabels:
          {{- include "muster.selector" . | nindent 10 }}
  ports:
    - port: {{ .port }}
      protocol: TCP
{{- end }}

{{/* Egress to the API server. */}}
{{- define "muster.apiServerRule" -}}
{{- $server := .Values.networkPolicy.apiServer -}}
- ports:
    {{- range $server.ports }}
    - port: {{ int . }}
      protocol: TCP
    {{- end }}
  {{- with $server.cidrs }}
  to:
    {{- range . }}
    - ipBlock:
        cidr: {{ . | quote }}
    {{- end }}
  {{- end }}
{{- end }}
