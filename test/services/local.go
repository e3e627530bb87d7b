package main

import (
	"context"
	"fmt"
	"io"

	"adsync/test/services/local"
)

func newServer(name string) local.Kind {
	switch name {
	case "kafka":
		return &local.Kafka{}
	case "mariadb":
		return &local.MariaDB{}
	default:
		return &local.Redis{}
	}
}

// startLocal starts the servers as processes of this machine. The returned function stops what was started, also
// after an error.
func startLocal(ctx context.Context, names []string, dir string, ports *local.Ports, stderr io.Writer) (
	env []string, stopAll func(), err error,
) {
	var servers []*local.Server
	stopAll = func() {
		if err := local.StopAll(servers); err != nil {
			fmt.Fprintln(stderr, "services:", err)
		}
	}
	kinds := make([]local.Kind, len(names))
	for i, name := range names {
		kinds[i] = newServer(name)
	}
	if servers, err = local.LaunchAll(ctx, dir, ports, stderr, kinds...); err != nil {
		return nil, stopAll, err
	}
	for _, s := range servers {
		env = append(env, s.Setting())
	}
	return env, stopAll, nil
}
