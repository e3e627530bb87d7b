package watch

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// board is the part of a Grafana board that the tests read.
type board struct {
	UID           string `json:"uid"`
	Title         string `json:"title"`
	SchemaVersion int    `json:"schemaVersion"`
	Templating    struct {
		List []struct {
			Name       string `json:"name"`
			Type       string `json:"type"`
			Definition string `json:"definition"`
		} `json:"list"`
	} `json:"templating"`
	Panels []panel `json:"panels"`
}

type panel struct {
	ID          int    `json:"id"`
	Type        string `json:"type"`
	Title       string `json:"title"`
	FieldConfig struct {
		Defaults struct {
			Unit string `json:"unit"`
		} `json:"defaults"`
	} `json:"fieldConfig"`
	GridPos struct{ X, Y, W, H int } `json:"gridPos"`
	Targets []struct {
		Expr       string `json:"expr"`
		Datasource struct {
			UID string `json:"uid"`
		} `json:"datasource"`
	} `json:"targets"`
}

// boards returns all boards.
func boards(t *testing.T) []board {
	t.Helper()
	files, err := filepath.Glob(configs + "/grafana/dashboards/*.json")
	require.NoError(t, err)
	require.Len(t, files, 7)
	all := make([]board, len(files))
	for i, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &all[i]), file)
	}
	return all
}

var variable = regexp.MustCompile(`\$\{?(\w+)\}?`)

// fill replaces a board's variables by values, as Grafana does for "All".
func fill(expr string) string {
	return variable.ReplaceAllStringFunc(expr, func(name string) string {
		switch strings.Trim(name, "${}") {
		case "currency":
			return "CNY"
		default:
			return ".*"
		}
	})
}

func TestBoards_AreWhole(t *testing.T) {
	t.Parallel()
	uids := map[string]bool{}
	for _, b := range boards(t) {
		require.False(t, uids[b.UID], "two boards are called %s", b.UID)
		uids[b.UID] = true
		require.GreaterOrEqual(t, b.SchemaVersion, 39, b.UID)
		known := map[string]bool{}
		for _, v := range b.Templating.List {
			known[v.Name] = true
		}
		ids, taken := map[int]bool{}, map[[2]int]string{}
		for _, p := range b.Panels {
			require.False(t, ids[p.ID], "%s: two panels have the id %d", b.UID, p.ID)
			ids[p.ID] = true
			require.NotEmpty(t, p.Title, b.UID)
			require.LessOrEqual(t, p.GridPos.X+p.GridPos.W, 24, "%s: %s", b.UID, p.Title)
			for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
				for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
					require.Empty(t, taken[[2]int{x, y}], "%s: %s lies on another panel", b.UID, p.Title)
					taken[[2]int{x, y}] = p.Title
				}
			}
			if p.Type == "row" {
				continue
			}
			require.NotEmpty(t, p.FieldConfig.Defaults.Unit, "%s: %s", b.UID, p.Title)
			require.NotEmpty(t, p.Targets, "%s: %s", b.UID, p.Title)
			for _, target := range p.Targets {
				require.Equal(t, "${datasource}", target.Datasource.UID, "%s: %s", b.UID, p.Title)
				for _, v := range variable.FindAllStringSubmatch(target.Expr+p.Title, -1) {
					require.True(t, known[v[1]], "%s: %s has no variable %s", b.UID, p.Title, v[1])
				}
				// Money is in millionths, of one currency at a time.
				if strings.Contains(target.Expr, "_micros") && !strings.Contains(p.Title, "/") &&
					!strings.Contains(p.Title, "against") {
					require.Contains(t, target.Expr, `currency="$currency"`, "%s: %s", b.UID, p.Title)
					require.Contains(t, target.Expr, "/ 1e6", "%s: %s", b.UID, p.Title)
					require.Contains(t, p.Title, "urrency", "%s: %s", b.UID, p.Title)
				}
			}
		}
	}
}

func TestGrafana_ProvisioningFindsTheBoards(t *testing.T) {
	t.Parallel()
	var sources struct {
		Datasources []struct{ Type, URL string }
	}
	readYAML(t, "grafana/provisioning/datasources/prometheus.yml", &sources)
	require.Equal(t, "prometheus", sources.Datasources[0].Type)
	var providers struct {
		Providers []struct {
			Type    string
			Options struct{ Path string }
		}
	}
	readYAML(t, "grafana/provisioning/dashboards/adsync.yml", &providers)
	require.Equal(t, "file", providers.Providers[0].Type)
	require.NotEmpty(t, providers.Providers[0].Options.Path)
}
