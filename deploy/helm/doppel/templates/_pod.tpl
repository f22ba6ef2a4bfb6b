{{/*
The template of a pod: of one daemon, or of a role of a cluster. Takes root, args and resources, and where they are meant:
component (the role), labels (more labels), env (more variables), spread (one pod to a machine), state (a volume of its own),
ready (the path of the probes) and secretOptional.
*/}}
{{- define "doppel.pod" -}}
{{- $root := .root -}}
metadata:
  labels:
    {{- include "doppel.selector" $root | nindent 4 }}
    {{- include "doppel.component" . | nindent 4 }}
  annotations:
    # A change of the settings restarts it.
    checksum/config: {{ toYaml $root.Values.config | sha256sum }}
    {{- with $root.Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  automountServiceAccountToken: false
  enableServiceLinks: false
  # Above shutdown_timeout (30 s): the current batch is committed and a snapshot made.
  terminationGracePeriodSeconds: 60
  {{- with $root.Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $root.Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $root.Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $root.Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 10001
    runAsGroup: 10001
    fsGroup: 10001
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile:
      type: RuntimeDefault
  {{- if .spread }}
  # Each on a machine of its own, where there are enough.
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "doppel.selector" $root | nindent 10 }}
          {{- with .component }}
          app.kubernetes.io/component: {{ . }}
          {{- end }}
  {{- end }}
  containers:
    - name: doppel
      image: "{{ $root.Values.image.repository }}:{{ $root.Values.image.tag | default $root.Chart.AppVersion }}"
      imagePullPolicy: {{ $root.Values.image.pullPolicy }}
      args:
        {{- toYaml .args | nindent 8 }}
      ports:
        - name: http
          containerPort: {{ include "doppel.port" $root }}
      env:
        - name: DOPPEL_CONFIG
          value: /etc/doppel/doppel.yaml
        {{- with .env }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- with $root.Values.secret }}
      envFrom:
        - secretRef:
            name: {{ . }}
            {{- if $.secretOptional }}
            optional: true
            {{- end }}
      {{- end }}
      # An hour for a restore from the log and for a Kafka that is late.
      startupProbe:
        httpGet:
          path: {{ .ready }}
          port: http
        periodSeconds: 5
        failureThreshold: 720
      readinessProbe:
        httpGet:
          path: {{ .ready }}
          port: http
        periodSeconds: 10
      # Does not ask Kafka: a restart helps only if the main loop is stuck.
      livenessProbe:
        httpGet:
          path: /live
          port: http
        periodSeconds: 10
        failureThreshold: 6
        timeoutSeconds: 5
      resources:
        {{- toYaml .resources | nindent 8 }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities:
          drop: [ALL]
      volumeMounts:
        - name: config
          mountPath: /etc/doppel
          readOnly: true
        {{- if .state }}
        - name: state
          mountPath: {{ $root.Values.config.state.directory }}
        {{- end }}
        - name: tmp
          mountPath: /tmp
        {{- with $root.Values.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    - name: config
      configMap:
        name: {{ include "doppel.name" $root }}
    - name: tmp
      emptyDir: {}
    {{- with $root.Values.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}
{{/* The volume of each pod of a StatefulSet. Takes root and size. */}}
{{- define "doppel.state" -}}
volumeClaimTemplates:
  - metadata:
      name: state
    spec:
      accessModes: [ReadWriteOncePod]
      {{- with .root.Values.storage.className }}
      storageClassName: {{ . }}
      {{- end }}
      resources:
        requests:
          storage: {{ .size }}
{{- end }}
