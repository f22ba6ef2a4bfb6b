{{- define "doppel.name" -}}
{{- if contains "doppel" .Release.Name }}{{ .Release.Name | trunc 52 }}{{ else }}{{ .Release.Name | trunc 45 }}-doppel{{ end }}
{{- end }}
{{- define "doppel.selector" -}}
app.kubernetes.io/name: doppel
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{/* The labels of a role: takes component and labels. */}}
{{- define "doppel.component" -}}
{{- with .component }}app.kubernetes.io/component: {{ . }}{{ end }}
{{- with .labels }}
{{ toYaml . }}
{{- end }}
{{- end }}
{{- define "doppel.labels" -}}
{{ include "doppel.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}
{{- define "doppel.port" -}}
{{ last (splitList ":" .Values.config.http.listen) }}
{{- end }}
