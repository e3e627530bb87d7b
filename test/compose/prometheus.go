package compose

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// startPrometheus starts a Prometheus with the shipped configuration and rules, which scrapes all processes.
func (d *Deployment) startPrometheus(ctx context.Context) error {
	if d.Prometheus == "" {
		return nil
	}
	configs := filepath.Join(d.Root, "configs", "prometheus")
	conf, err := readYAML(filepath.Join(configs, "prometheus.yml"))
	if err != nil {
		return err
	}
	var targets []any
	for _, address := range d.metrics {
		targets = append(targets, address)
	}
	scrape := conf["scrape_configs"].([]any)[0].(map[string]any)
	delete(scrape, "dns_sd_configs")
	scrape["static_configs"] = []any{map[string]any{"targets": targets}}
	delete(conf, "alerting") // No Alertmanager runs here.
	if d.Hurry != nil {
		global := conf["global"].(map[string]any)
		global["scrape_interval"], global["evaluation_interval"] = "1s", "1s"
	}
	if err := d.write("prometheus/prometheus.yml", conf); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(configs, "rules", "*.yml"))
	if err != nil {
		return err
	}
	for _, file := range files {
		rules, err := readYAML(file)
		if err != nil {
			return err
		}
		if d.Hurry != nil {
			d.hurry(rules)
		}
		if err := d.write(filepath.Join("prometheus/rules", filepath.Base(file)), rules); err != nil {
			return err
		}
	}
	listen, err := d.listen("prometheus", 0)
	if err != nil {
		return err
	}
	dir := filepath.Join(d.Dir, "prometheus")
	cmd := exec.Command(d.Prometheus, "--config.file="+filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path="+
		filepath.Join(dir, "data"), //nolint:noctx // It is ended in order.
		"--web.listen-address="+listen, "--log.level=warn")
	if err := d.launch("prometheus", cmd); err != nil {
		return err
	}
	d.Board = "http://" + listen
	err = d.await(ctx, "Prometheus scrapes all processes", func(ctx context.Context) (bool, error) {
		samples, err := d.Query(ctx, `up{job="adsync"} == 1`)
		return len(samples) == len(targets), err
	})
	if err == nil {
		d.Say("Prometheus scrapes %d processes", len(targets))
	}
	return err
}

func readYAML(path string) (map[string]any, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var value map[string]any
	if err := yaml.Unmarshal(text, &value); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return value, nil
}

var lookBack = regexp.MustCompile(`(\[|offset )\d+[mh]`)

// hurry changes rules so that alerts do not take minutes.
func (d *Deployment) hurry(rules map[string]any) {
	for _, group := range rules["groups"].([]any) {
		for _, r := range group.(map[string]any)["rules"].([]any) {
			rule := r.(map[string]any)
			delete(rule, "for")
			expr := lookBack.ReplaceAllString(rule["expr"].(string), "${1}15s")
			for from, to := range d.Hurry {
				expr = strings.ReplaceAll(expr, from, to)
			}
			rule["expr"] = expr
		}
	}
}

// Sample is one of an instant query's answer.
type Sample struct {
	Metric map[string]string `json:"metric"`
	Value  [2]any            `json:"value"`
}

// Number is its value.
func (s Sample) Number() float64 {
	text, _ := s.Value[1].(string)
	number, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return math.NaN()
	}
	return number
}

// Query runs a query in Prometheus.
func (d *Deployment) Query(ctx context.Context, expr string) ([]Sample, error) {
	var answer struct {
		Data struct {
			Result []Sample `json:"result"`
		} `json:"data"`
	}
	err := d.Ask(ctx, http.MethodGet, d.Board+"/api/v1/query?"+url.Values{"query": {expr}}.Encode(), nil, &answer)
	return answer.Data.Result, err
}

// Alert is an alert that fires.
type Alert struct {
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	State       string            `json:"state"`
}

// Alerts returns the alerts that fire, with their labels and annotations.
func (d *Deployment) Alerts(ctx context.Context) ([]Alert, error) {
	var answer struct {
		Data struct {
			Alerts []Alert `json:"alerts"`
		} `json:"data"`
	}
	err := d.Ask(ctx, http.MethodGet, d.Board+"/api/v1/alerts", nil, &answer)
	return slices.DeleteFunc(answer.Data.Alerts, func(a Alert) bool { return a.State != "firing" }), err
}

// Board is the part of a Grafana board that can be shown without Grafana.
type Board struct {
	UID         string
	Title       string
	Description string
	Panels      []Panel
}

// Panel is one of a board's.
type Panel struct {
	Title       string
	Description string
	Type        string
	Targets     []struct {
		Expr         string
		LegendFormat string
	}
	FieldConfig struct {
		Defaults struct{ Unit string }
	}
}

// ReadBoard reads a board of the repository at root.
func ReadBoard(root, name string) (Board, error) {
	var b Board
	text, err := os.ReadFile(filepath.Join(root, "configs", "grafana", "dashboards", name+".json"))
	if err != nil {
		return b, err
	}
	if err := json.Unmarshal(text, &b); err != nil {
		return b, fmt.Errorf("read the board %s: %w", name, err)
	}
	return b, nil
}

// panels are the first queries of a board's panels by their titles.
func (d *Deployment) panels(board string) (map[string]string, error) {
	b, err := ReadBoard(d.Root, board)
	exprs := map[string]string{}
	for _, p := range b.Panels {
		if len(p.Targets) > 0 {
			exprs[p.Title] = p.Targets[0].Expr
		}
	}
	return exprs, err
}

var variable = regexp.MustCompile(`\$\{?(\w+)\}?`)

// Fill replaces a board's variables by values, as Grafana does; a variable without a value is "All".
func Fill(expr string, values map[string]string) string {
	return variable.ReplaceAllStringFunc(expr, func(name string) string {
		if value, ok := values[strings.Trim(name, "${}")]; ok {
			return value
		}
		return ".*"
	})
}
