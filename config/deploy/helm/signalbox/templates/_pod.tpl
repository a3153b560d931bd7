{{/* The pod of both modes. */}}
{{- define "signalbox.pod" -}}
metadata:
  annotations:
    # Replaces the pods when the settings change.
    checksum/settings: {{ toYaml .Values.settings | sha256sum }}
    {{- with .Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  labels:
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
    {{- include "signalbox.labels" . | nindent 4 }}
spec:
  serviceAccountName: {{ include "signalbox.serviceAccount" . }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  # Longer than requests in flight, interrupted ones and the last snapshot take, after the sleep of preStop.
  terminationGracePeriodSeconds: {{ add (div (add (int (dig "timeouts" "drain_ms" 30000 .Values.settings)) 999) 1000) 20 }}
  securityContext:
    runAsNonRoot: true
    {{- with .Values.runAsUser }}
    runAsUser: {{ int . }}
    runAsGroup: {{ int . }}
    fsGroup: {{ int . }}
    fsGroupChangePolicy: OnRootMismatch
    {{- end }}
    seccompProfile: { type: RuntimeDefault }
  {{- with .Values.image.pullSecrets }}
  imagePullSecrets:
    {{- range . }}
    - name: {{ . }}
    {{- end }}
  {{- end }}
  {{- if .Values.existingKeysSecret }}
  initContainers:
    - name: keys
      {{- include "signalbox.container" . | nindent 6 }}
      command: [sh, -c, "install -d -m 0700 /data/keys && install -m 0600 /keys/* /data/keys/"]
      resources:
        {{- toYaml .Values.resources | nindent 8 }}
      volumeMounts:
        - { name: data, mountPath: /data }
        - { name: keys, mountPath: /keys, readOnly: true }
  {{- end }}
  containers:
    - name: signalbox
      {{- include "signalbox.container" . | nindent 6 }}
      env:
        - { name: NODE_ENV, value: production }
        - { name: HOST, value: 0.0.0.0 }
        - { name: PORT, value: "8080" }
        - { name: ROUTE_PORT, value: "8081" }
        - { name: METRICS_PORT, value: "9464" }
        - { name: DATA_DIR, value: /data }
        - { name: CONFIG, value: /etc/signalbox/settings.yaml }
        {{- if eq .Values.mode "cluster" }}
        # Named one by one, so that a pod does not start without them: it would keep its data to itself.
        {{- range list "EVENTSTORE_URL" "LEDGER_URL" "REDIS_URL" }}
        - name: {{ . }}
          valueFrom: { secretKeyRef: { name: {{ $.Values.existingSecret }}, key: {{ . }} } }
        {{- end }}
        {{- end }}
        {{- with .Values.env }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- with .Values.existingSecret }}
      envFrom:
        - secretRef: { name: {{ . }} }
      {{- end }}
      ports:
        - { name: http, containerPort: 8080 }
        - { name: route, containerPort: 8081 }
        - { name: metrics, containerPort: 9464 }
      # The gateway listens once it has read the event log.
      startupProbe:
        httpGet: { path: /healthz, port: http }
        periodSeconds: 5
        timeoutSeconds: 5
        failureThreshold: {{ div (add (int .Values.startupSeconds) 4) 5 }}
      readinessProbe:
        httpGet: { path: /readyz, port: http }
        periodSeconds: 5
        timeoutSeconds: 5
        failureThreshold: 2
      livenessProbe:
        httpGet: { path: /healthz, port: http }
        periodSeconds: 10
        timeoutSeconds: 10
        failureThreshold: 6
      lifecycle:
        # Until all proxies of the cluster know that the pod ends, it accepts connections.
        preStop:
          exec: { command: [sleep, "5"] }
      resources:
        {{- toYaml .Values.resources | nindent 8 }}
      volumeMounts:
        - { name: data, mountPath: /data }
        - { name: settings, mountPath: /etc/signalbox, readOnly: true }
        # SQLite uses it for large temporary data.
        - { name: tmp, mountPath: /tmp }
        {{- with .Values.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    - name: settings
      configMap: { name: {{ include "signalbox.fullname" . }} }
    - name: tmp
      emptyDir: {}
    {{- if eq .Values.mode "cluster" }}
    - name: data
      emptyDir: {}
    {{- else if .Values.persistence.existingClaim }}
    - name: data
      persistentVolumeClaim: { claimName: {{ .Values.persistence.existingClaim }} }
    {{- end }}
    {{- with .Values.existingKeysSecret }}
    - name: keys
      secret: { secretName: {{ . }}, defaultMode: 0400 }
    {{- end }}
    {{- with .Values.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if .Values.topologySpreadConstraints }}
  topologySpreadConstraints:
    {{- toYaml .Values.topologySpreadConstraints | nindent 4 }}
  {{- else if eq .Values.mode "cluster" }}
  topologySpreadConstraints:
    {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
    - maxSkew: 1
      topologyKey: {{ . }}
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "signalbox.selector" $ | nindent 10 }}
    {{- end }}
  {{- end }}
{{- end -}}

{{- define "signalbox.container" -}}
image: {{ include "signalbox.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
{{- end -}}
