package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof" // It also registers itself on the default mux, which nothing here serves.
	"strconv"
	"strings"
	"time"

	"adsync/base/config"
	"adsync/base/localhost"
)

// DebugConfig has settings for the inspection of a process.
type DebugConfig struct {
	Pprof string `koanf:"pprof" doc:"Loopback address, such as 127.0.0.1:6060, at which Go profiles of the process are served under /debug/pprof/. Empty means none."`
}

// Validate refuses an address that other machines reach: a profile contains whatever is in memory.
func (c DebugConfig) Validate() error {
	if c.Pprof == "" {
		return nil
	}
	host, port, err := net.SplitHostPort(c.Pprof)
	n, portErr := strconv.Atoi(port)
	if ip := net.ParseIP(host); err != nil || portErr != nil || n < 0 || n > 65535 || ip == nil || !ip.IsLoopback() {
		return &config.FieldError{Key: "pprof", Value: c.Pprof,
			Want: "a loopback address with a port, such as 127.0.0.1:6060"}
	}
	return nil
}

// Profiles serves a process's profiles to this machine. It is a separate server: profiles are needed when the API
// hangs, take longer than the API's requests may, and go tool pprof has no tokens.
type Profiles struct {
	cfg    DebugConfig
	logger *slog.Logger
	server *http.Server
	served chan struct{}
	addr   string
}

// NewProfiles returns a server of profiles, which serves nothing without an address.
func NewProfiles(cfg DebugConfig, logger *slog.Logger) *Profiles {
	return &Profiles{cfg: cfg, logger: logger}
}

// Start listens.
func (p *Profiles) Start(ctx context.Context) error {
	if p.cfg.Pprof == "" {
		return nil
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", p.cfg.Pprof)
	if err != nil {
		return fmt.Errorf("listen for profiles: %w", err)
	}
	p.addr = listener.Addr().String()
	p.server = &http.Server{Handler: localOnly(ProfilesHandler()), ReadHeaderTimeout: 5 * time.Second}
	p.served = make(chan struct{})
	go func() {
		defer close(p.served)
		if err := p.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			p.logger.Error("profiles are no longer served", "err", err)
		}
	}()
	p.logger.Info("serving profiles", "addr", p.addr)
	return nil
}

// ProfilesHandler serves the process's profiles under /debug/pprof/, to whom its caller lets pass: a profile contains
// whatever is in memory.
func ProfilesHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	return mux
}

// Stop ends it at once, even during a profile.
func (p *Profiles) Stop() {
	if p.server != nil {
		_ = p.server.Close()
		<-p.served
	}
}

// Addr returns where profiles are served; empty before Start, and without an address.
func (p *Profiles) Addr() string { return p.addr }

// localOnly refuses requests that a web page made a browser on this machine send by resolving its own name to this
// address. The command line is left out, because it may contain a password.
func localOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, named := localhost.Named(r); !named || strings.HasSuffix(r.URL.Path, "/cmdline") {
			http.Error(w, "only requests to localhost are answered", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}
