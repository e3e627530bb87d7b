package manifests

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// project loads docker-compose.yml as Docker Compose does.
func project(t *testing.T, environ ...string) (*types.Project, error) {
	t.Helper()
	options, err := cli.NewProjectOptions([]string{filepath.Join(root, "docker-compose.yml")}, cli.WithEnv(environ),
		cli.WithProfiles([]string{"simulator"}), cli.WithResolvedPaths(true))
	require.NoError(t, err)
	return options.LoadProject(t.Context())
}

func TestCompose_DockerComposeAcceptsIt(t *testing.T) {
	t.Parallel()
	p, err := project(t, "ENCRYPTION_KEY=key", "API_TOKEN=token")
	require.NoError(t, err)

	// Each process has its own published port.
	ports := map[string]string{}
	for name := range p.Services {
		service := p.Services[name]
		replicas := 1
		if service.Deploy != nil && service.Deploy.Replicas != nil {
			replicas = *service.Deploy.Replicas
		}
		for _, port := range service.Ports {
			require.Equal(t, "127.0.0.1", port.HostIP, "%s: nothing is reachable from other machines", name)
			require.NotContains(t, ports, port.Published, "%s and %s", name, ports[port.Published])
			ports[port.Published] = name
			first, last, isRange := strings.Cut(port.Published, "-")
			if replicas > 1 {
				require.True(t, isRange && first < last, "%s has %d processes and publishes %s", name, replicas, port.Published)
			}
		}
		if service.Image != "adsync:local" {
			continue
		}
		require.True(t, service.ReadOnly, name)
		require.Equal(t, []string{"ALL"}, service.CapDrop, name)
		require.Contains(t, service.SecurityOpt, "no-new-privileges:true", name)
	}
	require.Equal(t, 2, *p.Services["producer"].Deploy.Replicas)

	// Prometheus finds consumers of all lanes under one name.
	for name := range p.Services {
		if strings.HasPrefix(name, "consumer-") {
			require.Contains(t, p.Services[name].Networks["default"].Aliases, "consumer", name)
		}
	}

	// The job queue has the settings of the others, and its own.
	environ := p.Services["jobs"].Environment
	for variable := range p.Services["producer"].Environment {
		require.Contains(t, environ, variable)
	}
	require.Equal(t, "token", *environ["ADSYNC_JOBS_ADMIN_PASSWORD"])
}

// Prometheus finds each process under the name of its service, or an alias of it.
func TestCompose_PrometheusFindsEveryProcess(t *testing.T) {
	t.Parallel()
	p, err := project(t, "ENCRYPTION_KEY=key", "API_TOKEN=token")
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(root, "configs/prometheus/prometheus.yml"))
	require.NoError(t, err)
	var prometheus struct {
		Scrapes []struct {
			DNS []struct {
				Names []string `json:"names"`
			} `json:"dns_sd_configs"`
		} `json:"scrape_configs"`
	}
	require.NoError(t, yaml.Unmarshal(text, &prometheus))
	found := map[string]bool{}
	for _, name := range prometheus.Scrapes[0].DNS[0].Names {
		found[name] = true
	}
	for name := range p.Services {
		service := p.Services[name]
		if !slices.Contains(service.Command, "serve") {
			continue
		}
		names := []string{name}
		if network := service.Networks["default"]; network != nil {
			names = append(names, network.Aliases...)
		}
		require.True(t, slices.ContainsFunc(names, func(name string) bool { return found[name] }), name)
	}
}

func TestCompose_RequiresItsSecrets(t *testing.T) {
	t.Parallel()
	_, err := project(t, "API_TOKEN=token")
	require.ErrorContains(t, err, "ENCRYPTION_KEY")
	_, err = project(t, "ENCRYPTION_KEY=key")
	require.ErrorContains(t, err, "API_TOKEN")
}

// Mounted files exist: Docker would make an empty directory in place of a missing file.
func TestCompose_MountsFilesThatExist(t *testing.T) {
	t.Parallel()
	p, err := project(t, "ENCRYPTION_KEY=key", "API_TOKEN=token")
	require.NoError(t, err)
	absolute, err := filepath.Abs(root)
	require.NoError(t, err)
	var mounted []string
	for name := range p.Services {
		for _, v := range p.Services[name].Volumes {
			if v.Type == types.VolumeTypeBind && v.Source != filepath.Join(absolute, "alerts") { // The operators' own.
				require.True(t, v.ReadOnly, v.Source)
				mounted = append(mounted, v.Source)
			}
		}
	}
	slices.Sort(mounted)
	require.NotEmpty(t, mounted)
	if _, err := os.Stat(filepath.Join(root, "configs/prometheus")); os.IsNotExist(err) {
		t.Skip("the files of Prometheus, Alertmanager and Grafana are not in this tree")
	}
	for _, source := range mounted {
		info, err := os.Stat(source)
		require.NoError(t, err)
		if info.IsDir() {
			files, err := os.ReadDir(source)
			require.NoError(t, err)
			require.NotEmpty(t, files, source)
		}
	}
}
