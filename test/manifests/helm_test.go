package manifests

import (
	"encoding/base64"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	"helm.sh/helm/v3/pkg/releaseutil"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"
)

const chartDir = root + "/deploy/helm/adsync"

// everything switches on all options of the chart.
const everything = `
tlsSecretName: adsync-tls
image: {repository: registry.example.com/adsync, tag: v1.2.3, pullSecrets: [registry]}
secretVariables: [ADSYNC_STORE_CONFIG_WRITER, ADSYNC_STORE_DATA_WRITER, ADSYNC_API_TOKENS, ADSYNC_REDIS_PASSWORD]
config: {trace: {endpoint: "http://otel-collector:4318"}, broker: {prefix: ads}}
consumers:
  important: {autoscaling: {enabled: true}}
  normal: {subscriptions: ["acme:normal", "globe:normal", "system:normal"], autoscaling: {enabled: true}}
jobs: {enabled: true, replicas: 3, service: {type: LoadBalancer, port: 80, annotations: {example.com/lb: internal}}}
keda: {authenticationRef: kafka}
podMonitor: {enabled: true}
nodeSelector: {disk: ssd}
tolerations: [{key: dedicated, operator: Exists}]
affinity: {nodeAffinity: {}}
podAnnotations: {example.com/team: ads}
`

// rendered is the chart's objects.
type rendered struct {
	deployments map[string]*appsv1.Deployment
	budgets     map[string]*policyv1.PodDisruptionBudget
	configs     map[string]*corev1.ConfigMap
	services    map[string]*corev1.Service
	accounts    map[string]*corev1.ServiceAccount
	jobs        map[string]*batchv1.Job
	others      map[string]map[string]any // objects with types of other projects, by kind and name
}

func render(t *testing.T, values string) rendered {
	t.Helper()
	files, err := renderFiles(t, values)
	require.NoError(t, err)
	r := rendered{
		deployments: map[string]*appsv1.Deployment{}, budgets: map[string]*policyv1.PodDisruptionBudget{},
		configs:  map[string]*corev1.ConfigMap{},
		services: map[string]*corev1.Service{}, accounts: map[string]*corev1.ServiceAccount{},
		jobs: map[string]*batchv1.Job{}, others: map[string]map[string]any{},
	}
	for file, text := range files {
		if strings.HasSuffix(file, "NOTES.txt") {
			continue
		}
		for _, manifest := range releaseutil.SplitManifests(text) {
			r.add(t, []byte(manifest))
		}
	}
	return r
}

// add decodes a manifest into Kubernetes' type of its kind. An unknown field is an error.
func (r *rendered) add(t *testing.T, manifest []byte) {
	t.Helper()
	var head struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Metadata   struct {
			Name string `json:"name"`
		} `json:"metadata"`
	}
	require.NoError(t, yaml.Unmarshal(manifest, &head), string(manifest))
	require.NotEmpty(t, head.Metadata.Name, string(manifest))
	switch head.APIVersion + " " + head.Kind {
	case "apps/v1 Deployment":
		put(t, r.deployments, head.Metadata.Name, manifest)
	case "policy/v1 PodDisruptionBudget":
		put(t, r.budgets, head.Metadata.Name, manifest)
	case "v1 ConfigMap":
		put(t, r.configs, head.Metadata.Name, manifest)
	case "v1 Service":
		put(t, r.services, head.Metadata.Name, manifest)
	case "v1 ServiceAccount":
		put(t, r.accounts, head.Metadata.Name, manifest)
	case "batch/v1 Job":
		put(t, r.jobs, head.Metadata.Name, manifest)
	case "keda.sh/v1alpha1 ScaledObject", "monitoring.coreos.com/v1 PodMonitor":
		var object map[string]any
		require.NoError(t, yaml.UnmarshalStrict(manifest, &object))
		r.others[head.Kind+" "+head.Metadata.Name] = object
	default:
		require.Fail(t, "an object of a kind that no test knows", string(manifest))
	}
}

func put[T any](t *testing.T, into map[string]*T, name string, manifest []byte) {
	t.Helper()
	require.NotContains(t, into, name, "twice")
	object := new(T)
	require.NoError(t, yaml.UnmarshalStrict(manifest, object), string(manifest))
	into[name] = object
}

func renderFiles(t *testing.T, values string) (map[string]string, error) {
	t.Helper()
	chart, err := loader.Load(chartDir)
	require.NoError(t, err)
	given, err := chartutil.ReadValues([]byte(values))
	require.NoError(t, err)
	all, err := chartutil.ToRenderValues(chart, given,
		chartutil.ReleaseOptions{Name: "adsync", Namespace: "ads", Revision: 1, IsInstall: true},
		chartutil.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	return engine.Engine{Strict: true}.Render(chart, all)
}

func TestChart_HasNothingForTheLinter(t *testing.T) {
	t.Parallel()
	for _, values := range []string{"", everything} {
		given, err := chartutil.ReadValues([]byte(values))
		require.NoError(t, err)
		for _, message := range lint.All(chartDir, given, "ads", true).Messages {
			require.Less(t, message.Severity, support.WarningSev, message.Error())
		}
	}
}

func TestChart_HasProducersAndConsumersOfEachLane(t *testing.T) {
	t.Parallel()
	for _, values := range []string{"", everything} {
		r := render(t, values)
		want := []string{"adsync-producer", "adsync-consumer-important", "adsync-consumer-normal",
			"adsync-consumer-offline", "adsync-consumer-files"}
		if values == everything {
			want = append(want, "adsync-jobs")
		}
		require.ElementsMatch(t, want, slices.Collect(maps.Keys(r.deployments)))
		for name, d := range r.deployments {
			pod := d.Spec.Template
			for key, value := range d.Spec.Selector.MatchLabels {
				require.Equal(t, value, pod.Labels[key], "%s selects its own pods", name)
			}
			for other, o := range r.deployments {
				require.Equal(t, name == other, matches(d.Spec.Selector.MatchLabels, o.Spec.Template.Labels),
					"%s and the pods of %s", name, other)
			}
			require.Contains(t, r.budgets, name)
			require.Equal(t, d.Spec.Selector.MatchLabels, r.budgets[name].Spec.Selector.MatchLabels)
			require.Contains(t, r.accounts, pod.Spec.ServiceAccountName)
			require.Zero(t, d.Spec.Strategy.RollingUpdate.MaxUnavailable.IntValue())
			requireHardened(t, pod.Spec)

			c := pod.Spec.Containers[0]
			require.Equal(t, "/healthz", c.LivenessProbe.HTTPGet.Path)
			require.Equal(t, "/readyz", c.ReadinessProbe.HTTPGet.Path)
			scheme := corev1.URISchemeHTTP
			if values == everything {
				scheme = corev1.URISchemeHTTPS
				require.Equal(t, "registry.example.com/adsync:v1.2.3", c.Image)
			}
			require.Equal(t, scheme, c.LivenessProbe.HTTPGet.Scheme)
			require.Greater(t, *pod.Spec.TerminationGracePeriodSeconds, int64(15+3),
				"the program's drain, and the delay of its shutdown")
		}
		service := r.services["adsync"]
		require.Equal(t, "http", service.Spec.Ports[0].TargetPort.StrVal)
		for name, d := range r.deployments {
			require.Equal(t, name == "adsync-producer", matches(service.Spec.Selector, d.Spec.Template.Labels),
				"producers serve the API: %s", name)
		}
	}
}

// The job queue is served if it is wanted, to other pods and not its administration. It does not read tokens of
// platforms, and so does not have their keys.
func TestChart_ServesJobsIfTheyAreEnabled(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"adsync"}, slices.Collect(maps.Keys(render(t, "").services)))
	r := render(t, everything)
	jobs, service := r.deployments["adsync-jobs"], r.services["adsync-jobs"]
	require.EqualValues(t, 3, *jobs.Spec.Replicas)
	require.Equal(t, 1, r.budgets["adsync-jobs"].Spec.MinAvailable.IntValue())
	c := jobs.Spec.Template.Spec.Containers[0]
	require.Equal(t, []string{"serve", "--role=jobs"}, c.Args)
	require.Contains(t, c.Env, corev1.EnvVar{Name: "ADSYNC_JOBS_LISTEN", Value: "0.0.0.0:7777"})
	var port corev1.ContainerPort
	for _, p := range c.Ports {
		require.NotEqual(t, int32(7778), p.ContainerPort)
		if p.Name == service.Spec.Ports[0].TargetPort.StrVal {
			port = p
		}
	}
	require.EqualValues(t, 7777, port.ContainerPort)
	require.Len(t, service.Spec.Ports, 1)
	require.EqualValues(t, 80, service.Spec.Ports[0].Port)
	require.Equal(t, corev1.ServiceTypeLoadBalancer, service.Spec.Type)
	require.Equal(t, map[string]string{"example.com/lb": "internal"}, service.Annotations)
	for name, d := range r.deployments {
		require.Equal(t, name == "adsync-jobs", matches(service.Spec.Selector, d.Spec.Template.Labels), name)
		hasKeys := slices.ContainsFunc(d.Spec.Template.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == "keys" })
		require.Equal(t, name != "adsync-jobs", hasKeys, name)
	}
}

func matches(selector, labels map[string]string) bool {
	for key, value := range selector {
		if labels[key] != value {
			return false
		}
	}
	return true
}

func requireHardened(t *testing.T, pod corev1.PodSpec) {
	t.Helper()
	require.True(t, *pod.SecurityContext.RunAsNonRoot)
	require.Equal(t, corev1.SeccompProfileTypeRuntimeDefault, pod.SecurityContext.SeccompProfile.Type)
	require.False(t, *pod.AutomountServiceAccountToken)
	require.Len(t, pod.Containers, 1)
	c := pod.Containers[0].SecurityContext
	require.True(t, *c.ReadOnlyRootFilesystem)
	require.False(t, *c.AllowPrivilegeEscalation)
	require.Equal(t, []corev1.Capability{"ALL"}, c.Capabilities.Drop)
	require.NotEmpty(t, pod.Containers[0].Resources.Limits.Memory().String())
	mounts := map[string]bool{}
	for _, v := range pod.Volumes {
		mounts[v.Name] = true
	}
	for _, m := range pod.Containers[0].VolumeMounts {
		require.Equal(t, m.Name != "tmp", m.ReadOnly, m.Name)
		require.True(t, mounts[m.Name], m.Name)
		require.Empty(t, m.SubPath, "a file that is mounted on its own never changes: %s", m.Name)
	}
}

// A job migrates the tables before the release's own objects exist, with settings that exist before the job.
func TestChart_MigratesBeforeTheRelease(t *testing.T) {
	t.Parallel()
	r := render(t, everything)
	job, config := r.jobs["adsync-migration"], r.configs["adsync-migration"]
	require.Equal(t, "pre-install,pre-upgrade", job.Annotations["helm.sh/hook"])
	require.Equal(t, job.Annotations["helm.sh/hook"], config.Annotations["helm.sh/hook"])
	require.Less(t, config.Annotations["helm.sh/hook-weight"], job.Annotations["helm.sh/hook-weight"])
	require.Equal(t, config.Name, job.Spec.Template.Spec.Volumes[0].ConfigMap.Name)
	require.Equal(t, "default", job.Spec.Template.Spec.ServiceAccountName, "the release's own account does not exist yet")
	require.Equal(t, []string{"migrate", "up"}, job.Spec.Template.Spec.Containers[0].Args)
	requireHardened(t, job.Spec.Template.Spec)
	require.Empty(t, render(t, "migration: {enabled: false}").jobs)
}

func TestChart_ScalesByTheLagOfWhatConsumersRead(t *testing.T) {
	t.Parallel()
	require.Empty(t, render(t, "").others, "neither KEDA nor the Prometheus operator is needed")
	r := render(t, everything)
	require.Len(t, r.others, 3)
	topics := func(name string) []string {
		object := r.others["ScaledObject adsync-consumer-"+name]
		spec := object["spec"].(map[string]any)
		require.Equal(t, "adsync-consumer-"+name, spec["scaleTargetRef"].(map[string]any)["name"])
		require.Nil(t, r.deployments["adsync-consumer-"+name].Spec.Replicas, "KEDA sets the number of replicas")
		var all []string
		for _, trigger := range spec["triggers"].([]any) {
			require.Equal(t, map[string]any{"name": "kafka"}, trigger.(map[string]any)["authenticationRef"])
			metadata := trigger.(map[string]any)["metadata"].(map[string]any)
			require.Equal(t, metadata["topic"], metadata["consumerGroup"], "a lane's group has its topic's name")
			for key, value := range metadata {
				require.IsType(t, "", value, "KEDA takes only texts: %s", key)
			}
			all = append(all, metadata["topic"].(string))
		}
		return all
	}
	platforms, err := os.ReadFile("../../deploy/helm/adsync/medias.txt")
	require.NoError(t, err)
	for _, media := range strings.Fields(string(platforms)) {
		require.Contains(t, topics("important"), "ads."+media+".important", "* is each platform of this release")
	}
	require.Equal(t, []string{"ads.acme.normal", "ads.globe.normal", "ads.system.normal"}, topics("normal"))
	require.NotNil(t, r.deployments["adsync-consumer-offline"].Spec.Replicas)

	_, err = renderFiles(t,
		`consumers: {all: {subscriptions: ["*:*"], autoscaling: {enabled: true, min: 1, max: 2, lag: 10}}}`)
	require.ErrorContains(t, err, "consumers.all scales by the lag of its lanes: name them instead of *")
}

// A PodMonitor has no token: it reads from a port that serves metrics alone, which pods open only for it.
func TestChart_ThePodMonitorReadsMetricsWithoutAToken(t *testing.T) {
	t.Parallel()
	for values, monitored := range map[string]bool{"": false, everything: true} {
		r := render(t, values)
		require.Equal(t, monitored, strings.Contains(r.configs["adsync"].Data["adsync.yaml"], "metrics_listen: 0.0.0.0:9464"))
		for name, d := range r.deployments {
			ports := map[string]int32{}
			for _, p := range d.Spec.Template.Spec.Containers[0].Ports {
				ports[p.Name] = p.ContainerPort
			}
			if !monitored {
				require.Equal(t, map[string]int32{"http": 8080}, ports, name)
				continue
			}
			endpoint := r.others["PodMonitor adsync"]["spec"].(map[string]any)["podMetricsEndpoints"].([]any)[0].(map[string]any)
			require.EqualValues(t, 9464, ports[endpoint["port"].(string)], name)
		}
	}
}

// The program accepts the settings, the variables and the command line of each pod.
func TestChart_TheProgramAcceptsEveryPod(t *testing.T) {
	t.Parallel()
	for _, values := range []string{"", everything} {
		r := render(t, values)
		pods := map[string]corev1.PodSpec{"migration": r.jobs["adsync-migration"].Spec.Template.Spec}
		for name, d := range r.deployments {
			pods[name] = d.Spec.Template.Spec
		}
		for name, pod := range pods {
			c := pod.Containers[0]
			config := r.configs[pod.Volumes[0].ConfigMap.Name].Data["adsync.yaml"]
			require.NotContains(t, config, "writer", "secrets are not in the chart's file")
			file := filepath.Join(t.TempDir(), "adsync.yaml")
			require.NoError(t, os.WriteFile(file, []byte(config), 0o600))
			var environ []string
			for _, v := range c.Env {
				if v.ValueFrom != nil {
					require.Equal(t, "adsync", v.ValueFrom.SecretKeyRef.Name)
					require.Equal(t, v.Name, v.ValueFrom.SecretKeyRef.Key)
					v.Value = secretValues[v.Name]
					require.NotEmpty(t, v.Value, v.Name)
				}
				if v.Name == "ADSYNC_CONFIG" {
					require.Equal(t, "/etc/adsync/config/adsync.yaml", v.Value)
					v.Value = file
				}
				environ = append(environ, v.Name+"="+v.Value)
			}
			run := func(args ...string) {
				cmd := exec.CommandContext(t.Context(), program, args...)
				cmd.Env = environ
				output, err := cmd.CombinedOutput()
				require.NoError(t, err, "%s: %s", name, output)
			}
			command := c.Args[0]
			if slices.Contains(c.Args, "--role=jobs") {
				command = "jobs"
			}
			run("config", "check", "--for", command)
			run(append(slices.Clone(c.Args), "--help")...)
		}
	}
}

var secretValues = map[string]string{
	"ADSYNC_STORE_CONFIG_WRITER": "adsync:x@tcp(mysql:3306)/adsync_config",
	"ADSYNC_STORE_DATA_WRITER":   "adsync:x@tcp(mysql:3306)/adsync_data",
	"ADSYNC_API_TOKENS": `[{"name": "ops", "token": "` + base64.StdEncoding.EncodeToString(make([]byte, 24)) +
		`", "role": "admin"}]`,
	"ADSYNC_REDIS_PASSWORD": "x",
}

func TestChart_RefusesWrongValues(t *testing.T) {
	t.Parallel()
	for values, want := range map[string]string{
		"replicas: 3": "replicas",
		"consumers: {fast: {subscriptions: [important]}}":                              "subscriptions",
		"consumers: {fast: {subscriptions: ['*:fast'], autoscaling: {enabled: true}}}": "autoscaling",
		"consumers: {fast: {replicas: 1}}":                                             "subscriptions",
		"secretVariables: [PASSWORD]":                                                  "secretVariables",
		"producer: {replicas: 0}":                                                      "replicas",
		"jobs: {enabled: true, replicas: 0}":                                           "replicas",
		"jobs: {enabled: true, port: 7777}":                                            "port",
		`secretName: ""`:                                                               "secretName",
		"consumers: {Fast_Lane: {subscriptions: ['*:important']}}":                     "Fast_Lane",
	} {
		_, err := renderFiles(t, values)
		require.ErrorContains(t, err, want, values)
	}
}
