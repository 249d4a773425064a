{{/* Parts of fleet-sets.yaml and autoscaling.yaml. */}}

{{/* {root, name, values}: an entry of workers as autoscalers see it: scaling (merged), slots, target, isRendered. `values` is merged. */}}
{{- define "muster.autoscaler" -}}
{{- $scaling := include "muster.workerScaling" .values | fromYaml -}}
{{- $set := .values.set | default dict -}}
{{- $isSafe := eq $scaling.scaleIn "Safe" -}}
{{- $slots := int $scaling.slotsPerWorker | default (int ($set.slots | default 0)) | default (int (($set.config | default dict).slots | default 0)) -}}
{{- $isRendered := and (ne $scaling.type "none") (or (not $isSafe) (include "muster.hasFleetSets" .root)) -}}
{{- $target := dict "apiVersion" ($isSafe | ternary "muster.dev/v1alpha1" "apps/v1") "kind" ($isSafe | ternary "FleetWorkerSet" "StatefulSet") "name" (printf "%s-%s" (include "muster.fullname" .root) .name) -}}
{{- dict "scaling" $scaling "slots" $slots "isSafe" $isSafe "isRendered" (not (not $isRendered)) "target" $target | toYaml -}}
{{- end }}

{{/* The names of the entries of workers that KEDA scales, as a list. */}}
{{- define "muster.kedaWorkers" -}}
{{- $root := . -}}
{{- $names := list -}}
{{- range $name := keys .Values.workers | sortAlpha }}
{{- $values := include "muster.workerSet" (dict "root" $root "name" $name) | fromYaml }}
{{- $of := include "muster.autoscaler" (dict "root" $root "name" $name "values" $values) | fromYaml }}
{{- if and $of.isRendered (eq $of.scaling.type "keda") }}{{ $names = append $names $name }}{{ end }}
{{- end -}}
{{- toYaml $names -}}
{{- end }}

{{/* The URL of the master for clients in other namespaces. */}}
{{- define "muster.masterUrlFromOutside" -}}
{{- .Values.masterUrl | default (printf "%s://%s-master.%s.svc:%d" (include "muster.masterScheme" .) (include "muster.fullname" .) .Release.Namespace (int .Values.master.service.port)) | trimSuffix "/" -}}
{{- end }}
