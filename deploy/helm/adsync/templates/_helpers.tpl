{{- define "adsync.name" -}}
{{- if contains "adsync" .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{ else }}{{ printf "%s-adsync" (.Release.Name | trunc 33 | trimSuffix "-") }}{{ end }}
{{- end }}

{{- define "adsync.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
app.kubernetes.io/version: {{ .Values.image.tag | default .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{ include "adsync.selector" . }}
{{- end }}

{{- define "adsync.selector" -}}
app.kubernetes.io/name: adsync
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- /* The settings as a file. The chart sets where the processes listen, also for a PodMonitor, and whether they speak TLS. */ -}}
{{- define "adsync.config" -}}
{{- $api := dict "listen" "0.0.0.0:8080" }}
{{- if .Values.podMonitor.enabled }}
{{- $_ := set $api "metrics_listen" "0.0.0.0:9464" }}
{{- end }}
{{- if .Values.tlsSecretName }}
{{- $_ := set $api "tls" (dict "cert_file" "/etc/adsync/tls/tls.crt" "key_file" "/etc/adsync/tls/tls.key") }}
{{- end }}
{{- mergeOverwrite (deepCopy .Values.config) (dict "api" $api "secret" (dict "keys_file" "/etc/adsync/keys/keys.yaml")) | toYaml }}
{{- end }}

{{- /* A pod's spec, without the process's own settings. Of dict "root" $ "args" (list …) "env" (dict …) "ports" (dict …) "resources" … "config" NAME "job" whether it ends "keys" whether it reads tokens of platforms. */ -}}
{{- define "adsync.pod" -}}
{{- $v := .root.Values }}
serviceAccountName: {{ if .job }}default{{ else }}{{ include "adsync.name" .root }}{{ end }}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile: {type: RuntimeDefault}
{{- with $v.image.pullSecrets }}
imagePullSecrets:
{{- range . }}
  - name: {{ . }}
{{- end }}
{{- end }}
containers:
  - name: adsync
    image: {{ printf "%s:%s" $v.image.repository ($v.image.tag | default .root.Chart.AppVersion) | quote }}
    imagePullPolicy: {{ $v.image.pullPolicy }}
    args: {{ .args | toJson }}
    env:
      - {name: ADSYNC_CONFIG, value: /etc/adsync/config/adsync.yaml}
      {{- range $name, $value := .env }}
      - {name: {{ $name }}, value: {{ $value | quote }}}
      {{- end }}
      {{- range $v.secretVariables }}
      - name: {{ . }}
        valueFrom: {secretKeyRef: {name: {{ $v.secretName | quote }}, key: {{ . }}}}
      {{- end }}
    {{- if not .job }}
    ports:
      - {name: http, containerPort: 8080}
      {{- range $name, $port := .ports }}
      - {name: {{ $name }}, containerPort: {{ $port }}}
      {{- end }}
      {{- if $v.podMonitor.enabled }}
      - {name: metrics, containerPort: 9464}
      {{- end }}
    {{- $scheme := ternary "HTTPS" "HTTP" (ne $v.tlsSecretName "") }}
    # It answers from the start, also while it waits for its servers. A restart fixes nothing that /readyz reports.
    livenessProbe:
      httpGet: {path: /healthz, port: http, scheme: {{ $scheme }}}
      periodSeconds: 10
      timeoutSeconds: 5
      failureThreshold: 6
    readinessProbe:
      httpGet: {path: /readyz, port: http, scheme: {{ $scheme }}}
      periodSeconds: 2
      timeoutSeconds: 5
      failureThreshold: 2
    {{- end }}
    {{- with .resources }}
    resources: {{- toYaml . | nindent 6 }}
    {{- end }}
    securityContext:
      allowPrivilegeEscalation: false
      readOnlyRootFilesystem: true
      capabilities: {drop: [ALL]}
    volumeMounts:
      - {name: config, mountPath: /etc/adsync/config, readOnly: true}
      {{- if .keys }}
      - {name: keys, mountPath: /etc/adsync/keys, readOnly: true}
      {{- end }}
      {{- if not .job }}
      - {name: tmp, mountPath: /tmp}
      {{- end }}
      {{- if and $v.tlsSecretName (not .job) }}
      - {name: tls, mountPath: /etc/adsync/tls, readOnly: true}
      {{- end }}
volumes:
  - name: config
    configMap: {name: {{ .config }}}
  {{- if .keys }}
  - name: keys
    secret: {secretName: {{ $v.secretName | quote }}, items: [{key: keys.yaml, path: keys.yaml}]}
  {{- end }}
  {{- if not .job }}
  # Report files that are not delivered yet: files.max_mib bounds them.
  - name: tmp
    emptyDir: {}
  {{- end }}
  {{- if and $v.tlsSecretName (not .job) }}
  - name: tls
    secret: {secretName: {{ $v.tlsSecretName | quote }}}
  {{- end }}
{{- with $v.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $v.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $v.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- /* A deployment. Of dict "root" $ "component" NAME "role" … "of" its values "env" (dict …) "ports" (dict …) in addition to that of the API "scaled" whether something else sets the number "keys" whether it reads tokens of platforms. */ -}}
{{- define "adsync.deployment" -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "adsync.name" .root }}-{{ .component }}
  labels:
    {{- include "adsync.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
spec:
  {{- if not .scaled }}
  replicas: {{ dig "replicas" 1 .of }}
  {{- end }}
  selector:
    matchLabels:
      {{- include "adsync.selector" .root | nindent 6 }}
      app.kubernetes.io/component: {{ .component }}
  strategy:
    type: RollingUpdate
    # One after the other: the work under way of each ends within its drain.
    rollingUpdate: {maxUnavailable: 0, maxSurge: 1}
  template:
    metadata:
      labels:
        {{- include "adsync.labels" .root | nindent 8 }}
        app.kubernetes.io/component: {{ .component }}
      annotations:
        checksum/config: {{ include "adsync.config" .root | sha256sum }}
        {{- with .root.Values.podAnnotations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    spec:
      # The program drains for up to 15 s after SIGTERM; after an earlier kill some work is done twice.
      terminationGracePeriodSeconds: 25
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels:
              {{- include "adsync.selector" .root | nindent 14 }}
              app.kubernetes.io/component: {{ .component }}
      {{- include "adsync.pod" (dict "root" .root "args" (list "serve" (printf "--role=%s" .role)) "env" .env "ports" .ports "resources" (dig "resources" (dict) .of) "config" (include "adsync.name" .root) "job" false "keys" .keys) | nindent 6 }}
{{- end }}

{{- define "adsync.budget" -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "adsync.name" .root }}-{{ .component }}
  labels: {{- include "adsync.labels" .root | nindent 4 }}
spec:
  minAvailable: {{ dig "minAvailable" 0 .of }}
  selector:
    matchLabels:
      {{- include "adsync.selector" .root | nindent 6 }}
      app.kubernetes.io/component: {{ .component }}
{{- end }}
