package main

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"adsync/test/compose"
)

//go:embed boards.html
var boardsTemplate string

// boards serves the Grafana boards as tables of the present values, for users without Grafana.
type boards struct {
	deployment *compose.Deployment
	page       *template.Template
	server     *http.Server
}

// serveBoards serves the boards in the background and returns their address.
func serveBoards(d *compose.Deployment) (*boards, string, error) {
	page, err := template.New("boards").Parse(boardsTemplate)
	if err != nil {
		return nil, "", err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // It is closed with the server.
	if err != nil {
		return nil, "", err
	}
	b := &boards{deployment: d, page: page}
	b.server = &http.Server{Handler: b, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = b.server.Serve(listener) }()
	return b, "http://" + listener.Addr().String() + "/", nil
}

func (b *boards) close() { _ = b.server.Close() }

// boardPage is the content of the page.
type boardPage struct {
	compose.Board

	At         time.Time
	Currency   string
	Currencies []string
	Boards     []string
	Shown      []boardPanel
}

type boardPanel struct {
	compose.Panel

	Rows []boardRow
	Err  error
}

type boardRow struct{ Label, Value string }

// ServeHTTP implements http.Handler: /overview shows the board overview, ?currency=USD its money in USD.
func (b *boards) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	files, _ := filepath.Glob(filepath.Join(b.deployment.Root, "configs", "grafana", "dashboards", "*.json"))
	shown := boardPage{At: time.Now(), Currency: cmp.Or(r.URL.Query().Get("currency"), "CNY"),
		Currencies: []string{"CNY", "USD"}}
	for _, file := range files {
		shown.Boards = append(shown.Boards, strings.TrimSuffix(filepath.Base(file), ".json"))
	}
	name := cmp.Or(strings.Trim(r.URL.Path, "/"), "overview")
	if !slices.Contains(shown.Boards, name) || !slices.Contains(shown.Currencies, shown.Currency) {
		http.NotFound(w, r)
		return
	}
	var err error
	if shown.Board, err = compose.ReadBoard(b.deployment.Root, name); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	for _, p := range shown.Panels {
		shown.Shown = append(shown.Shown, b.read(r.Context(), p, shown.Currency))
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if err := b.page.Execute(w, shown); err != nil {
		return // The browser has closed the connection.
	}
}

// read runs the queries of a panel.
func (b *boards) read(ctx context.Context, p compose.Panel, currency string) boardPanel {
	shown := boardPanel{Panel: p}
	shown.Title = compose.Fill(p.Title, map[string]string{"currency": currency})
	for _, target := range p.Targets {
		samples, err := b.deployment.Query(ctx, compose.Fill(target.Expr,
			map[string]string{"currency": currency, "__rate_interval": "1m", "__interval": "1m", "__range": "1h"}))
		if err != nil {
			shown.Err = err
			return shown
		}
		for _, s := range samples {
			shown.Rows = append(shown.Rows, boardRow{label(target.LegendFormat, s.Metric), fmt.Sprintf("%.6g", s.Number())})
			if p.FieldConfig.Defaults.Unit == "none" || strings.Contains(shown.Title, currency) {
				shown.Rows[len(shown.Rows)-1].Value = strings.TrimSuffix(fmt.Sprintf("%.2f", s.Number()), ".00")
			}
		}
	}
	return shown
}

// label returns the label that Grafana would show for a value.
func label(format string, metric map[string]string) string {
	if format == "" {
		var all []string
		for name, value := range metric {
			if name != "__name__" && name != "instance" && name != "job" {
				all = append(all, value)
			}
		}
		slices.Sort(all)
		return strings.Join(all, " ")
	}
	for name, value := range metric {
		format = strings.ReplaceAll(format, "{{"+name+"}}", value)
	}
	return format
}
