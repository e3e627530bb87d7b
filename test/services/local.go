package main

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

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

// startLocal starts the servers as processes of this machine. The returned function stops what was started, also after an
// error.
func startLocal(ctx context.Context, names []string, dir string, ports *local.Ports, stderr io.Writer) (
	env []string, stopAll func(), err error,
) {
	var started []*local.Server
	stopAll = func() {
		var wg sync.WaitGroup
		for _, s := range started {
			wg.Go(func() {
				if err := s.Stop(); err != nil {
					fmt.Fprintln(stderr, "services:", err)
				}
			})
		}
		wg.Wait()
	}
	kinds := make([]local.Kind, len(names))
	for i, name := range names {
		kinds[i] = newServer(name)
		if err := kinds[i].Install(ctx, stderr); err != nil {
			return nil, stopAll, fmt.Errorf("install %s: %w", name, err)
		}
	}
	begin := time.Now()
	for _, kind := range kinds {
		s, err := local.Launch(ctx, kind, dir, ports)
		if err != nil {
			return nil, stopAll, err
		}
		started = append(started, s)
	}
	for _, s := range started {
		if err := s.Await(ctx); err != nil {
			return nil, stopAll, err
		}
		fmt.Fprintf(stderr, "services: %s (pid %d) is ready after %.1f s\n", s.Name(), s.PID(), time.Since(begin).Seconds())
		env = append(env, s.Setting())
	}
	return env, stopAll, nil
}
