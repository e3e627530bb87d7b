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
	case "redis":
		return &local.Redis{}
	case "s3":
		return &local.S3{}
	case "sftp":
		return &local.SFTP{}
	default:
		return &local.FTPS{}
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

// startFiles starts those servers of files that can be installed, and names the others. The returned function stops
// what was started, also after an error.
func startFiles(ctx context.Context, names []string, dir string, ports *local.Ports, stderr io.Writer) (
	env []string, stopAll func(), err error,
) {
	var installed []string
	for _, name := range names {
		if err := newServer(name).Install(ctx, stderr); err != nil {
			fmt.Fprintf(stderr, "services: NOT STARTED: %s: %v\n", name, err)
			continue
		}
		installed = append(installed, name)
	}
	return startLocal(ctx, installed, dir, ports, stderr)
}
