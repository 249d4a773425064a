{{/* Annotations of each profile. They keep WebSockets, streams and long polls from being cut, and set the body size. */}}

{{/* Annotations of the Ingress or HTTPRoute, as a map. */}}
{{- define "muster.exposureProfile" -}}
{{- $bytes := int64 .Values.master.limits.maxBodyBytes | toString -}}
{{- $master := printf "%s-master" (include "muster.fullname" .) -}}
{{- $profile := .Values.exposure.profile -}}
{{- if eq $profile "f5-nginx" }}
nginx.org/websocket-services: {{ $master }}
nginx.org/proxy-read-timeout: 1h
nginx.org/proxy-send-timeout: 1h
nginx.org/proxy-buffering: "False"
nginx.org/client-max-body-size: {{ $bytes | quote }}
{{- else if eq $profile "ingress-nginx" }}
nginx.ingress.kubernetes.io/proxy-read-timeout: "3600"
nginx.ingress.kubernetes.io/proxy-send-timeout: "3600"
nginx.ingress.kubernetes.io/proxy-body-size: {{ $bytes | quote }}
{{- else if eq $profile "contour" }}
projectcontour.io/websocket-routes: /api/v1
projectcontour.io/response-timeout: infinity
{{- else if eq $profile "openshift" }}
route.openshift.io/termination: edge
haproxy.router.openshift.io/timeout: 60s
haproxy.router.openshift.io/timeout-tunnel: 1h
{{- else if eq $profile "alb" }}
alb.ingress.kubernetes.io/target-type: ip
alb.ingress.kubernetes.io/healthcheck-path: /readyz
alb.ingress.kubernetes.io/load-balancer-attributes: idle_timeout.timeout_seconds=120
alb.ingress.kubernetes.io/target-group-attributes: deregistration_delay.timeout_seconds=30
{{- end }}
{{- end }}

{{/* Annotations of the master's Service, as a map. */}}
{{- define "muster.serviceProfile" -}}
{{- if and (eq .Values.exposure.profile "gke") (ne .Values.exposure.type "none") -}}
cloud.google.com/backend-config: {{ dict "default" (printf "%s-master" (include "muster.fullname" .)) | toJson | quote }}
cloud.google.com/neg: {{ dict "ingress" true | toJson | quote }}
{{- end }}
{{- end }}

{{/* The exposed paths, as a list of {path, type}: never /metrics or /readyz. */}}
{{- define "muster.publicPaths" -}}
- {path: /api/v1, type: Prefix}
- {path: /healthz, type: Exact}
{{- if .Values.exposure.dashboard }}
- {path: /, type: Exact}
- {path: /assets, type: Prefix}
{{- end }}
{{- end }}
