package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
)

// listener is an address on which the server answers.
type listener struct {
	net.Listener

	name   string
	http   *http.Server
	served chan struct{} // closed when it no longer accepts
}

// listen opens an address. Requests are not answered before serve.
func (s *Server) listen(ctx context.Context, name, address string, handler http.Handler) (*listener, error) {
	opened, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for %s: %w", name, err)
	}
	return &listener{Listener: opened, name: name, served: make(chan struct{}), http: &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       s.cfg.RequestTimeout,
		WriteTimeout:      s.cfg.RequestTimeout + writeGrace,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    headerBytesMax,
		TLSConfig:         s.tls,
		ErrorLog:          slog.NewLogLogger(s.logger.Handler(), slog.LevelDebug),
	}}, nil
}

// serve starts to answer, until the listener's server is shut down. Requests end with the context.
func (s *Server) serve(ctx context.Context, l *listener) {
	l.http.BaseContext = func(net.Listener) context.Context { return ctx }
	go func() {
		defer close(l.served)
		serve := l.http.Serve
		if s.tls != nil {
			serve = func(opened net.Listener) error { return l.http.ServeTLS(opened, "", "") }
		}
		if err := serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.failed <- fmt.Errorf("serve %s: %w", l.name, err)
		}
	}()
	s.logger.Info("listening", "for", l.name, "addr", l.Addr().String(), "tls", s.tls != nil, "tokens", len(s.cfg.Tokens))
}
