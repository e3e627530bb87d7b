package api

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"adsync/base/config"
	"adsync/client"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/usage"
)

// Producer calls the API of a producer. Its errors name the remedy for the caller of a command.
type Producer struct{ *client.Client }

// Call is Call of the client.
func (p Producer) Call(ctx context.Context, method, path string, query url.Values, body any) ([]byte, error) {
	answer, err := p.Client.Call(ctx, method, path, query, body)
	return answer, WithRemedy(err)
}

// Pages is Pages of the client.
func (p Producer) Pages(ctx context.Context, path string, query url.Values, rows string, limit int) ([]byte, error) {
	answer, err := p.Client.Pages(ctx, path, query, rows, limit)
	return answer, WithRemedy(err)
}

// WithRemedy adds the remedy to an error of the client. An error about the request's values becomes a usage.Error.
func WithRemedy(err error) error {
	_, isAway := errors.AsType[*client.AwayError](err)
	problem, isProblem := errors.AsType[*client.Problem](err)
	switch {
	case isAway && !isProblem:
		return fmt.Errorf("%w (is it running, and is --server right?)", err)
	case isAway || !isProblem:
		return err
	case problem.Status == http.StatusUnauthorized || problem.Status == http.StatusForbidden:
		return fmt.Errorf("%w (set %s to a token of the role that this needs)", err, settings.TokenVariable)
	case problem.Status == http.StatusUnprocessableEntity:
		return usage.Errorf("%s", problem.Error())
	}
	return err
}

// Reach returns the producer that the flag, the environment or the configuration names, in this order. The token
// comes only from the environment: everyone on the machine can read a command line.
func Reach(a *settings.Source, cmd *cobra.Command, server string) (Producer, error) {
	from := "--server"
	if server == "" && cmd.Flags().Changed("server") {
		return Producer{}, usage.Errorf("--server is empty: want a value, or leave it out")
	}
	if server == "" {
		server, from = settings.Variable(a.Environ, settings.ServerVariable), settings.ServerVariable
	}
	if server == "" {
		cfg, _, err := a.Load(cmd, "dead")
		if err != nil {
			return Producer{}, err
		}
		scheme := "http://"
		if cfg.API.TLS.CertFile != "" {
			scheme = "https://" // The certificate must be valid for the host of api.listen. Otherwise --server is needed.
		}
		server, from = scheme+reachable(cfg.API.Listen), "api.listen"
	}
	u, err := url.Parse(server)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || strings.Trim(u.Path, "/") != "" ||
		u.User != nil {
		return Producer{}, usage.Errorf("%s is %q: want the address of a producer, as http://host:port", from,
			config.Redacted(server))
	}
	return Producer{client.New(u.Scheme+"://"+u.Host, settings.Variable(a.Environ, settings.TokenVariable))}, nil
}

// reachable returns the address to call for an address to listen on.
func reachable(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return listen
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}
