package watch

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRules_PrometheusTakesThem(t *testing.T) {
	t.Parallel()
	tool(t, "check", "config", "--lint-fatal", configs+"/prometheus/prometheus.yml")
	files, err := filepath.Glob(configs + "/prometheus/rules/*.yml")
	require.NoError(t, err)
	tool(t, append([]string{"check", "rules", "--lint-fatal"}, files...)...)
}

// Users run the tests of the rules too: each alert fires during its fault and ends when the fault is fixed.
func TestRules_EachAlertFiresAndEnds(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(configs + "/prometheus/tests/*.yml")
	require.NoError(t, err)
	tool(t, append([]string{"test", "rules"}, files...)...)

	fires, ends := map[string]bool{}, map[string]bool{}
	name := regexp.MustCompile(`alertname="(\w+)"`)
	for _, path := range files {
		var file struct {
			Tests []struct {
				Queries []struct {
					Expr    string `yaml:"expr"`
					Samples []any  `yaml:"exp_samples"`
				} `yaml:"promql_expr_test"`
			} `yaml:"tests"`
		}
		readYAML(t, "prometheus/tests/"+filepath.Base(path), &file)
		for _, test := range file.Tests {
			fired := false
			for _, q := range test.Queries {
				alert := name.FindStringSubmatch(q.Expr)[1] + severity(q.Samples)
				if len(q.Samples) > 0 {
					fired = true
					fires[alert] = true
					continue
				}
				if fired {
					ends[strings.TrimSuffix(alert, severity(nil))] = true
				}
			}
		}
	}
	for file, f := range rules(t) {
		for _, group := range f.Groups {
			for _, r := range group.Rules {
				if r.Alert == "" {
					continue
				}
				require.True(t, fires[r.Alert+" "+r.Labels["severity"]], "%s: no test shows that %s (%s) fires", file, r.Alert,
					r.Labels["severity"])
				require.True(t, ends[r.Alert], "%s: no test shows that %s ends", file, r.Alert)
			}
		}
	}
}

// severity returns the severity of expected samples, after a blank.
func severity(samples []any) string {
	if len(samples) == 0 {
		return ""
	}
	labels := samples[0].(map[string]any)["labels"].(string)
	return " " + regexp.MustCompile(`severity="(\w+)"`).FindStringSubmatch(labels)[1]
}

// anchor returns the link anchor of a page's heading.
func anchor(heading string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimSpace(strings.TrimLeft(heading, "#"))), " ", "-")
}

func TestRules_EachAlertTellsWhatToDo(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(root + "/docs/operations.md")
	require.NoError(t, err)
	anchors := map[string]bool{}
	for line := range strings.Lines(string(page)) {
		if strings.HasPrefix(line, "#") {
			anchors[anchor(line)] = true
		}
	}
	for _, f := range rules(t) {
		for _, group := range f.Groups {
			for _, r := range group.Rules {
				if r.Alert == "" {
					continue
				}
				require.Contains(t, []string{"critical", "warning"}, r.Labels["severity"], r.Alert)
				require.NotEmpty(t, r.Annotations["summary"], r.Alert)
				require.NotEmpty(t, r.Annotations["description"], r.Alert)
				require.Equal(t, "{{ $externalLabels.runbooks }}#"+strings.ToLower(r.Alert), r.Annotations["runbook_url"], r.Alert)
				require.True(t, anchors[strings.ToLower(r.Alert)], "docs/operations.md has no section %s", r.Alert)
			}
		}
	}
	for _, link := range regexp.MustCompile(`\]\(#([a-z-]+)\)`).FindAllStringSubmatch(string(page), -1) {
		require.True(t, anchors[link[1]], "docs/operations.md links to its section %s, which is not there", link[1])
	}
}
