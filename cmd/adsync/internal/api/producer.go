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

// Producer calls the API of a producer. Its errors also say what the caller of a command can do.
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

// WithRemedy adds to an error of the client what can be done about it. An error about the request's values is the caller's.
func WithRemedy(err error) error {
	_, isAway := errors.AsType[*client.AwayError](err)
	problem, isProblem := errors.AsType[*client.Problem](err)
	switch {
	case isAway && !isProblem:
		return fmt.Errorf("%w (is it running, and is --server right?)", err)
	case isAway || !isProblem:
		return err
	case problem.Status == http.StatusUnauthorized || problem.Status == http.StatusForbidden:
		return fmt.Errorf("%w\nSet %s to a token of the role that this needs.", err, settings.TokenVariable) //nolint:revive,staticcheck // It is a sentence.
	case problem.Status == http.StatusUnprocessableEntity:
		return usage.Errorf("%s", problem.Error())
	}
	return err
}

// Reach returns the producer of the flag, the environment or the configuration, in this order. A token is
// taken from the environment alone: a command line can be read by everyone on the machine.
func Reach(a *settings.Source, cmd *cobra.Command, server string) (Producer, error) {
	from := "--server"
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
			scheme = "https://" // Its certificate must be of the host of api.listen, or --server names another.
		}
		server, from = scheme+reachable(cfg.API.Listen), "api.listen"
	}
	u, err := url.Parse(server)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || strings.Trim(u.Path, "/") != "" || u.User != nil {
		return Producer{}, usage.Errorf("%s is %q: want the address of a producer, as http://host:port", from, config.Redacted(server))
	}
	return Producer{client.New(u.Scheme+"://"+u.Host, settings.Variable(a.Environ, settings.TokenVariable))}, nil
}

// reachable is an address to listen on as one to call.
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
