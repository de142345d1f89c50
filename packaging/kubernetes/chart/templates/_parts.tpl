{{- define "warmset.labels" -}}
app.kubernetes.io/name: warmset
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "warmset.config" -}}
mode = {{ .Values.mode | quote }}
{{- with .Values.config }}
{{ . }}
{{- end }}

[metrics]
listen = "127.0.0.1:9750"
{{- if .Values.textfile }}
textfile = "/textfile"
{{- end }}
{{- if eq .Values.mode "guard" }}

[guard]
# Limits of pods (memory.high) are the kubelet's.
throttle-ahead = "0 s"
spare = {{ .Values.spare | toJson }}
{{- end }}
{{- end }}
