package stage

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"adsync/base/secret"
	"adsync/base/sqldb"
	"adsync/test/rig"
	"adsync/test/services/local"
)

// Settings returns the settings of a deployment with short timeouts. name begins the names of its topics and keys.
func Settings(name string) map[string]any {
	key := make([]byte, 32)
	_, _ = rand.Read(key)
	return map[string]any{
		"secret": map[string]any{"keys": []any{map[string]any{"id": "k1", "key": base64.StdEncoding.EncodeToString(key)}}},
		"broker": map[string]any{
			"prefix": name, "partitions": 6, "replication": 1, "min_insync": 1,
			// The shortest that Kafka allows: after it, the partitions of a killed consumer move.
			"session_timeout": "6s", "drain_timeout": "2500ms", "commit_interval": "200ms", "write_timeout": "10s",
		},
		// A machine that runs all of this at the same time as other work is slower than a real one: a call is sent later,
		// and a Redis that takes a second to answer is not down.
		"redis":     map[string]any{"key_prefix": name, "read_timeout": "3s", "write_timeout": "3s"},
		"ratelimit": map[string]any{"members": 3, "arrival_spread": "300ms", "redis_timeout": "2s"},
		// A batch is smaller than a platform's number of accounts, so that a fan-out takes several steps.
		"producer": map[string]any{"lease_ttl": "6s", "batch_size": 5},
		"consumer": map[string]any{"drain_timeout": "2s", "backoff_cap": "3s"},
	}
}

// Databases returns the settings by which an account reaches a deployment's databases at an address.
func Databases(name, account, address string) sqldb.Config {
	at := func(of string) sqldb.Database {
		return sqldb.Database{Driver: sqldb.MySQL, Writer: secret.NewText(fmt.Sprintf("%s@tcp(%s)/%s", account, address,
			Database(name, of))), MaxOpenConns: 16}
	}
	return sqldb.Config{Config: at("config"), Data: at("data")}
}

// Database returns the name of one of a deployment's databases, config or data.
func Database(name, of string) string { return name + "_" + of }

// CreateDatabases creates the databases of a deployment.
func (s *Stack) CreateDatabases(ctx context.Context, name string) error {
	for _, of := range []string{"config", "data"} {
		_, err := s.DB.ExecContext(ctx, "CREATE DATABASE "+Database(name, of)+" CHARACTER SET utf8mb4")
		if err != nil {
			return err
		}
	}
	return nil
}

// Forget removes what a deployment has created on the servers.
func (s *Stack) Forget(ctx context.Context, name string) error {
	var errs []error
	for _, of := range []string{"config", "data"} {
		_, err := s.DB.ExecContext(ctx, "DROP DATABASE IF EXISTS "+Database(name, of))
		errs = append(errs, err)
	}
	return errors.Join(append(errs, s.Kafka.DeleteTopics(ctx, name))...)
}

// Install creates the tables and topics of a deployment and the accounts of its world, and writes the settings of each
// seat into dir. It returns the processes, which do not run. own returns what only the settings of one seat have; it
// may be nil.
func (s *Stack) Install(ctx context.Context, program, dir, name, simulator string, settings map[string]any,
	own func(*Seat) map[string]any,
) (instances []*Instance, err error) {
	platforms, err := rig.Install(ctx, program, filepath.Join(dir, "admin.yaml"), simulator, settings,
		s.addresses(name, s.Tables.Addr(), s.Kafka.Addr(), s.Redis.Addr()))
	if err != nil {
		return nil, err
	}
	for _, seat := range s.Seats {
		port, err := s.Ports.Take()
		if err != nil {
			return instances, err
		}
		i := &Instance{
			Seat: seat, Program: program, Config: filepath.Join(dir, seat.Name+".yaml"),
			Api: "http://" + local.Loopback(port), Points: filepath.Join(dir, "points", seat.Name), Logs: dir,
		}
		if err := os.MkdirAll(i.Points, 0o755); err != nil {
			return instances, err
		}
		with := s.addresses(name, seat.MariaDB.Addr(), seat.Kafka.Addr(), seat.Redis.Addr())
		with["api"] = map[string]any{"listen": local.Loopback(port)}
		all := []map[string]any{settings, platforms, with}
		if own != nil {
			all = append(all, own(seat))
		}
		if err := rig.WriteSettings(i.Config, all...); err != nil {
			return instances, err
		}
		instances = append(instances, i)
	}
	return instances, nil
}

// addresses returns the settings with the services' addresses.
func (s *Stack) addresses(name, mariadb, kafka, cache string) map[string]any {
	databases := Databases(name, s.Account, mariadb)
	at := func(database sqldb.Database) map[string]any {
		return map[string]any{"driver": database.Driver, "writer": database.Writer.Reveal(),
			"max_open_conns": database.MaxOpenConns}
	}
	redisAt, brokerAt := s.RedisAt, s.BrokerAt
	if redisAt == nil {
		redisAt = map[string]any{"addrs": []string{cache}}
	}
	if brokerAt == nil {
		brokerAt = map[string]any{"brokers": []string{kafka}}
	}
	return map[string]any{
		"store":  map[string]any{"config": at(databases.Config), "data": at(databases.Data)},
		"broker": brokerAt,
		"redis":  redisAt,
	}
}
