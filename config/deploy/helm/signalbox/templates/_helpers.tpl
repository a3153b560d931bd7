{{/* Names */}}

{{- define "signalbox.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "signalbox.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "signalbox.metadata" -}}
name: {{ include "signalbox.fullname" . }}
namespace: {{ .Release.Namespace }}
labels:
  {{- include "signalbox.labels" . | nindent 2 }}
{{- end -}}

{{- define "signalbox.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{ include "signalbox.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "signalbox.serviceAccount" -}}
{{- .Values.serviceAccount.existingName | default (include "signalbox.fullname" .) -}}
{{- end -}}

{{- define "signalbox.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{- printf "%s@%s" .repository .digest -}}
{{- else -}}
{{- printf "%s:%s" .repository (.tag | default $.Chart.AppVersion) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Refuses values that would serve wrongly or put a secret where it can be read. */}}
{{- define "signalbox.check" -}}
{{- $values := .Values -}}
{{- if not .Values.image.repository -}}
{{- fail "\nimage.repository is not set. Build config/deploy/Dockerfile, push the image, and name its repository." -}}
{{- end -}}
{{- if eq .Values.mode "cluster" -}}
{{- if not .Values.existingSecret -}}
{{- fail "\nexistingSecret is not set. Mode cluster needs a Secret with EVENTSTORE_URL, LEDGER_URL and REDIS_URL." -}}
{{- end -}}
{{- if not .Values.existingKeysSecret -}}
{{- fail "\nexistingKeysSecret is not set. Without it, every pod of mode cluster would sign sessions and checkpoints with a key of its own, which ends with the pod. Create a Secret with checkpoints.pem and console-sessions.key (docs/guides/kubernetes.md)." -}}
{{- end -}}
{{- else if .Values.autoscaling.enabled -}}
{{- fail "\nautoscaling.enabled needs mode: cluster. In mode single, one pod keeps everything on its volume." -}}
{{- end -}}
{{- range $variable := include "signalbox.secretVariables" . | splitList " " -}}
{{- if hasKey $values.settings (lower $variable) -}}
{{- fail (printf "\nsettings.%s is a secret. Put %s into the Secret that existingSecret names." (lower $variable) $variable) -}}
{{- end -}}
{{- end -}}
{{- range $setting := list "host" "port" "route_port" "metrics_port" "data_dir" -}}
{{- if hasKey $values.settings $setting -}}
{{- fail (printf "\nsettings.%s is set by the chart. Remove it; service.port and service.routePort are the ports that clients use." $setting) -}}
{{- end -}}
{{- end -}}
{{- if regexMatch "://[^/@\\s]*:[^/@\\s]+@" (toYaml .Values.settings) -}}
{{- fail "\nsettings has an address with a password. Put it into the Secret that existingSecret names, as a variable of docs/guides/settings.md." -}}
{{- end -}}
{{- range .Values.env -}}
{{- if has .name (list "HOST" "PORT" "ROUTE_PORT" "METRICS_PORT" "DATA_DIR" "CONFIG") -}}
{{- fail (printf "\nenv: %s is set by the chart. Remove it." .name) -}}
{{- end -}}
{{- if and (hasKey . "value") (or (regexMatch "(_KEY|_SECRET|_PASSWORD|_TOKEN)$" .name) (has .name (include "signalbox.secretVariables" $ | splitList " "))) -}}
{{- fail (printf "\nenv: %s is a secret. Put it into the Secret that existingSecret names, or use valueFrom." .name) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Variables of secrets that are settings as well. */}}
{{- define "signalbox.secretVariables" -}}
ADMIN_KEY ALERT_SECRET APPROVAL_SECRET AUDIT_EXPORT_SECRET EVENTSTORE_URL FEATURES_KEY GUARDRAIL_SECRET LEDGER_EXPORT_SECRET LEDGER_URL OIDC_CLIENT_SECRET RECORD_KEY REDIS_URL SMTP_PASSWORD
{{- end -}}
